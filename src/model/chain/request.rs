//! One request of a chain: how it is put together, sent and judged.

use super::Ask;
use super::known::Known;
use crate::model::failure::Failure;
use crate::model::http::Http;
use crate::model::ledger::CallOutcome;
use crate::model::provider::Provider;
use crate::model::server::{Count, Server};
use crate::model::wire::{self, HttpReply, Wire};
use std::time::{Duration, Instant};

/// A request with its row.
pub(super) struct Request {
    pub(super) id: i64,
    pub(super) address: String,
    pub(super) body: Vec<u8>,
    pub(super) count: Count,
    pub(super) data: String,
    pub(super) server: Server,
}

pub(super) fn send(
    http: &Http,
    provider: &Provider,
    request: &Request,
) -> (std::result::Result<HttpReply, Failure>, Duration) {
    let started = Instant::now();
    let reply = http.send(provider, &request.address, request.body.clone());
    (reply, started.elapsed())
}

pub(super) fn wire_of<'a>(
    ask: &'a Ask,
    known: &Known,
    server: &Server,
    max_tokens: u32,
) -> Wire<'a> {
    Wire {
        rules: &ask.rules,
        data: &ask.data,
        schema: ask.schema.as_ref().filter(|_| known.schema),
        strict_schema: ask.strict_schema.as_ref().or(ask.schema.as_ref()),
        max_tokens,
        context: server.context,
        thinking: known.thinking,
    }
}

pub(super) fn outcome_of(result: &std::result::Result<wire::Parsed, Failure>) -> CallOutcome {
    match result {
        Ok(_) => CallOutcome::Answered,
        Err(Failure::TimedOut(_)) => CallOutcome::TimedOut,
        Err(Failure::Broken(_)) => CallOutcome::Unknown,
        Err(_) => CallOutcome::Refused,
    }
}
