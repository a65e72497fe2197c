//! `lifecycle` keeps the memory of AI coding assistants worth reading.
//!
//! Arrows: `cli → tick → {store, capture, embed, index, model, targets}`, `tick → phases`,
//! `phases → nothing`. Adapters never import each other.

pub mod brief;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod config;
pub mod documents;
pub mod durable;
pub mod embed;
pub mod error;
pub mod exchange;
pub mod fault;
pub mod index;
pub mod install;
pub mod log;
pub mod mcp;
pub mod model;
pub mod paths;
pub mod progress;
pub mod quiet;
pub mod redact;
pub mod regular;
pub mod report;
pub mod review;
pub mod schedule;
pub mod search;
pub mod store;
pub mod targets;
pub mod tick;

pub use error::{Error, ExitCode, Result};
