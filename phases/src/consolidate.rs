//! The consolidate phase.
