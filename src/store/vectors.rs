//! Vectors of entries, and which entries still wait to be connected.

use super::entries::{COLUMNS, StoredEntry, from_row};
use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, params};

/// Active entries whose links under `descriptor` were not computed yet, in order of arrival from
/// `after` (a key) on. Parked ones are left out.
pub fn pending(
    connection: &Connection,
    descriptor: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<StoredEntry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entry
         WHERE seq > ?2 AND state IN ('buffered', 'proven', 'routed')
           AND (connected IS NULL OR connected < ?1 OR connected > ?1)
           AND NOT EXISTS (SELECT 1 FROM embed_failure f
                           WHERE f.descriptor = ?1 AND f.entry = entry.seq AND f.parked)
         ORDER BY seq LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(params![descriptor, after, limit], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many entries are pending under `descriptor`.
pub fn count_pending(connection: &Connection, descriptor: &str) -> Result<usize> {
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM entry
             WHERE state IN ('buffered', 'proven', 'routed')
               AND (connected IS NULL OR connected < ?1 OR connected > ?1)
               AND NOT EXISTS (SELECT 1 FROM embed_failure f
                               WHERE f.descriptor = ?1 AND f.entry = entry.seq AND f.parked)",
        )?
        .query_row([descriptor], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// The vector of an entry under `descriptor` and `true`, or that of another entry with the same
/// text and `false`.
pub fn known_vector(
    connection: &Connection,
    descriptor: &str,
    entry: &StoredEntry,
) -> Result<Option<(Vec<f32>, bool)>> {
    if let Some(own) = vector(connection, descriptor, entry.seq)? {
        return Ok(Some((own, true)));
    }
    let known = vector_of_text(connection, descriptor, &entry.entry.content_hash.0)?;
    Ok(known.map(|vector| (vector, false)))
}

/// The vector of any entry whose text has this hash.
pub fn vector_of_text(
    connection: &Connection,
    descriptor: &str,
    content_hash: &str,
) -> Result<Option<Vec<f32>>> {
    let mut query = connection.prepare_cached(
        "SELECT data FROM vector WHERE descriptor = ?1 AND text_hash = ?2 LIMIT 1",
    )?;
    let data: Option<Vec<u8>> =
        query.query_row(params![descriptor, content_hash], |row| row.get(0)).optional()?;
    Ok(data.as_deref().map(decode))
}

/// The vector of the entry with key `seq`, where that entry is active.
pub fn active_vector(
    connection: &Connection,
    descriptor: &str,
    seq: i64,
) -> Result<Option<Vec<f32>>> {
    let mut query = connection.prepare_cached(
        "SELECT v.data FROM vector v JOIN entry e ON e.seq = v.entry
         WHERE v.descriptor = ?1 AND v.entry = ?2
           AND e.state IN ('buffered', 'proven', 'routed')",
    )?;
    let data: Option<Vec<u8>> =
        query.query_row(params![descriptor, seq], |row| row.get(0)).optional()?;
    Ok(data.as_deref().map(decode))
}

/// The entry whose vector was written at `rowid`.
pub fn key_at(connection: &Connection, descriptor: &str, rowid: i64) -> Result<Option<i64>> {
    let mut query = connection
        .prepare_cached("SELECT entry FROM vector WHERE rowid = ?2 AND descriptor = ?1")?;
    Ok(query.query_row(params![descriptor, rowid], |row| row.get(0)).optional()?)
}

/// The vector of the entry with key `seq`.
pub fn vector(connection: &Connection, descriptor: &str, seq: i64) -> Result<Option<Vec<f32>>> {
    let mut query = connection
        .prepare_cached("SELECT data FROM vector WHERE descriptor = ?1 AND entry = ?2")?;
    let data: Option<Vec<u8>> =
        query.query_row(params![descriptor, seq], |row| row.get(0)).optional()?;
    Ok(data.as_deref().map(decode))
}

/// Little-endian f32 as numbers.
pub fn decode(data: &[u8]) -> Vec<f32> {
    data.chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect()
}

/// A stored vector with its place in the order of writing.
pub struct VectorRow {
    /// Grows with every write; a vector written anew gets a new one.
    pub rowid: i64,
    /// Key of the entry.
    pub seq: i64,
    /// The vector.
    pub vector: Vec<f32>,
}

/// Calls `each` with every vector of `project` under `descriptor` that was written after `rowid`,
/// in order of writing, whatever the state of its entry.
pub fn each_vector(
    connection: &Connection,
    descriptor: &str,
    project: Option<&str>,
    rowid: i64,
    mut each: impl FnMut(VectorRow),
) -> Result<()> {
    let mut query = connection.prepare_cached(
        "SELECT v.rowid, v.entry, v.data FROM vector v JOIN entry e ON e.seq = v.entry
         WHERE v.rowid > ?3 AND v.descriptor = ?1 AND e.project IS ?2 ORDER BY v.rowid",
    )?;
    let mut rows = query.query(params![descriptor, project, rowid])?;
    while let Some(row) = rows.next()? {
        let data = row.get_ref(2)?.as_blob().unwrap_or_default();
        each(VectorRow { rowid: row.get(0)?, seq: row.get(1)?, vector: decode(data) });
    }
    Ok(())
}

/// An entry that cannot be embedded, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedEntry {
    /// Its id.
    pub id: String,
    /// What the model or server said.
    pub reason: String,
}

/// Active entries that are not tried any more under `descriptor`.
pub fn parked(connection: &Connection, descriptor: &str) -> Result<Vec<ParkedEntry>> {
    let mut query = connection.prepare_cached(
        "SELECT e.id, f.reason FROM embed_failure f JOIN entry e ON e.seq = f.entry
         WHERE f.descriptor = ?1 AND f.parked AND e.state IN ('buffered', 'proven', 'routed')
         ORDER BY e.seq",
    )?;
    let rows = query
        .query_map([descriptor], |row| Ok(ParkedEntry { id: row.get(0)?, reason: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
