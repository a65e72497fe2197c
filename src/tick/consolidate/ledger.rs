//! The account of model requests, kept in the store.
//!
//! A dry run works on a copy of the store, but what it asks costs quota all the same: its rows are
//! written to the user's own store, and to the copy under the same ids, so that the plan names them.

use super::super::{Context, Mode};
use crate::error::Result;
use crate::model::{CloseCall, KeptAnswer, Ledger, OpenCall};
use crate::store::{self, ClosedCall, NewCall, Store};
use lifecycle_phases::consolidate::reply::without_reasoning;
use rusqlite::Transaction;
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

impl StoreLedger<'_, '_> {
    /// Writes to the account, and to the copy that a dry run works on.
    fn write(&mut self, work: impl Fn(&Transaction<'_>) -> Result<()>) -> Result<()> {
        if self.ctx.mode == Mode::DryRun {
            self.ctx.store.write(&work)?;
        }
        self.ctx.account(true)?.map_or(Ok(()), |account| account.write(work))
    }

    fn read<T: Default>(&mut self, work: impl FnOnce(&Store) -> Result<T>) -> Result<T> {
        self.ctx.account(false)?.map_or_else(|| Ok(T::default()), |account| work(account))
    }
}

impl Ledger for StoreLedger<'_, '_> {
    fn open(&mut self, call: &OpenCall) -> Result<Option<i64>> {
        // What a person asks by hand is no part of any tick.
        let tick = if call.purpose.is_by_hand() { None } else { Some(self.ctx.tick_id()?) };
        let now = self.ctx.now();
        let is_dry = self.ctx.mode == Mode::DryRun;
        let Some(account) = self.ctx.account(true)? else { return Ok(None) };
        let row = row_of(call, tick.filter(|_| !is_dry));
        let id = account.write(|tx| {
            if call.cluster.as_deref().map_or(Ok(false), |key| is_leased(tx, key, now))? {
                return Ok(None);
            }
            store::open_call(tx, None, &row).map(Some)
        })?;
        if let (true, Some(id)) = (is_dry, id) {
            let row = row_of(call, tick);
            self.ctx.store.write(|tx| store::open_call(tx, Some(id), &row))?;
        }
        Ok(id)
    }

    fn close(&mut self, id: i64, call: &CloseCall) -> Result<()> {
        let settings = &self.ctx.settings.consolidate;
        let most = if settings.keep_replies { settings.reply_bytes } else { 0 };
        let usage = &call.usage;
        let reply = kept_part(&call.reply);
        let kept = bounded(&reply, most);
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
            reply: kept,
            whole: kept.len() == reply.len() && !kept.is_empty(),
        };
        self.write(|tx| store::close_call(tx, id, &row))
    }

    fn sent_since(&mut self, provider: &str, since: i64) -> Result<(u32, Option<i64>)> {
        self.read(|account| store::sent_since(account.reader(), provider, since))
    }

    fn pause(&mut self, provider: &str) -> Result<Option<(i64, String)>> {
        self.read(|account| store::pause(account.reader(), provider))
    }

    fn set_pause(&mut self, provider: &str, until: i64, reason: &str) -> Result<()> {
        self.write(|tx| store::set_pause(tx, provider, until, reason))
    }

    fn answered(&mut self, digest: &str) -> Result<Option<KeptAnswer>> {
        let found = self.read(|account| store::unused_answer(account.reader(), digest))?;
        let kept =
            found.map(|row| KeptAnswer { call: row.id, reply: row.reply, wall_ms: row.total_ms });
        if let (Some(kept), Mode::DryRun) = (&kept, self.ctx.mode) {
            self.copy_row(kept.call)?;
        }
        Ok(kept)
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

impl StoreLedger<'_, '_> {
    /// What a dry run finds to be answered may have been asked after its copy was made.
    fn copy_row(&mut self, id: i64) -> Result<()> {
        let known: bool = self.ctx.store.reader().query_row(
            "SELECT EXISTS (SELECT 1 FROM call WHERE id = ?1)",
            [id],
            |row| row.get(0),
        )?;
        if known {
            return Ok(());
        }
        self.ctx.store.write(|tx| {
            store::open_call(tx, Some(id), &NewCall { purpose: "merge", ..NewCall::default() })?;
            store::close_call(tx, id, &ClosedCall { outcome: "answered", ..ClosedCall::default() })
        })
    }
}

fn row_of(call: &OpenCall, tick: Option<i64>) -> NewCall<'_> {
    NewCall {
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
        digest: &call.digest,
    }
}

/// Whether another live process has a request for this cluster open.
fn is_leased(tx: &Transaction<'_>, cluster: &str, now: i64) -> Result<bool> {
    let own = std::process::id();
    Ok(store::open_calls(tx)?.iter().any(|row| {
        row.cluster.as_deref() == Some(cluster)
            && row.pid != own
            && now - row.opened < LEASE
            && is_alive(row.pid)
    }))
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
