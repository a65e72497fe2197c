//! How far each conversation was read, and which sources said an entry.

use crate::error::Result;
use lifecycle_phases::buffer::{Known, Sighting};
use lifecycle_phases::{Actor, EntryId, Kind, Origin, State};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::BTreeSet;

/// Why a conversation is never read again.
pub const OWN: &str = "own";
/// As [`OWN`], for a sub-agent's file.
pub const SUB_AGENT: &str = "sub-agent";

/// A conversation file and how far it was read.
pub use lifecycle_phases::buffer::Reading as Conversation;

const COLUMNS: &str =
    "path, session, project, offset, tail_hash, size, modified, last_read, problem, sitting";

/// What is known of the conversation file `path`.
pub fn conversation(connection: &Connection, path: &str) -> Result<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE path = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([path], from_row).optional()?)
}

/// Conversations that did something and have no record of it yet.
pub fn unrecorded(connection: &Connection) -> Result<Vec<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE sitting <> '' ORDER BY path");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    Ok(Conversation {
        path: row.get(0)?,
        session: row.get(1)?,
        project: row.get(2)?,
        offset: row.get::<_, i64>(3)?.unsigned_abs(),
        tail_hash: row.get(4)?,
        size: row.get::<_, i64>(5)?.unsigned_abs(),
        modified: row.get(6)?,
        last_read: row.get(7)?,
        problem: row.get(8)?,
        sitting: row.get(9)?,
    })
}

/// Records how far a conversation was read.
pub fn put_conversation(tx: &Transaction<'_>, of: &Conversation) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO conversation ({COLUMNS})
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    );
    tx.prepare_cached(&sql)?.execute(params![
        of.path,
        of.session,
        of.project,
        of.offset as i64,
        of.tail_hash,
        of.size as i64,
        of.modified,
        of.last_read,
        of.problem,
        of.sitting
    ])?;
    Ok(())
}

/// What the buffer phase asks about: those of `ids` that are stored, in the same order.
pub fn known(connection: &Connection, ids: &[EntryId]) -> Result<Vec<Known>> {
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT seq, state, recalls, created, conversation, path, kind, coalesce(origin, actor)
         FROM entry WHERE id = ?1",
    )?;
    for id in ids {
        let row = statement.query_row([id.as_str()], |row| {
            let state: String = row.get(1)?;
            let own: [Option<String>; 2] = [row.get(4)?, row.get(5)?];
            let (kind, origin): (String, String) = (row.get(6)?, row.get(7)?);
            let known = Known {
                id: id.clone(),
                state: State::parse(&state).unwrap_or(State::Buffered),
                recalls: row.get(2)?,
                created: row.get(3)?,
                kind: Kind::parse(&kind).unwrap_or(Kind::Insight),
                origin: Origin::parse(&origin).unwrap_or(Actor::User.into()),
                seen: own.into_iter().flatten().collect(),
            };
            Ok((row.get::<_, i64>(0)?, known))
        });
        if let Some((seq, mut known)) = row.optional()? {
            known.seen.extend(sources(connection, seq)?);
            found.push(known);
        }
    }
    Ok(found)
}

fn sources(connection: &Connection, seq: i64) -> Result<BTreeSet<String>> {
    let mut statement =
        connection.prepare_cached("SELECT source FROM sighting WHERE entry = ?1")?;
    let rows = statement.query_map([seq], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Records which sources said an entry. One that is not stored is passed over.
pub fn put_sightings(tx: &Transaction<'_>, sightings: &[Sighting]) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT OR IGNORE INTO sighting (entry, source, said)
         SELECT seq, ?2, ?3 FROM entry WHERE id = ?1",
    )?;
    for sighting in sightings {
        statement.execute(params![sighting.entry.as_str(), sighting.source, sighting.said])?;
    }
    Ok(())
}
