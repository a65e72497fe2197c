//! The integration tests: the real command on a real store in a temporary folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_docs)]

mod add_url;
mod architecture;
mod bad_input;
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
mod damage_found;
mod docs;
mod doctor;
mod doors;
mod embed;
mod embed_change;
mod embed_pull;
mod embed_serve;
mod embed_server;
mod everyday;
mod examples;
mod exchange;
mod fuzzing;
mod generated;
mod hooks;
mod identity;
mod index_files;
mod injection;
mod live;
mod mcp;
mod model;
mod model_account;
mod model_context;
mod model_kept;
mod model_status;
mod model_storm;
mod observe;
mod observe_live;
mod odd_settings;
mod read_only;
mod redaction;
mod redo;
mod regular_files;
mod report_page;
mod requirements;
mod rerank;
mod retrieval;
mod review_screen;
mod route;
mod route_danger;
mod route_property;
mod route_scope;
mod route_two_way;
mod security;
mod supply;
mod support;
mod support_tests;
mod tick;
mod undo_dry;
