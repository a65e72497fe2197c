//! The account of model requests, kept in the store.

use super::super::Context;
use crate::error::Result;
use crate::model::{CloseCall, Ledger, OpenCall, Purpose};
use crate::store::{self, ClosedCall, NewCall};
use lifecycle_phases::consolidate::reply::without_reasoning;
use serde_json::Value;

/// Age from which an open row no longer keeps others away (milliseconds).
const LEASE: i64 = 3_600_000;

/// Fields in which servers hand out reasoning beside the answer.
const REASONING: &[&str] = &["thinking", "reasoning", "reasoning_content", "reasoning_details"];

/// The ledger of a run.
pub struct StoreLedger<'c, 'a> {
    /// The run.
    pub ctx: &'c mut Context<'a>,
}

impl Ledger for StoreLedger<'_, '_> {
    fn open(&mut self, call: &OpenCall) -> Result<i64> {
        // The doctor's own call is no part of any tick.
        let tick = if call.purpose == Purpose::Canary { None } else { Some(self.ctx.tick_id()?) };
        let row = NewCall {
            tick,
            purpose: call.purpose.as_str(),
            cluster: call.cluster.as_deref(),
            attempt: call.attempt,
            provider: &call.provider,
            host: &call.host,
            model: &call.model,
            prompt_version: &call.prompt_version,
            schema_mode: call.schema_mode,
            thinking_mode: &call.thinking_mode,
            temperature: call.temperature,
            opened: call.opened,
            bytes_sent: call.bytes_sent,
            counted_tokens: call.counted_tokens,
        };
        self.ctx.store.write(|tx| store::open_call(tx, &row))
    }

    fn close(&mut self, id: i64, call: &CloseCall) -> Result<()> {
        let settings = &self.ctx.settings.consolidate;
        let kept = if settings.keep_replies { settings.reply_bytes } else { 0 };
        let usage = &call.usage;
        let reply = kept_part(&call.reply);
        let row = ClosedCall {
            closed: call.closed,
            outcome: call.outcome.as_str(),
            reason: &call.reason,
            http_status: call.http_status,
            response_model: call.response_model.as_deref(),
            tokens: [
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.completion_tokens,
                usage.reasoning_tokens,
            ],
            millis: [
                usage.total_ms,
                usage.load_ms,
                usage.prompt_ms,
                usage.generation_ms,
                usage.queue_ms,
            ],
            reply: bounded(&reply, kept),
        };
        self.ctx.store.write(|tx| store::close_call(tx, id, &row))
    }

    fn sent_since(&mut self, provider: &str, since: i64) -> Result<(u32, Option<i64>)> {
        store::sent_since(self.ctx.store.reader(), provider, since)
    }

    fn pause(&mut self, provider: &str) -> Result<Option<(i64, String)>> {
        store::pause(self.ctx.store.reader(), provider)
    }

    fn set_pause(&mut self, provider: &str, until: i64, reason: &str) -> Result<()> {
        self.ctx.store.write(|tx| store::set_pause(tx, provider, until, reason))
    }

    fn is_leased(&mut self, cluster: &str) -> Result<bool> {
        let now = self.ctx.now();
        let own = std::process::id();
        let open = store::open_calls(self.ctx.store.reader())?;
        Ok(open.iter().any(|row| {
            row.cluster.as_deref() == Some(cluster)
                && row.pid != own
                && now - row.opened < LEASE
                && is_alive(row.pid)
        }))
    }
}

/// A reply without its reasoning, which is never stored: neither what stands in tags nor what a
/// server puts into a field of its own.
fn kept_part(body: &str) -> String {
    match serde_json::from_str::<Value>(body) {
        Ok(mut value) => {
            forget_reasoning(&mut value);
            value.to_string()
        }
        Err(_) => without_reasoning(body),
    }
}

fn forget_reasoning(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_reasoning(text),
        Value::Array(items) => items.iter_mut().for_each(forget_reasoning),
        Value::Object(fields) => {
            fields.retain(|name, _| !REASONING.contains(&name.as_str()));
            fields.values_mut().for_each(forget_reasoning);
        }
        _ => {}
    }
}

/// The first `bytes` of a text, cut at a character.
fn bounded(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a process runs. Where that cannot be told it counts as running, and its lease expires.
pub fn is_alive(pid: u32) -> bool {
    let processes = std::path::Path::new("/proc");
    !processes.join("self").exists() || processes.join(pid.to_string()).exists()
}

/// Closes the rows of processes that died, and says how many there were.
pub fn close_dead(ctx: &mut Context<'_>) -> Result<usize> {
    let own = std::process::id();
    let now = ctx.now();
    let dead: Vec<i64> = store::open_calls(ctx.store.reader())?
        .into_iter()
        .filter(|row| row.pid == own || !is_alive(row.pid) || now - row.opened >= LEASE)
        .map(|row| row.id)
        .collect();
    if !dead.is_empty() {
        let row = ClosedCall {
            closed: now,
            outcome: "aborted",
            reason: "the process died",
            ..ClosedCall::default()
        };
        ctx.store.write(|tx| dead.iter().try_for_each(|id| store::close_call(tx, *id, &row)))?;
    }
    Ok(dead.len())
}
