//! Model servers: what is sent, what is read, what it costs.
//!
//! Three dialects ([`wire`]), one chain of providers in order of preference ([`Chain`]), one door
//! for requests ([`http`]), one account of them ([`ledger`]). A prompt is counted and compared with
//! the server's real context before it is sent, and refused rather than cut ([`server`]); after the
//! reply the server's own count is compared with ours. Nothing here knows the store or the phases'
//! decisions.

mod chain;
pub mod failure;
pub mod http;
pub mod identity;
pub mod ledger;
pub mod overflow;
pub mod pause;
pub mod provider;
pub mod server;
pub mod wire;

pub use chain::{Answer, Ask, Chain, Missed, Outcome, Redact, World};
pub use failure::Failure;
pub use ledger::{CallOutcome, CloseCall, KeptAnswer, Ledger, OpenCall, Purpose};

/// The rules of a merge prompt: the one source for prompts and for `lifecycle model-file`.
pub const MERGE_RULES: &str = include_str!("../../config/prompts/merge.md");

/// The rules of an observer's prompt.
pub const OBSERVE_RULES: &str = include_str!("../../config/prompts/observe.md");
