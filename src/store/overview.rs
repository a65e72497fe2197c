//! The figures of `status`: how much of what lies where, and what waits for what.

use super::{TickRecord, count_states, ticks};
use crate::error::Result;
use rusqlite::Connection;
use serde::Serialize;

/// The store at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Entries in each state.
    pub states: Vec<(String, u64)>,
    /// Active entries without a vector or whose links were not looked for yet.
    pub unconnected: u64,
    /// Entries that cannot be embedded: id, attempts, reason.
    pub parked: Vec<Parked>,
    /// Active links.
    pub links: u64,
    /// Clusters that wait: outcome, how many, the newest reason.
    pub clusters: Vec<WaitingClusters>,
    /// Batches of events by state of their observation.
    pub batches: Vec<super::batches::BatchCount>,
    /// Proven entries that no file states yet.
    pub unrouted: u64,
    /// The newest tick.
    pub last_tick: Option<TickRecord>,
    /// The newest tick in which nothing failed.
    pub last_success: Option<TickRecord>,
    /// Model calls of the last seven days: provider, calls, prompt and completion tokens.
    pub calls: Vec<ProviderCalls>,
    /// How consolidation fares.
    pub consolidation: Consolidation,
}

/// How consolidation fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Consolidation {
    /// When it began to fail, with no success since (milliseconds UTC).
    pub failing_since: Option<i64>,
    /// Clusters that wait to become knowledge.
    pub waiting: u64,
    /// Runs that a busy machine postponed.
    pub postponed: u64,
}

/// An entry that cannot be embedded.
#[derive(Clone, Debug, Serialize)]
pub struct Parked {
    /// Id of the entry.
    pub entry: String,
    /// Tries so far.
    pub attempts: u32,
    /// The last failure.
    pub reason: String,
    /// Whether it is no longer tried by itself.
    pub parked: bool,
}

/// Clusters with the same outcome.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingClusters {
    /// Why they wait.
    pub outcome: String,
    /// How many.
    pub count: u64,
    /// The newest reason in words.
    pub reason: String,
    /// Not to be tried before (milliseconds UTC).
    pub next_try: Option<i64>,
}

/// The engine's own use of models.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderCalls {
    /// Name of the provider.
    pub provider: String,
    /// Requests.
    pub calls: u64,
    /// Requests of the last 24 hours.
    pub calls_today: u64,
    /// Prompt and completion tokens together.
    pub tokens: u64,
    /// Those of the last 24 hours.
    pub tokens_today: u64,
}

/// Milliseconds of a day.
const DAY: i64 = 24 * 3600 * 1000;

/// Reads the figures; `now` is milliseconds UTC.
pub fn overview(connection: &Connection, now: i64) -> Result<Overview> {
    let count = |sql: &str| -> Result<u64> {
        Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    };
    let recent = ticks(connection, 200)?;
    Ok(Overview {
        states: count_states(connection)?
            .into_iter()
            .map(|(state, count)| (state.to_string(), count))
            .collect(),
        unconnected: count(
            "SELECT count(*) FROM entry
             WHERE state IN ('buffered', 'proven', 'routed') AND connected IS NULL",
        )?,
        parked: parked(connection)?,
        links: count("SELECT count(*) FROM link WHERE active")?,
        clusters: waiting(connection)?,
        batches: super::batches::batch_counts(connection)?,
        unrouted: count("SELECT count(*) FROM entry WHERE state = 'proven'")?,
        last_success: recent.iter().find(|tick| tick.status.as_str() == "done").cloned(),
        last_tick: recent.into_iter().next(),
        calls: calls(connection, now)?,
        consolidation: consolidation(connection)?,
    })
}

fn parked(connection: &Connection) -> Result<Vec<Parked>> {
    let mut statement = connection.prepare(
        "SELECT entry.id, attempts, reason, parked FROM embed_failure
         JOIN entry ON entry.seq = embed_failure.entry
         WHERE state IN ('buffered', 'proven', 'routed') ORDER BY entry.seq",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Parked {
            entry: row.get(0)?,
            attempts: row.get(1)?,
            reason: row.get(2)?,
            parked: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn waiting(connection: &Connection) -> Result<Vec<WaitingClusters>> {
    let mut statement = connection.prepare(
        "SELECT outcome, count(*), reason, min(next_try), max(updated) FROM cluster
         GROUP BY outcome ORDER BY outcome",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(WaitingClusters {
            outcome: row.get(0)?,
            count: row.get::<_, i64>(1)?.unsigned_abs(),
            reason: row.get(2)?,
            next_try: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn calls(connection: &Connection, now: i64) -> Result<Vec<ProviderCalls>> {
    let mut statement = connection.prepare(
        "SELECT provider, count(*), sum(opened >= ?2),
                sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)),
                total((opened >= ?2) * (coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)))
         FROM call WHERE opened >= ?1 GROUP BY provider ORDER BY provider",
    )?;
    let rows = statement.query_map([now - 7 * DAY, now - DAY], |row| {
        Ok(ProviderCalls {
            provider: row.get(0)?,
            calls: row.get::<_, i64>(1)?.unsigned_abs(),
            calls_today: row.get::<_, i64>(2)?.unsigned_abs(),
            tokens: row.get::<_, i64>(3)?.unsigned_abs(),
            tokens_today: whole(row.get(4)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens")]
fn whole(sum: f64) -> u64 {
    sum as u64
}

/// Since when consolidation fails, and what waits for it.
pub fn consolidation(connection: &Connection) -> Result<Consolidation> {
    let waiting: i64 = connection.query_row(
        "SELECT count(*) FROM cluster WHERE outcome NOT IN ('declined', 'undone')",
        [],
        |row| row.get(0),
    )?;
    let postponed = super::meta(connection, "consolidate.postponed")?;
    Ok(Consolidation {
        failing_since: failing_since(connection)?,
        waiting: waiting.unsigned_abs(),
        postponed: postponed.and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

/// Start of the oldest of the newest ticks that all failed to consolidate. Ticks that did not come
/// to that phase say nothing.
fn failing_since(connection: &Connection) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT started, notes FROM tick WHERE phases LIKE '%\"consolidate\"%'
         ORDER BY id DESC LIMIT 500",
    )?;
    let mut since = None;
    for row in statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
        let (started, notes) = row?;
        if !failed(&notes) {
            break;
        }
        since = Some(started);
    }
    Ok(since)
}

fn failed(notes: &str) -> bool {
    let notes: Vec<serde_json::Value> = serde_json::from_str(notes).unwrap_or_default();
    notes.iter().any(|note| note["level"] == "failed" && note["phase"] == "consolidate")
}
