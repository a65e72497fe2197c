//! Under which descriptors the entries have vectors.

use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// Active entries that the descriptor `?2` still lacks although `?1` has them. What was parked
/// under the wanted one is not waited for.
const LACKING: &str = "FROM entry e JOIN vector v ON v.entry = e.seq AND v.descriptor = ?1
    WHERE e.state NOT IN ('merged', 'expired')
      AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.descriptor = ?2 AND w.entry = e.seq)
      AND NOT EXISTS (SELECT 1 FROM embed_failure f
                      WHERE f.descriptor = ?2 AND f.entry = e.seq AND f.parked)";

/// An entry whose vector is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// Key of the entry.
    pub seq: i64,
    /// Its text.
    pub text: String,
    /// Hash of the text, which vectors are found by.
    pub content_hash: String,
}

/// Every descriptor that has vectors.
pub fn descriptors(connection: &Connection) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    // One step of the index a descriptor; DISTINCT would read every vector's key.
    let mut next =
        connection.prepare_cached("SELECT min(descriptor) FROM vector WHERE descriptor > ?1")?;
    loop {
        let last = found.last().map_or("", String::as_str);
        match next.query_row([last], |row| row.get::<_, Option<String>>(0))? {
            Some(descriptor) => found.push(descriptor),
            None => return Ok(found),
        }
    }
}

/// The descriptor other than `wanted` that has vectors of the most active entries which `wanted`
/// lacks; none where `wanted` lacks nothing that any other has.
pub fn ahead_of(connection: &Connection, wanted: &str) -> Result<Option<String>> {
    let mut best = None;
    for other in descriptors(connection)?.into_iter().filter(|other| other != wanted) {
        let lacking = lacking(connection, &other, wanted)?;
        if lacking > 0 && best.as_ref().is_none_or(|(most, _)| lacking > *most) {
            best = Some((lacking, other));
        }
    }
    Ok(best.map(|(_, other)| other))
}

/// How many active entries have a vector under `serving` and none under `wanted`.
pub fn lacking(connection: &Connection, serving: &str, wanted: &str) -> Result<u64> {
    let mut query = connection.prepare_cached(&format!("SELECT count(*) {LACKING}"))?;
    Ok(query.query_row([serving, wanted], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Some of those entries, oldest first.
pub fn some_lacking(
    connection: &Connection,
    serving: &str,
    wanted: &str,
    limit: usize,
) -> Result<Vec<Unembedded>> {
    let sql = format!("SELECT e.seq, e.text, e.content_hash {LACKING} ORDER BY e.seq LIMIT ?3");
    let mut query = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(params![serving, wanted, limit], |row| {
        Ok(Unembedded { seq: row.get(0)?, text: row.get(1)?, content_hash: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Length of the vectors of a descriptor, where there are any.
pub fn dimensions(connection: &Connection, descriptor: &str) -> Result<Option<usize>> {
    let mut query = connection
        .prepare_cached("SELECT length(data) / 4 FROM vector WHERE descriptor = ?1 LIMIT 1")?;
    let length = query.query_row([descriptor], |row| row.get::<_, i64>(0)).optional()?;
    Ok(length.map(|length| usize::try_from(length).unwrap_or_default()))
}

/// Stores a vector beside those of other descriptors, without any effect on links.
pub fn put_vector(
    tx: &Transaction<'_>,
    seq: i64,
    descriptor: &str,
    text_hash: &str,
    vector: &[f32],
) -> Result<()> {
    let data: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    tx.prepare_cached(
        "INSERT OR REPLACE INTO vector (entry, descriptor, text_hash, data) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![seq, descriptor, text_hash, data])?;
    Ok(())
}

/// Counts a failure that is the entry's own; at `max_attempts` it is parked.
pub fn count_failure(
    tx: &Transaction<'_>,
    seq: i64,
    descriptor: &str,
    reason: &str,
    max_attempts: u32,
) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO embed_failure (entry, descriptor, attempts, reason, parked)
         VALUES (?1, ?2, 1, ?3, 1 >= ?4)
         ON CONFLICT (descriptor, entry) DO UPDATE SET
             attempts = attempts + 1, reason = excluded.reason, parked = attempts + 1 >= ?4",
    )?
    .execute(params![seq, descriptor, reason, max_attempts])?;
    Ok(())
}

/// A vector with where and when its entry arose.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedVector {
    /// Project of the entry.
    pub project: Option<String>,
    /// When it was made, milliseconds UTC.
    pub created: i64,
    /// Unit length.
    pub vector: Vec<f32>,
}

/// Vectors of active entries, at most `limit`. Ids are hashes, so their order is a fair sample.
pub fn placed_vectors(
    connection: &Connection,
    descriptor: &str,
    limit: usize,
) -> Result<Vec<PlacedVector>> {
    let mut query = connection.prepare_cached(
        "SELECT e.project, e.created, v.data FROM vector v JOIN entry e ON e.seq = v.entry
         WHERE v.descriptor = ?1 AND e.state NOT IN ('merged', 'expired')
         ORDER BY e.id LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(params![descriptor, limit], |row| {
        let data: Vec<u8> = row.get(2)?;
        let (numbers, _) = data.as_chunks::<4>();
        let vector = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok(PlacedVector { project: row.get(0)?, created: row.get(1)?, vector })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
