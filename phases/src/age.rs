//! The age phase.
