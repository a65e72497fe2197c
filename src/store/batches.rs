//! The observer's queue.

use crate::error::Result;
use lifecycle_phases::observe::{Batch, BatchState, StoredBatch};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use std::collections::BTreeSet;

const COLUMNS: &str = "key, batch, state, attempts, next_try, reason, asked";

/// The batch of this name.
pub fn batch(connection: &Connection, key: &str) -> Result<Option<StoredBatch>> {
    let sql = format!("SELECT {COLUMNS} FROM batch WHERE key = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([key], from_row).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredBatch> {
    let (batch, state): (String, String) = (row.get(1)?, row.get(2)?);
    Ok(StoredBatch {
        key: row.get(0)?,
        batch: serde_json::from_str::<Batch>(&batch).unwrap_or_default(),
        state: BatchState::parse(&state).unwrap_or(BatchState::Stuck),
        attempts: row.get(3)?,
        next_try: row.get(4)?,
        reason: row.get(5)?,
        asked: row.get(6)?,
    })
}

/// Puts a batch into the queue unless it is known.
pub fn enqueue(tx: &Transaction<'_>, stored: &StoredBatch, now: i64) -> Result<()> {
    if batch(tx, &stored.key)?.is_none() { put_batch(tx, stored, now) } else { Ok(()) }
}

/// Records how a batch stands; a lease on it ends.
pub fn put_batch(tx: &Transaction<'_>, stored: &StoredBatch, now: i64) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO batch
             (key, batch, state, attempts, next_try, reason, asked, said, updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        stored.key,
        serde_json::to_string(&stored.batch)?,
        stored.state.as_str(),
        stored.attempts,
        stored.next_try,
        stored.reason,
        stored.asked,
        stored.batch.said,
        now,
    ])?;
    Ok(())
}

/// A lease that somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Name of the batch.
    pub key: String,
    /// The process.
    pub pid: u32,
    /// When it ends by itself (milliseconds UTC).
    pub until: i64,
}

/// Every lease.
pub fn leases(connection: &Connection) -> Result<Vec<Lease>> {
    let mut statement = connection.prepare_cached(
        "SELECT key, coalesce(lease_pid, 0), coalesce(lease_until, 0) FROM batch
         WHERE state = 'leased' ORDER BY key",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Lease { key: row.get(0)?, pid: row.get(1)?, until: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Frees a batch whose holder is gone; the attempt counts.
pub fn free(tx: &Transaction<'_>, key: &str, now: i64) -> Result<()> {
    tx.prepare_cached(
        "UPDATE batch SET state = 'waiting', attempts = attempts + 1, lease_pid = NULL,
             lease_until = NULL, reason = 'the process that was at it died', updated = ?2
         WHERE key = ?1 AND state = 'leased'",
    )?
    .execute(params![key, now])?;
    Ok(())
}

/// Leases up to `limit` batches that are due to this process, the oldest first. `asked` names models
/// and prompt: a batch that is stuck with others is tried again. Those in `seen` are passed over.
pub fn lease(
    tx: &Transaction<'_>,
    asked: &str,
    now: i64,
    until: i64,
    limit: usize,
    seen: &BTreeSet<String>,
) -> Result<Vec<StoredBatch>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM batch
         WHERE (state = 'waiting' AND (next_try IS NULL OR next_try <= ?1 OR asked NOT IN ('', ?2)))
            OR (state IN ('stuck', 'refused') AND asked <> ?2)
         ORDER BY said, key LIMIT ?3"
    );
    let most = i64::try_from(limit + seen.len()).unwrap_or(i64::MAX);
    let mut due: Vec<StoredBatch> = tx
        .prepare_cached(&sql)?
        .query_map(params![now, asked, most], from_row)?
        .collect::<rusqlite::Result<_>>()?;
    due.retain(|stored| !seen.contains(&stored.key));
    due.truncate(limit);
    let mut take = tx.prepare_cached(
        "UPDATE batch SET state = 'leased', lease_pid = ?2, lease_until = ?3, updated = ?4
         WHERE key = ?1",
    )?;
    for stored in &due {
        take.execute(params![stored.key, std::process::id(), until, now])?;
    }
    Ok(due)
}

/// Batches in one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchCount {
    /// The state.
    pub state: String,
    /// How many.
    pub count: u64,
    /// The newest reason.
    pub reason: String,
    /// Not to be tried before (milliseconds UTC).
    pub next_try: Option<i64>,
}

impl BatchCount {
    /// Whether somebody should know of them: what was observed or declined is done with.
    pub fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "waiting" | "leased" | "stuck" | "refused")
    }
}

/// Batches by state.
pub fn batch_counts(connection: &Connection) -> Result<Vec<BatchCount>> {
    let mut statement = connection.prepare_cached(
        "SELECT state, count(*), reason, min(next_try), max(updated) FROM batch
         GROUP BY state ORDER BY state",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(BatchCount {
            state: row.get(0)?,
            count: row.get::<_, i64>(1)?.unsigned_abs(),
            reason: row.get(2)?,
            next_try: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
