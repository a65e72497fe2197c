//! Reading entries.

use crate::error::{Error, Result};
use lifecycle_phases::{Actor, Channel, ContentHash, Entry, EntryId, Kind, Origin, Source, State};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

/// An entry as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEntry {
    /// Order of arrival; the key of vectors and links.
    pub seq: i64,
    /// The entry.
    pub entry: Entry,
    /// When it entered its state (milliseconds UTC).
    pub state_at: i64,
    /// Why it is in that state.
    pub state_reason: String,
}

/// The columns that [`StoredEntry`] is read from, in order.
pub const COLUMNS: &str = "seq, id, text, title, content_hash, kind, project, state, state_at,
    state_reason, created, channel, actor, conversation, path, offset, files, generated_by,
    recalls, reprieves, protected, origin";

/// Which entries to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this project.
    pub project: Option<String>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only this state.
    pub state: Option<State>,
    /// Merged and expired ones too.
    pub all: bool,
}

/// The entry with this id.
pub fn entry_by_id(connection: &Connection, id: &EntryId) -> Result<Option<StoredEntry>> {
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id.as_str()], from_row).optional()?)
}

/// The entry with this key.
pub fn entry_by_seq(connection: &Connection, seq: i64) -> Result<Option<StoredEntry>> {
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE seq = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([seq], from_row).optional()?)
}

/// The key of the entry with this id; an unknown id is an error.
pub fn seq_of(connection: &Connection, id: &EntryId) -> Result<i64> {
    connection
        .prepare_cached("SELECT seq FROM entry WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Error::refused(format!("there is no entry {id}")))
}

/// The one entry whose id starts with `prefix` (at least four digits).
pub fn resolve(connection: &Connection, prefix: &str) -> Result<StoredEntry> {
    if prefix.len() < 4 || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::input(format!("`{prefix}` is not the id of an entry"))
            .hint("give at least four hex digits of an id that `lifecycle list` shows"));
    }
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2");
    let mut found: Vec<StoredEntry> =
        connection.prepare(&sql)?.query_map([prefix], from_row)?.collect::<Result<_, _>>()?;
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Error::input(format!("no entry has an id that starts with {prefix}"))
            .hint("`lifecycle list --all` shows every entry")),
        _ => {
            Err(Error::input(format!("{prefix} is the start of several ids"))
                .hint("give more digits"))
        }
    }
}

/// Entries in order of arrival.
pub fn list(connection: &Connection, filter: &Filter) -> Result<Vec<StoredEntry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entry
         WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR kind = ?2)
           AND (?3 IS NULL OR state = ?3)
           AND (?4 OR ?3 IS NOT NULL OR state IN ('buffered', 'proven', 'routed'))
         ORDER BY seq"
    );
    let values = (
        &filter.project,
        filter.kind.map(Kind::as_str),
        filter.state.map(State::as_str),
        filter.all,
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(values, from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Number of entries in each state, states without entries left out.
pub fn count_states(connection: &Connection) -> Result<Vec<(State, u64)>> {
    let mut statement =
        connection.prepare("SELECT state, count(*) FROM entry GROUP BY state ORDER BY state")?;
    let rows = statement.query_map([], |row| {
        Ok((word(row, 0, State::parse)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Reads a row of [`COLUMNS`].
pub fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    let files: String = row.get(16)?;
    Ok(StoredEntry {
        seq: row.get(0)?,
        state_at: row.get(8)?,
        state_reason: row.get(9)?,
        entry: Entry {
            id: EntryId(row.get(1)?),
            text: row.get(2)?,
            title: row.get(3)?,
            content_hash: ContentHash(row.get(4)?),
            kind: word(row, 5, Kind::parse)?,
            project: row.get(6)?,
            state: word(row, 7, State::parse)?,
            created: row.get(10)?,
            source: Source {
                channel: word(row, 11, Channel::parse)?,
                actor: word(row, 12, Actor::parse)?,
                origin: optional_word(row, 21, Origin::parse)?,
                conversation: row.get(13)?,
                path: row.get(14)?,
                offset: row.get::<_, Option<i64>>(15)?.map(i64::unsigned_abs),
                files: serde_json::from_str(&files).unwrap_or_default(),
            },
            generated_by: row.get(17)?,
            recalls: row.get(18)?,
            reprieves: row.get(19)?,
            protected: row.get(20)?,
        },
    })
}

fn optional_word<T>(
    row: &Row<'_>,
    column: usize,
    parse: fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get::<_, Option<String>>(column)? {
        Some(_) => word(row, column, parse).map(Some),
        None => Ok(None),
    }
}

fn word<T>(row: &Row<'_>, column: usize, parse: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    parse(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Text,
            format!("`{text}` is not a known word").into(),
        )
    })
}
