//! The integration tests: the real command on a real store in a temporary folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_docs)]

mod architecture;
mod bad_input;
mod capture;
mod cases;
mod connect;
mod consolidate;
mod docs;
mod doctor;
mod embed;
mod embed_change;
mod embed_pull;
mod embed_serve;
mod embed_server;
mod everyday;
mod examples;
mod exchange;
mod live;
mod mcp;
mod model;
mod model_account;
mod model_context;
mod model_kept;
mod model_status;
mod model_storm;
mod redaction;
mod report_page;
mod requirements;
mod retrieval;
mod route;
mod support;
mod support_tests;
mod tick;
