//! The buffer phase.
