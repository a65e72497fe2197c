//! The route phase.
