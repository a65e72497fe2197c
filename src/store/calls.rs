//! The ledger of model requests, and what it adds up to.

use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

/// A request about to be sent.
#[derive(Clone, Debug, Default)]
pub struct NewCall<'a> {
    /// The tick it belongs to.
    pub tick: Option<i64>,
    /// `merge`, `substance`, `observe`, `canary`, `replay`.
    pub purpose: &'a str,
    /// Name of the cluster.
    pub cluster: Option<&'a str>,
    /// Number of the attempt.
    pub attempt: u32,
    /// The user's name for the provider.
    pub provider: &'a str,
    /// Host and port.
    pub host: &'a str,
    /// The model as configured.
    pub model: &'a str,
    /// Hash of the rules.
    pub prompt_version: &'a str,
    /// `json_schema` or `none`.
    pub schema_mode: &'a str,
    /// How reasoning was switched.
    pub thinking_mode: &'a str,
    /// Sampling temperature.
    pub temperature: f64,
    /// Milliseconds UTC.
    pub opened: i64,
    /// Bytes of the body.
    pub bytes_sent: u64,
    /// Tokens of the prompt by our own count.
    pub counted_tokens: u64,
    /// Names the question.
    pub digest: &'a str,
}

/// How a request ended; what a server did not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct ClosedCall<'a> {
    /// Milliseconds UTC.
    pub closed: i64,
    /// `answered`, `refused`, `timed_out`, `aborted`, `unknown`.
    pub outcome: &'a str,
    /// Name of the failure.
    pub reason: &'a str,
    /// HTTP status.
    pub http_status: Option<u16>,
    /// The model as the reply names it.
    pub response_model: Option<&'a str>,
    /// Prompt, cached, completion, reasoning tokens.
    pub tokens: [Option<u64>; 4],
    /// Total, load, prompt, generation, queue (milliseconds).
    pub millis: [Option<f64>; 5],
    /// The reply as far as it is kept.
    pub reply: &'a str,
    /// Whether that is all of it.
    pub whole: bool,
}

/// Opens a row and returns its id: `id` where the row is a copy of one in another store, else the
/// next free one.
pub fn open_call(tx: &Transaction<'_>, id: Option<i64>, call: &NewCall<'_>) -> Result<i64> {
    tx.prepare_cached(
        "INSERT INTO call (tick, purpose, cluster, attempt, provider, host, model, prompt_version,
             schema_mode, thinking_mode, temperature, pid, opened, outcome, bytes_sent,
             counted_tokens, digest, id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'open', ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        call.tick,
        call.purpose,
        call.cluster,
        call.attempt,
        call.provider,
        call.host,
        call.model,
        call.prompt_version,
        call.schema_mode,
        call.thinking_mode,
        call.temperature,
        std::process::id(),
        call.opened,
        call.bytes_sent.cast_signed(),
        call.counted_tokens.cast_signed(),
        call.digest,
        id,
    ])?;
    Ok(tx.last_insert_rowid())
}

/// Closes a row.
pub fn close_call(tx: &Transaction<'_>, id: i64, call: &ClosedCall<'_>) -> Result<()> {
    let token = |i: usize| call.tokens[i].map(u64::cast_signed);
    tx.prepare_cached(
        "UPDATE call SET closed = ?2, outcome = ?3, reason = ?4, http_status = ?5,
             response_model = ?6, prompt_tokens = ?7, cached_tokens = ?8, completion_tokens = ?9,
             reasoning_tokens = ?10, total_ms = ?11, load_ms = ?12, prompt_ms = ?13,
             generation_ms = ?14, queue_ms = ?15, reply = ?16, whole = ?17
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        call.closed,
        call.outcome,
        call.reason,
        call.http_status,
        call.response_model,
        token(0),
        token(1),
        token(2),
        token(3),
        call.millis[0],
        call.millis[1],
        call.millis[2],
        call.millis[3],
        call.millis[4],
        call.reply,
        call.whole,
    ])?;
    Ok(())
}

/// Notes that a run made something of these answers, or refused them: they serve no other run.
pub fn use_calls(tx: &Transaction<'_>, ids: &[i64]) -> Result<()> {
    let mut statement = tx.prepare_cached("UPDATE call SET used = 1 WHERE id = ?1")?;
    ids.iter().try_for_each(|id| statement.execute([id]).map(drop))?;
    Ok(())
}

/// An answer that was paid for and not used.
#[derive(Clone, Debug)]
pub struct UnusedAnswer {
    /// The row.
    pub id: i64,
    /// The body of the reply.
    pub reply: String,
    /// How long it took (milliseconds).
    pub total_ms: f64,
}

