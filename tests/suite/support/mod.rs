//! What several areas of the suite use.

#![allow(dead_code, reason = "each area uses its part")]

pub mod standin;
