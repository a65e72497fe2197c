//! The integration tests: the real command on a real store in a temporary folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_docs)]

mod architecture;
mod brake;
mod brief;
mod capture;
mod cases;
mod columns;
mod connect;
mod consolidate;
#[path = "../crash/mod.rs"]
mod crash;
mod crowd;
mod damage;
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
mod generated;
mod hooks;
mod live;
mod mcp;
mod model;
mod model_storm;
mod observe;
mod odd_settings;
mod redaction;
mod report_page;
mod retrieval;
mod review_screen;
mod route;
mod security;
mod support;
mod support_tests;
mod tick;
