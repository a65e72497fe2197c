//! The integration tests: one module an area.

mod support;
mod support_tests;
