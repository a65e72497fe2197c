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
    /// When it is given up.
    pub(super) limit: Duration,
}

pub(super) fn send(
    http: &Http,
    provider: &Provider,
    request: &Request,
) -> (std::result::Result<HttpReply, Failure>, Duration) {
    let started = Instant::now();
    let reply = http.send(provider, &request.address, request.body.clone(), request.limit);
    (reply, started.elapsed())
}

pub(super) fn wire_of<'a>(ask: &'a Ask, known: &Known, context: u64, max_tokens: u32) -> Wire<'a> {
    Wire {
        rules: &ask.rules,
        data: &ask.data,
        schema: ask.schema.as_ref().filter(|_| known.schema),
        strict_schema: ask.strict_schema.as_ref().or(ask.schema.as_ref()),
        max_tokens,
        context,
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

/// Names a question to a provider: everything that shapes the answer, and nothing that the server
/// has to be asked for. Two questions with the same digest would be sent as the same bytes.
pub(super) fn digest(ask: &Ask, provider: &Provider) -> String {
    let schema = ask.schema.as_ref().filter(|_| provider.schema).map(ToString::to_string);
    let parts = [
        provider.kind.as_str().to_string(),
        provider.url.clone(),
        provider.model.clone(),
        format!("{:?} {:?}", provider.thinking, provider.rules_in),
        format!("{} {} {:?}", provider.temperature, provider.seed, ask.max_tokens),
        ask.rules.clone(),
        ask.data.clone(),
        schema.unwrap_or_default(),
    ];
    lifecycle_phases::entry::hex(parts.join("\0").as_bytes(), 32)
}
