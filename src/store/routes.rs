//! Lines of ours in config files, writes to files, and vectors of file blocks.

use super::entries::{COLUMNS, StoredEntry, from_row, seq_of};
use super::{apply, entry_by_id};
use crate::error::Result;
use lifecycle_phases::{EntryId, Route, RouteOp, State, Step};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

/// A line of ours, or one that states what an entry of ours says.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteRow {
    /// The entry.
    pub entry: EntryId,
    /// Resolved path of the file.
    pub path: String,
    /// Headings, outermost first.
    pub section: Vec<String>,
    /// The line without list mark.
    pub line: String,
    /// `written`, `known`, `withdrawn` (by us) or `deleted` (by the user).
    pub status: String,
    /// Score of the place.
    pub score: f32,
    /// The next best places.
    pub runners_up: Vec<(String, f32)>,
}

const ROUTE_COLUMNS: &str = "entry_id, path, section, line, status, score, runners_up";

fn route_row(row: &Row<'_>) -> rusqlite::Result<RouteRow> {
    let (section, runners_up): (String, String) = (row.get(2)?, row.get(6)?);
    Ok(RouteRow {
        entry: EntryId(row.get(0)?),
        path: row.get(1)?,
        section: serde_json::from_str(&section).unwrap_or_default(),
        line: row.get(3)?,
        status: row.get(4)?,
        score: row.get::<_, f64>(5)? as f32,
        runners_up: serde_json::from_str(&runners_up).unwrap_or_default(),
    })
}

/// Proven entries that no file states yet, oldest first. Entries whose line was taken out by the
/// user, those of kind `sensitive`, and those that only a tool or a page stands behind are not among
/// them.
pub fn pending(connection: &Connection) -> Result<Vec<StoredEntry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entry
         WHERE state = 'proven' AND kind <> 'sensitive'
           AND coalesce(origin, actor) IN ('user', 'assistant')
           AND NOT EXISTS (SELECT 1 FROM route
                           WHERE route.entry = entry.seq AND status <> 'withdrawn')
         ORDER BY seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Proven entries that no file may state, because only a tool's output or a page says them.
pub fn untrusted(connection: &Connection) -> Result<u64> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM entry
         WHERE state = 'proven' AND coalesce(origin, actor) NOT IN ('user', 'assistant')",
        [],
        |row| row.get(0),
    )?;
    Ok(count.unsigned_abs())
}

