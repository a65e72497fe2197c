//! The connect phase.
