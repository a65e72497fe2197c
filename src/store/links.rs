//! Links between entries, and the part of the graph that hangs together.

use super::entries::{StoredEntry, entry_by_seq};
use crate::error::Result;
use lifecycle_phases::{Differing, EntryId, Link};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

/// A link with the keys of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLink {
    /// Key of one end, the smaller one.
    pub a: i64,
    /// Key of the other end.
    pub b: i64,
    /// The link.
    pub link: Link,
}

const LINK_COLUMNS: &str = "l.a, l.b, x.id, y.id, l.similarity, l.cosine, l.descriptor, l.differing
    FROM link l JOIN entry x ON x.seq = l.a JOIN entry y ON y.seq = l.b";

/// The active links of the entry with key `seq` under `descriptor`.
pub fn links_of(connection: &Connection, descriptor: &str, seq: i64) -> Result<Vec<StoredLink>> {
    let sql = format!(
        "SELECT {LINK_COLUMNS} WHERE l.a = ?2 AND l.descriptor = ?1 AND l.active
         UNION ALL
         SELECT {LINK_COLUMNS} WHERE l.b = ?2 AND l.descriptor = ?1 AND l.active"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(params![descriptor, seq], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Every active link under `descriptor`, of one project where `project` is given.
pub fn links(
    connection: &Connection,
    descriptor: &str,
    project: Option<&str>,
) -> Result<Vec<StoredLink>> {
    let sql = format!(
        "SELECT {LINK_COLUMNS} WHERE l.descriptor = ?1 AND l.active
           AND (?2 IS NULL OR x.project = ?2) ORDER BY l.a, l.b"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(params![descriptor, project], from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredLink> {
    let differing: Option<String> = row.get(7)?;
    let (x, y): (String, String) = (row.get(2)?, row.get(3)?);
    let (a, b) = Link::pair(EntryId(x), EntryId(y));
    Ok(StoredLink {
        a: row.get(0)?,
        b: row.get(1)?,
        link: Link {
            a,
            b,
            similarity: row.get(4)?,
            cosine: row.get(5)?,
            descriptor: row.get(6)?,
            differing: differing.as_deref().and_then(Differing::parse),
        },
    })
}

/// The connected components that `seeds` (keys) belong to: their entries and links. Costs what
/// those components hold, whatever the store holds.
pub fn components(
    connection: &Connection,
    descriptor: &str,
    seeds: impl IntoIterator<Item = i64>,
) -> Result<(Vec<StoredEntry>, Vec<Link>)> {
    let mut waiting: Vec<i64> = seeds.into_iter().collect();
    let mut seen: BTreeSet<i64> = waiting.iter().copied().collect();
    let mut links = BTreeMap::new();
    while let Some(seq) = waiting.pop() {
        for found in links_of(connection, descriptor, seq)? {
            for end in [found.a, found.b] {
                if seen.insert(end) {
                    waiting.push(end);
                }
            }
            links.insert((found.a, found.b), found.link);
        }
    }
    let mut entries = Vec::new();
    for seq in seen {
        let stored = entry_by_seq(connection, seq)?;
        entries.extend(stored.filter(|stored| stored.entry.state.is_active()));
    }
    Ok((entries, links.into_values().collect()))
}

/// Keys of the buffered entries with an active link, ascending.
pub fn linked_buffered(connection: &Connection, descriptor: &str) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq FROM entry WHERE state = 'buffered' AND (
             EXISTS (SELECT 1 FROM link WHERE a = seq AND active AND descriptor = ?1)
             OR EXISTS (SELECT 1 FROM link WHERE b = seq AND active AND descriptor = ?1))
         ORDER BY seq",
    )?;
    let rows = statement.query_map([descriptor], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Number of entries that a proven entry was made from.
pub fn source_count(connection: &Connection, proven: i64) -> Result<usize> {
    let mut query = connection
        .prepare_cached("SELECT count(*) FROM provenance WHERE proven = ?1 AND active")?;
    Ok(usize::try_from(query.query_row([proven], |row| row.get::<_, i64>(0))?).unwrap_or(0))
}

/// Switches off what other descriptors said of an entry, once it is connected under this one.
pub fn retire_other_links(tx: &Transaction<'_>, descriptor: &str, seq: i64) -> Result<()> {
    for end in ["a", "b"] {
        let sql =
            format!("UPDATE link SET active = 0 WHERE {end} = ?2 AND descriptor <> ?1 AND active");
        tx.prepare_cached(&sql)?.execute(params![descriptor, seq])?;
    }
    Ok(())
}

/// The scale (mean and link line, raw cosines) that the links under `descriptor` were computed with.
pub fn scale_of(connection: &Connection, descriptor: &str) -> Result<Option<(f32, f32)>> {
    let mut query =
        connection.prepare_cached("SELECT mean, link FROM link_scale WHERE descriptor = ?1")?;
    Ok(query.query_row([descriptor], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Keeps the scale that links under `descriptor` are computed with from now on.
pub fn put_scale(tx: &Transaction<'_>, descriptor: &str, mean: f32, link: f32) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO link_scale (descriptor, mean, link) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![descriptor, mean, link])?;
    Ok(())
}

/// A link as far as its scale goes, active or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCosine {
    /// Key of one end, the smaller one.
    pub a: i64,
    /// Key of the other end.
    pub b: i64,
    /// Raw cosine.
    pub cosine: f32,
    /// Similarity as stored.
    pub similarity: f32,
}

/// Some links under `descriptor`, active or not, in the order of their keys after `after`.
pub fn some_links(
    connection: &Connection,
    descriptor: &str,
    after: (i64, i64),
    limit: usize,
) -> Result<Vec<LinkCosine>> {
    let mut query = connection.prepare_cached(
        "SELECT a, b, cosine, similarity FROM link
         WHERE (a, b) > (?2, ?3) AND descriptor = ?1 ORDER BY a, b LIMIT ?4",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(params![descriptor, after.0, after.1, limit], |row| {
        Ok(LinkCosine {
            a: row.get(0)?,
            b: row.get(1)?,
            cosine: row.get(2)?,
            similarity: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Gives a link another similarity.
pub fn set_similarity(
    tx: &Transaction<'_>,
    descriptor: &str,
    a: i64,
    b: i64,
    similarity: f32,
) -> Result<()> {
    tx.prepare_cached(
        "UPDATE link SET similarity = ?4 WHERE a = ?2 AND b = ?3 AND descriptor = ?1",
    )?
    .execute(params![descriptor, a, b, similarity])?;
    Ok(())
}

/// Removes a link that is none any more.
pub fn drop_link(tx: &Transaction<'_>, descriptor: &str, a: i64, b: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM link WHERE a = ?2 AND b = ?3 AND descriptor = ?1")?
        .execute(params![descriptor, a, b])?;
    Ok(())
}

/// Has connect look at every entry again that it has connected under `descriptor`.
pub fn reopen(tx: &Transaction<'_>, descriptor: &str) -> Result<()> {
    tx.prepare_cached("UPDATE entry SET connected = NULL WHERE connected = ?1")?
        .execute([descriptor])?;
    Ok(())
}