/// Our lines in files, ordered by path.
pub fn written(connection: &Connection) -> Result<Vec<RouteRow>> {
    let sql =
        format!("SELECT {ROUTE_COLUMNS} FROM route WHERE status = 'written' ORDER BY path, entry");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([], route_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The files in which a line of an entry stands.
pub fn written_of(connection: &Connection, entry: &EntryId) -> Result<Vec<String>> {
    let sql = "SELECT path FROM route WHERE entry_id = ?1 AND status = 'written' ORDER BY path";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([entry.as_str()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Files that a line was ever routed to, or known in.
pub fn paths(connection: &Connection) -> Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT path FROM route ORDER BY path")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Every row of a file, whatever its status.
pub fn of_path(connection: &Connection, path: &str) -> Result<Vec<RouteRow>> {
    let sql = format!("SELECT {ROUTE_COLUMNS} FROM route WHERE path = ?1 ORDER BY updated, entry");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([path], route_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether the line of a row has to leave its file: its entry is gone, merged or expired.
pub fn is_withdrawn(connection: &Connection, row: &RouteRow) -> Result<bool> {
    let stored = entry_by_id(connection, &row.entry)?;
    Ok(stored.is_none_or(|stored| !stored.entry.state.is_active()))
}

/// The proven or routed entry that a merged one lives on in.
pub fn successor(connection: &Connection, id: &EntryId) -> Result<Option<EntryId>> {
    Ok(connection
        .prepare_cached(
            "SELECT next.id FROM entry old
             JOIN provenance mine ON mine.proven = old.seq
             JOIN provenance theirs ON theirs.source = mine.source AND theirs.proven <> old.seq
             JOIN entry next ON next.seq = theirs.proven
             WHERE old.id = ?1 AND old.state = 'merged' AND theirs.active
               AND next.state IN ('proven', 'routed')
             ORDER BY next.seq DESC LIMIT 1",
        )?
        .query_row([id.as_str()], |row| row.get(0).map(EntryId))
        .optional()?)
}

/// Proven and routed entries of all projects with their vectors, to find rules that several state.
pub fn stated(
    connection: &Connection,
    descriptor: &str,
) -> Result<Vec<(StoredEntry, Option<Vec<f32>>)>> {
    let columns = COLUMNS.split(',').map(|name| format!("entry.{}", name.trim()));
    let sql = format!(
        "SELECT {}, vector.data FROM entry
         LEFT JOIN vector ON vector.entry = entry.seq AND vector.descriptor = ?1
         WHERE entry.state IN ('proven', 'routed') AND entry.project IS NOT NULL
           AND entry.kind <> 'sensitive' ORDER BY entry.seq",
        columns.collect::<Vec<_>>().join(", ")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let last = statement.column_count() - 1;
    let rows = statement.query_map([descriptor], |row| {
        let data: Option<Vec<u8>> = row.get(last)?;
        Ok((from_row(row)?, data.map(|data| floats(&data))))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether proven or routed entries belong to more than one project.
pub fn several_projects(connection: &Connection) -> Result<bool> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM (SELECT DISTINCT project FROM entry
             WHERE state IN ('proven', 'routed') AND project IS NOT NULL LIMIT 2)",
        [],
        |row| row.get(0),
    )?;
    Ok(count > 1)
}

/// The effect of a performed route step on the store: the row, and the state of the entry.
pub fn settle(tx: &Transaction<'_>, route: &Route, now: i64, reason: &str) -> Result<()> {
    match &route.op {
        RouteOp::Add => put(tx, route, "written", now)?,
        RouteOp::AlreadyKnown { .. } => put(tx, route, "known", now)?,
        RouteOp::Replace { old_line } => {
            tx.prepare_cached(
                "UPDATE route SET status = 'withdrawn', updated = ?3
                 WHERE path = ?1 AND line = ?2 AND status = 'written'",
            )?
            .execute(params![route.path, old_line, now])?;
            put(tx, route, "written", now)?;
        }
        RouteOp::Withdraw => return mark(tx, route, withdrawn_word(tx, route)?, now),
        RouteOp::Displace => {
            mark(tx, route, "withdrawn", now)?;
            return turn(tx, route, State::Routed, State::Proven, now, reason);
        }
    }
    turn(tx, route, State::Proven, State::Routed, now, reason)
}

/// Moves the entry of a route from one state to another, if it is in the first.
fn turn(
    tx: &Transaction<'_>,
    route: &Route,
    from: State,
    to: State,
    now: i64,
    reason: &str,
) -> Result<()> {
    let stored = entry_by_id(tx, &route.entry)?;
    if stored.is_none_or(|stored| stored.entry.state != from) {
        return Ok(());
    }
    apply(tx, &Step::SetState { entry: route.entry.clone(), from, to }, now, reason)
}

/// Takes the effect of [`settle`] back; `from` is the state the entry had before the step.
pub fn unsettle(tx: &Transaction<'_>, route: &Route, from: State, now: i64) -> Result<()> {
    match &route.op {
        RouteOp::Withdraw | RouteOp::Displace => put(tx, route, "written", now)?,
        RouteOp::Replace { old_line } => {
            drop_row(tx, route)?;
            tx.prepare_cached(
                "UPDATE route SET status = 'written', updated = ?3
                 WHERE path = ?1 AND line = ?2 AND status = 'withdrawn'",
            )?
            .execute(params![route.path, old_line, now])?;
        }
        // Kept as undone, so that the next tick does not write it again by itself.
        RouteOp::Add | RouteOp::AlreadyKnown { .. } => mark(tx, route, "undone", now)?,
    }
    let stored = entry_by_id(tx, &route.entry)?;
    match stored.map(|stored| stored.entry.state) {
        Some(state) if state != from && matches!(state, State::Routed | State::Proven) => {
            let step = Step::SetState { entry: route.entry.clone(), from: state, to: from };
            apply(tx, &step, now, "routing undone")
        }
        _ => Ok(()),
    }
}

/// The line of an entry that still counts was taken out by the user: not to be written again.
fn withdrawn_word(tx: &Transaction<'_>, route: &Route) -> Result<&'static str> {
    let active =
        entry_by_id(tx, &route.entry)?.is_some_and(|stored| stored.entry.state.is_active());
    Ok(if active { "deleted" } else { "withdrawn" })
}

fn put(tx: &Transaction<'_>, route: &Route, status: &str, now: i64) -> Result<()> {
    let Some(seq) = entry_by_id(tx, &route.entry)?.map(|stored| stored.seq) else {
        return mark(tx, route, status, now);
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO route
             (entry, entry_id, path, section, line, status, score, runners_up, updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        seq,
        route.entry.as_str(),
        route.path,
        serde_json::to_string(&route.section)?,
        route.line,
        status,
        f64::from(route.score),
        serde_json::to_string(&route.runners_up)?,
        now,
    ])?;
    Ok(())
}

fn drop_row(tx: &Transaction<'_>, route: &Route) -> Result<()> {
    let seq = seq_of(tx, &route.entry)?;
    tx.prepare_cached("DELETE FROM route WHERE entry = ?1 AND path = ?2")?
        .execute(params![seq, route.path])?;
    Ok(())
}

fn mark(tx: &Transaction<'_>, route: &Route, status: &str, now: i64) -> Result<()> {
    set_status(tx, &route.entry, &route.path, status, now)
}

/// Changes how a row stands.
pub fn set_status(
    tx: &Transaction<'_>,
    entry: &EntryId,
    path: &str,
    status: &str,
    now: i64,
) -> Result<()> {
    tx.prepare_cached(
        "UPDATE route SET status = ?3, updated = ?4 WHERE entry_id = ?1 AND path = ?2",
    )?
    .execute(params![entry.as_str(), path, status, now])?;
    Ok(())
}

/// A recorded write to a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWrite {
    /// Number.
    pub id: i64,
    /// The tick it belongs to.
    pub tick: i64,
    /// Resolved path.
    pub path: String,
    /// Content before; `None`: there was no file.
    pub before: Option<Vec<u8>>,
    /// Content after; `None`: the file is removed.
    pub after: Option<Vec<u8>>,
    /// `intent`, `done`, `refused`, `conflict` or `undone`.
    pub status: String,
}

/// Records the intent to write and returns its number.
pub fn begin_write(
    tx: &Transaction<'_>,
    tick: i64,
    path: &str,
    before: Option<(&[u8], &str)>,
    after: Option<(&[u8], &str)>,
) -> Result<i64> {
    tx.prepare_cached(
        "INSERT INTO file_write (tick, path, before, before_hash, after, after_hash, status)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'intent')",
    )?
    .execute(params![
        tick,
        path,
        before.map(|(bytes, _)| bytes),
        before.map(|(_, hash)| hash),
        after.map(|(bytes, _)| bytes),
        after.map(|(_, hash)| hash),
    ])?;
    Ok(tx.last_insert_rowid())
}

/// Changes how a write stands.
pub fn set_write(tx: &Transaction<'_>, id: i64, status: &str) -> Result<()> {
    tx.prepare_cached("UPDATE file_write SET status = ?2 WHERE id = ?1")?
        .execute(params![id, status])?;
    Ok(())
}

/// Writes that were begun and not closed, in order.
pub fn open_writes(connection: &Connection) -> Result<Vec<FileWrite>> {
    writes(connection, "status = 'intent'", [])
}

/// Writes of a tick that were done, newest first.
pub fn writes_of(connection: &Connection, tick: i64) -> Result<Vec<FileWrite>> {
    let mut found = writes(connection, "tick = ?1 AND status = 'done'", [tick])?;
    found.reverse();
    Ok(found)
}

/// Whether the file was made by us and has been there since.
pub fn made_by_us(connection: &Connection, path: &str) -> Result<bool> {
    let newest: Option<bool> = connection
        .prepare_cached(
            "SELECT before IS NULL FROM file_write
             WHERE path = ?1 AND status = 'done' AND (before IS NULL OR after IS NULL)
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row([path], |row| row.get(0))
        .optional()?;
    Ok(newest.unwrap_or(false))
}

fn writes(
    connection: &Connection,
    condition: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<FileWrite>> {
    let sql = format!(
        "SELECT id, tick, path, before, after, status FROM file_write WHERE {condition} ORDER BY id"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(values, |row| {
        Ok(FileWrite {
            id: row.get(0)?,
            tick: row.get(1)?,
            path: row.get(2)?,
            before: row.get(3)?,
            after: row.get(4)?,
            status: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The cached vector of a block of text.
pub fn section_vector(
    connection: &Connection,
    descriptor: &str,
    text_hash: &str,
) -> Result<Option<Vec<f32>>> {
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM section_vector WHERE descriptor = ?1 AND text_hash = ?2")?
        .query_row([descriptor, text_hash], |row| row.get(0))
        .optional()?;
    Ok(data.map(|data| floats(&data)))
}

/// Keeps vectors of blocks of text.
pub fn put_section_vectors(
    tx: &Transaction<'_>,
    descriptor: &str,
    vectors: &[(String, Vec<f32>)],
    now: i64,
) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT OR REPLACE INTO section_vector (descriptor, text_hash, data, used)
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (hash, vector) in vectors {
        let data: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        statement.execute(params![descriptor, hash, data, now])?;
    }
    Ok(())
}

/// How long a vector of a block is kept after it was last of use.
const KEPT: i64 = 90 * 24 * 3_600_000;
/// How old the note of the last use may get before it is renewed.
const RENEWED: i64 = 7 * 24 * 3_600_000;

/// Notes that the vectors of `hashes` were of use, and drops those that were not for a long time.
/// A run that has nothing to note writes nothing.
pub fn vectors_used(
    store: &mut super::Store,
    descriptor: &str,
    hashes: &[String],
    now: i64,
) -> Result<()> {
    let oldest: Option<i64> =
        store.reader().query_row("SELECT min(used) FROM section_vector", [], |row| row.get(0))?;
    if oldest.is_none_or(|oldest| oldest > now - RENEWED) {
        return Ok(());
    }
    store.write(|tx| {
        let mut renew = tx.prepare_cached(
            "UPDATE section_vector SET used = ?3
             WHERE descriptor = ?1 AND text_hash = ?2 AND used <= ?4",
        )?;
        for hash in hashes {
            renew.execute(params![descriptor, hash, now, now - RENEWED])?;
        }
        tx.execute("DELETE FROM section_vector WHERE used < ?1", [now - KEPT])?;
        Ok(())
    })
}

/// The vector of an entry under a descriptor.
pub fn entry_vector(
    connection: &Connection,
    descriptor: &str,
    id: &EntryId,
) -> Result<Option<Vec<f32>>> {
    let data: Option<Vec<u8>> = connection
        .prepare_cached(
            "SELECT data FROM vector JOIN entry ON entry.seq = vector.entry
             WHERE descriptor = ?1 AND entry.id = ?2",
        )?
        .query_row([descriptor, id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(data.map(|data| floats(&data)))
}

fn floats(data: &[u8]) -> Vec<f32> {
    data.chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}