/// The newest unused answer to the question of this digest, kept in full.
pub fn unused_answer(connection: &Connection, digest: &str) -> Result<Option<UnusedAnswer>> {
    Ok(connection
        .prepare_cached(
            "SELECT id, reply, coalesce(total_ms, 0) FROM call
             WHERE digest = ?1 AND outcome = 'answered' AND whole AND NOT used
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row([digest], |row| {
            Ok(UnusedAnswer { id: row.get(0)?, reply: row.get(1)?, total_ms: row.get(2)? })
        })
        .optional()?)
}

/// Keeps what a request asked about.
pub fn keep_prompt(tx: &Transaction<'_>, call: i64, cluster: &str) -> Result<()> {
    tx.prepare_cached("INSERT OR REPLACE INTO prompt (call, cluster) VALUES (?1, ?2)")?
        .execute(params![call, cluster])?;
    Ok(())
}

/// A kept reply with what was asked, where that was kept too.
#[derive(Clone, Debug)]
pub struct KeptReply {
    /// The row.
    pub call: i64,
    /// The user's name for the provider.
    pub provider: String,
    /// The model as the reply names it.
    pub model: String,
    /// Name of the cluster.
    pub cluster: String,
    /// What reading it came to at the time; empty: it was taken.
    pub reason: String,
    /// The body of the reply.
    pub reply: String,
    /// The cluster as it was asked about: JSON.
    pub asked: Option<String>,
    /// Version of the prompt.
    pub prompt_version: String,
}

/// The replies that were kept in full, oldest first; those about merges only.
pub fn kept_replies(connection: &Connection) -> Result<Vec<KeptReply>> {
    let mut statement = connection.prepare_cached(
        "SELECT call.id, provider, coalesce(response_model, model), coalesce(call.cluster, ''),
             reason, reply, prompt.cluster, prompt_version
         FROM call LEFT JOIN prompt ON prompt.call = call.id
         WHERE outcome = 'answered' AND whole AND purpose IN ('merge', 'replay') ORDER BY call.id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(KeptReply {
            call: row.get(0)?,
            provider: row.get(1)?,
            model: row.get(2)?,
            cluster: row.get(3)?,
            reason: row.get(4)?,
            reply: row.get(5)?,
            asked: row.get(6)?,
            prompt_version: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Notes what reading an answered reply came to (`empty_reply`, `wrong_shape`, a gate's name).
pub fn judge_call(tx: &Transaction<'_>, id: i64, reason: &str) -> Result<()> {
    tx.prepare_cached("UPDATE call SET reason = ?2 WHERE id = ?1")?.execute(params![id, reason])?;
    Ok(())
}

/// A row that is open.
#[derive(Clone, Debug)]
pub struct OpenRow {
    /// The row.
    pub id: i64,
    /// The process that opened it.
    pub pid: u32,
    /// When (milliseconds UTC).
    pub opened: i64,
    /// The cluster.
    pub cluster: Option<String>,
}

/// Every open row.
pub fn open_calls(connection: &Connection) -> Result<Vec<OpenRow>> {
    let mut statement = connection
        .prepare_cached("SELECT id, pid, opened, cluster FROM call WHERE outcome = 'open'")?;
    let rows = statement.query_map([], |row| {
        Ok(OpenRow { id: row.get(0)?, pid: row.get(1)?, opened: row.get(2)?, cluster: row.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Requests to a provider since a time, and when the oldest of them was opened.
pub fn sent_since(
    connection: &Connection,
    provider: &str,
    since: i64,
) -> Result<(u32, Option<i64>)> {
    Ok(connection
        .prepare_cached(
            "SELECT count(*), min(opened) FROM call WHERE provider = ?1 AND opened > ?2",
        )?
        .query_row(params![provider, since], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The pause noted for a provider: until when, and why.
pub fn pause(connection: &Connection, provider: &str) -> Result<Option<(i64, String)>> {
    Ok(connection
        .prepare_cached("SELECT until, reason FROM pause WHERE provider = ?1")?
        .query_row([provider], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Notes a pause.
pub fn set_pause(tx: &Transaction<'_>, provider: &str, until: i64, reason: &str) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO pause (provider, until, reason) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![provider, until, reason])?;
    Ok(())
}

/// The account: sent = answered + refused + timed out + aborted + unknown + open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// Every row.
    pub sent: i64,
    /// A reply with content came back.
    pub answered: i64,
    /// The server said no.
    pub refused: i64,
    /// No answer within the limit.
    pub timed_out: i64,
    /// The process died meanwhile.
    pub aborted: i64,
    /// The connection broke.
    pub unknown: i64,
    /// Under way.
    pub open: i64,
}

impl Balance {
    /// Whether the parts make the whole, and nothing is under way.
    pub fn is_settled(&self) -> bool {
        self.open == 0
            && self.sent
                == self.answered + self.refused + self.timed_out + self.aborted + self.unknown
    }
}

/// The account of all requests, or of those of one tick.
pub fn balance(connection: &Connection, tick: Option<i64>) -> Result<Balance> {
    Ok(connection
        .prepare_cached(
            "SELECT count(*), total(outcome = 'answered'), total(outcome = 'refused'),
                 total(outcome = 'timed_out'), total(outcome = 'aborted'),
                 total(outcome = 'unknown'), total(outcome = 'open')
             FROM call WHERE ?1 IS NULL OR tick = ?1",
        )?
        .query_row([tick], |row| {
            #[allow(clippy::cast_possible_truncation, reason = "counts are whole numbers")]
            let count = |column: usize| row.get::<_, f64>(column).map(|value| value as i64);
            Ok(Balance {
                sent: row.get(0)?,
                answered: count(1)?,
                refused: count(2)?,
                timed_out: count(3)?,
                aborted: count(4)?,
                unknown: count(5)?,
                open: count(6)?,
            })
        })?)
}
