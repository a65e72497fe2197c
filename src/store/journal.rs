//! The journal: ticks, and the steps each of them performed.

use crate::error::{Error, Result};
use lifecycle_phases::{Phase, PlannedStep, Step};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;

/// How a tick stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TickStatus {
    /// Under way, or killed and not yet picked up.
    Running,
    /// Ended, and nothing in it failed.
    Done,
    /// Ended with something that waits for another try, or was killed.
    Incomplete,
    /// Taken back.
    Undone,
}

impl TickStatus {
    /// The word in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::Undone => "undone",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "running" => Self::Running,
            "done" => Self::Done,
            "undone" => Self::Undone,
            _ => Self::Incomplete,
        }
    }
}

/// One tick.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TickRecord {
    /// Number.
    pub id: i64,
    /// Start (milliseconds UTC).
    pub started: i64,
    /// End, where it ended.
    pub finished: Option<i64>,
    /// What started it.
    pub trigger: String,
    /// How it stands.
    pub status: TickStatus,
    /// What did not happen and why: JSON array of notes.
    pub notes: String,
    /// The tick this one takes back.
    pub undoes: Option<i64>,
    /// Hash of the plan it performs.
    pub plan: Option<String>,
}

/// One step of a tick as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step, its number, phase and reason.
    pub planned: PlannedStep,
    /// `intent`, `done`, `refused` or `undone`.
    pub status: String,
    /// Why it was refused, or what was left alone.
    pub detail: String,
}

/// Opens a tick and returns its number.
pub fn begin_tick(
    tx: &Transaction<'_>,
    now: i64,
    trigger: &str,
    phases: &[Phase],
    plan: Option<&str>,
    undoes: Option<i64>,
) -> Result<i64> {
    tx.execute(
        "INSERT INTO tick (started, trigger, status, phases, plan, undoes)
         VALUES (?1, ?2, 'running', ?3, ?4, ?5)",
        params![now, trigger, serde_json::to_string(phases)?, plan, undoes],
    )?;
    Ok(tx.last_insert_rowid())
}

/// Closes a tick.
pub fn finish_tick(
    tx: &Transaction<'_>,
    id: i64,
    now: i64,
    status: TickStatus,
    notes: &str,
) -> Result<()> {
    tx.execute(
        "UPDATE tick SET finished = ?2, status = ?3, notes = ?4 WHERE id = ?1",
        params![id, now, status.as_str(), notes],
    )?;
    Ok(())
}

/// Keeps how near the new entries of a tick were to what was there; `bars` is JSON.
pub fn keep_nearest(tx: &Transaction<'_>, id: i64, bars: &str) -> Result<()> {
    tx.execute("UPDATE tick SET nearest = ?2 WHERE id = ?1", params![id, bars])?;
    Ok(())
}

/// What [`keep_nearest`] kept of a tick.
pub fn nearest_of(connection: &Connection, id: i64) -> Result<String> {
    Ok(connection.query_row("SELECT nearest FROM tick WHERE id = ?1", [id], |row| row.get(0))?)
}

/// Records a step; vectors are left out, being derived.
pub fn record_step(
    tx: &Transaction<'_>,
    tick: i64,
    planned: &PlannedStep,
    status: &str,
    detail: &str,
) -> Result<()> {
    let data = serde_json::to_string(&without_vector(planned))?;
    tx.prepare_cached(
        "INSERT INTO step (tick, n, phase, name, entry, data, reason, status, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        tick,
        i64::try_from(planned.n).unwrap_or(i64::MAX),
        planned.phase.as_str(),
        planned.step.name(),
        planned.step.entry().map(|id| id.as_str()),
        data,
        planned.reason,
        status,
        detail,
    ])?;
    Ok(())
}

fn without_vector(planned: &PlannedStep) -> PlannedStep {
    let mut copy = planned.clone();
    if let Step::Embed { vector, .. } = &mut copy.step {
        vector.clear();
    }
    copy
}

/// Changes how a recorded step stands.
pub fn set_step_status(
    tx: &Transaction<'_>,
    tick: i64,
    n: usize,
    status: &str,
    detail: &str,
) -> Result<()> {
    tx.prepare_cached("UPDATE step SET status = ?3, detail = ?4 WHERE tick = ?1 AND n = ?2")?
        .execute(params![tick, i64::try_from(n).unwrap_or(i64::MAX), status, detail])?;
    Ok(())
}

