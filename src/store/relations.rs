//! Everything the store knows of one entry: where it came from, what it is linked to, where it went.

use super::entries::{StoredEntry, entry_by_seq};
use crate::error::Result;
use lifecycle_phases::EntryId;
use rusqlite::Connection;
use serde_json::{Value, json};

/// Everything the store knows of an entry.
pub struct Relations {
    /// The entries it was made from.
    pub sources: Vec<StoredEntry>,
    /// The proven entry it lives on in.
    pub proven: Option<StoredEntry>,
    /// Its active links: similarity, differing, other end.
    pub links: Vec<(f64, Option<String>, StoredEntry)>,
    /// Its lines in files: path, section, line, status.
    pub routes: Vec<Value>,
    /// The steps it was part of: tick, step, reason, status.
    pub history: Vec<Value>,
}

/// Looks up everything the store knows of `stored`.
pub fn relations(connection: &Connection, stored: &StoredEntry) -> Result<Relations> {
    let sources = related(
        connection,
        "SELECT source FROM provenance WHERE proven = ?1 AND active ORDER BY source",
        stored.seq,
    )?;
    let proven = related(
        connection,
        "SELECT proven FROM provenance WHERE source = ?1 AND active ORDER BY proven DESC LIMIT 1",
        stored.seq,
    )?;
    let proven = proven.into_iter().next();
    // What a link to an own source or to the entry it lives on in would say stands there already.
    let stated: Vec<i64> = sources.iter().chain(&proven).map(|other| other.seq).collect();
    let mut links = links(connection, stored.seq)?;
    links.retain(|(_, _, other)| !stated.contains(&other.seq));
    Ok(Relations {
        sources,
        proven,
        links,
        routes: routes(connection, stored.seq)?,
        history: history(connection, &stored.entry.id)?,
    })
}

fn related(connection: &Connection, sql: &str, seq: i64) -> Result<Vec<StoredEntry>> {
    let mut statement = connection.prepare(sql)?;
    let keys: Vec<i64> = statement.query_map([seq], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for key in keys {
        found.extend(entry_by_seq(connection, key)?);
    }
    Ok(found)
}

fn links(connection: &Connection, seq: i64) -> Result<Vec<(f64, Option<String>, StoredEntry)>> {
    let mut statement = connection.prepare(
        "SELECT similarity, differing, CASE WHEN a = ?1 THEN b ELSE a END FROM link
         WHERE (a = ?1 OR b = ?1) AND active ORDER BY similarity DESC",
    )?;
    let rows: Vec<(f64, Option<String>, i64)> = statement
        .query_map([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for (similarity, differing, other) in rows {
        if let Some(other) = entry_by_seq(connection, other)? {
            found.push((similarity, differing, other));
        }
    }
    Ok(found)
}

fn routes(connection: &Connection, seq: i64) -> Result<Vec<Value>> {
    let mut statement = connection.prepare(
        "SELECT path, section, line, status, score, runners_up FROM route WHERE entry = ?1",
    )?;
    let rows = statement.query_map([seq], |row| {
        let section: String = row.get(1)?;
        let runners_up: String = row.get(5)?;
        Ok(json!({
            "path": row.get::<_, String>(0)?,
            "section": serde_json::from_str::<Value>(&section).unwrap_or_default(),
            "line": row.get::<_, String>(2)?,
            "status": row.get::<_, String>(3)?,
            "score": row.get::<_, f64>(4)?,
            "runners_up": serde_json::from_str::<Value>(&runners_up).unwrap_or_default(),
        }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn history(connection: &Connection, id: &EntryId) -> Result<Vec<Value>> {
    let mut statement = connection.prepare(
        "SELECT tick, n, name, reason, status FROM step WHERE entry = ?1 ORDER BY tick, n",
    )?;
    let rows = statement.query_map([id.as_str()], |row| {
        Ok(json!({
            "tick": row.get::<_, i64>(0)?,
            "n": row.get::<_, i64>(1)?,
            "step": row.get::<_, String>(2)?,
            "reason": row.get::<_, String>(3)?,
            "status": row.get::<_, String>(4)?,
        }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