/// The steps of a tick in order.
pub fn steps_of(connection: &Connection, tick: i64) -> Result<Vec<StepRecord>> {
    let mut statement = connection
        .prepare_cached("SELECT data, status, detail FROM step WHERE tick = ?1 ORDER BY n")?;
    let rows = statement.query_map([tick], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    rows.map(|row| {
        let (data, status, detail) = row?;
        let planned = serde_json::from_str(&data)
            .map_err(|error| Error::damaged(format!("a step of tick {tick}: {error}")))?;
        Ok(StepRecord { planned, status, detail })
    })
    .collect()
}

/// Ends of the links that were made or taken back, and entries that came into or left the graph,
/// in the newest tick that consolidated without a failure and in every one since; keys, ascending.
/// What neighbours they have or had is theirs, too.
pub fn touched(connection: &Connection) -> Result<Vec<i64>> {
    let since: i64 = connection.query_row(
        "SELECT ifnull(max(id), 0) FROM tick
         WHERE status = 'done' AND trigger IN ('run', 'hook', 'schedule')
             AND phases LIKE '%\"consolidate\"%'",
        [],
        |row| row.get(0),
    )?;
    let mut query = connection.prepare_cached(
        "WITH changed (id) AS (
             SELECT json_extract(data, '$.link.a') FROM step
                 WHERE tick >= ?1 AND name IN ('link', 'unlink')
             UNION SELECT json_extract(data, '$.link.b') FROM step
                 WHERE tick >= ?1 AND name IN ('link', 'unlink')
             UNION SELECT s.value ->> '$.entry' FROM step, json_each(data, '$.sources') s
                 WHERE tick >= ?1 AND name = 'merge'
             UNION SELECT s.value ->> '$.entry' FROM step, json_each(data, '$.merge.sources') s
                 WHERE tick >= ?1 AND name = 'unmerge'
             UNION SELECT entry FROM step
                 WHERE tick >= ?1 AND entry IS NOT NULL AND name NOT IN ('embed', 'reprieve')
         ), seeds (seq) AS (SELECT seq FROM entry JOIN changed USING (id))
         SELECT seq FROM seeds
         UNION SELECT b FROM link WHERE a IN (SELECT seq FROM seeds)
         UNION SELECT a FROM link WHERE b IN (SELECT seq FROM seeds)
         ORDER BY 1",
    )?;
    let rows = query.query_map([since], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// With which settings the clusters of the whole graph were last looked at.
pub fn clustered_with(connection: &Connection) -> Result<Option<String>> {
    let mut query =
        connection.prepare_cached("SELECT value FROM meta WHERE key = 'clustered_with'")?;
    Ok(query.query_row([], |row| row.get(0)).optional()?)
}

/// Notes that the clusters of the whole graph were looked at with these settings.
pub fn set_clustered_with(tx: &Transaction<'_>, settings: &str) -> Result<()> {
    tx.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('clustered_with', ?1)")?
        .execute([settings])?;
    Ok(())
}

const TICK_COLUMNS: &str = "id, started, finished, trigger, status, notes, undoes, plan";

/// The tick with this number.
pub fn tick(connection: &Connection, id: i64) -> Result<TickRecord> {
    let sql = format!("SELECT {TICK_COLUMNS} FROM tick WHERE id = ?1");
    connection.query_row(&sql, [id], tick_row).optional()?.ok_or_else(|| {
        Error::input(format!("there is no tick {id}")).hint("`lifecycle history` lists the ticks")
    })
}

/// The newest `limit` ticks, newest first.
pub fn ticks(connection: &Connection, limit: u32) -> Result<Vec<TickRecord>> {
    let sql = format!("SELECT {TICK_COLUMNS} FROM tick ORDER BY id DESC LIMIT ?1");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([limit], tick_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Ticks that are marked as running; with the tick lock in hand they are dead ones.
pub fn running_ticks(connection: &Connection) -> Result<Vec<TickRecord>> {
    let sql = format!("SELECT {TICK_COLUMNS} FROM tick WHERE status = 'running' ORDER BY id");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], tick_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest tick that can be taken back: not itself an undo, not undone, and more than what
/// somebody added by hand (that is undone by its number, or forgotten).
pub fn latest_undoable(connection: &Connection) -> Result<Option<TickRecord>> {
    let sql = format!(
        "SELECT {TICK_COLUMNS} FROM tick
         WHERE trigger NOT IN ('undo', 'add') AND status IN ('done', 'incomplete')
           AND EXISTS (SELECT 1 FROM step WHERE tick = tick.id AND step.status = 'done')
         ORDER BY id DESC LIMIT 1"
    );
    Ok(connection.query_row(&sql, [], tick_row).optional()?)
}

fn tick_row(row: &Row<'_>) -> rusqlite::Result<TickRecord> {
    Ok(TickRecord {
        id: row.get(0)?,
        started: row.get(1)?,
        finished: row.get(2)?,
        trigger: row.get(3)?,
        status: TickStatus::parse(&row.get::<_, String>(4)?),
        notes: row.get(5)?,
        undoes: row.get(6)?,
        plan: row.get(7)?,
    })
}
