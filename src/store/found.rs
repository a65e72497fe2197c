//! What search reads beside words: vectors, found texts, and where merged entries live on.

use super::entries::{StoredEntry, entry_by_seq};
use super::fts::{DOCUMENT_IN_SCOPE, ENTRY_IN_SCOPE, Item, Scope, ScopeValues};
use crate::error::Result;
use lifecycle_phases::{EntryId, State};
use rusqlite::{Connection, OptionalExtension, Row};

/// A found text with where it stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// An entry.
    Entry(Box<StoredEntry>),
    /// A piece of a document.
    Chunk(Box<FoundChunk>),
}

impl Found {
    /// What search compares a query with: title or headings, then the text.
    pub fn searched_text(&self) -> String {
        match self {
            Self::Entry(stored) => {
                headed(stored.entry.title.as_deref().unwrap_or_default(), &stored.entry.text)
            }
            Self::Chunk(chunk) => headed(&chunk.heading, &chunk.text),
        }
    }
}

fn headed(head: &str, text: &str) -> String {
    if head.is_empty() { text.to_string() } else { format!("{head}\n{text}") }
}

/// A piece of a document with what names the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundChunk {
    /// Key of the chunk.
    pub seq: i64,
    /// Position in the document, from 0.
    pub n: i64,
    /// Headings above it, outermost first, joined by ` > `.
    pub heading: String,
    /// The piece.
    pub text: String,
    /// Id of the document.
    pub document: String,
    /// Title of the document.
    pub title: String,
    /// URL, path or name it came from.
    pub source: String,
    /// Its project.
    pub project: Option<String>,
    /// When it was stored first (milliseconds UTC).
    pub created: i64,
}

/// Calls `visit` with each vector of `descriptor` in scope, entries first. The bytes are
/// little-endian f32.
pub fn for_each_vector(
    connection: &Connection,
    descriptor: &str,
    scope: &Scope,
    mut visit: impl FnMut(Item, &[u8]),
) -> Result<()> {
    let entries = format!(
        "SELECT v.entry * 2, v.data FROM vector v JOIN entry e ON e.seq = v.entry
         WHERE v.descriptor = :descriptor AND {ENTRY_IN_SCOPE}"
    );
    let chunks = format!(
        "SELECT v.chunk * 2 + 1, v.data FROM chunk_vector v JOIN chunk c ON c.seq = v.chunk
         JOIN document d ON d.seq = c.document
         WHERE v.descriptor = :descriptor AND {DOCUMENT_IN_SCOPE}"
    );
    let values = ScopeValues::of(scope);
    let mut named = values.named().to_vec();
    named.push((":descriptor", &descriptor));
    for sql in [entries, chunks] {
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(named.as_slice())?;
        while let Some(row) = rows.next()? {
            if let Ok(bytes) = row.get_ref(1)?.as_blob() {
                visit(Item::of_rowid(row.get(0)?), bytes);
            }
        }
    }
    Ok(())
}

/// Calls `visit` with each vector of `descriptor`, whatever its text's state: a third of the time of
/// [`for_each_vector`], since the tables are read in the order in which they lie and no text is
/// looked up.
pub fn for_every_vector(
    connection: &Connection,
    descriptor: &str,
    mut visit: impl FnMut(Item, &[u8]),
) -> Result<()> {
    for sql in [
        "SELECT entry * 2, data FROM vector NOT INDEXED WHERE descriptor = ?1",
        "SELECT chunk * 2 + 1, data FROM chunk_vector NOT INDEXED WHERE descriptor = ?1",
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([descriptor])?;
        while let Some(row) = rows.next()? {
            if let Ok(bytes) = row.get_ref(1)?.as_blob() {
                visit(Item::of_rowid(row.get(0)?), bytes);
            }
        }
    }
    Ok(())
}

/// The stored vector of `item` as little-endian f32, if it is in scope.
pub fn vector_in_scope(
    connection: &Connection,
    descriptor: &str,
    item: Item,
    scope: &Scope,
) -> Result<Option<Vec<u8>>> {
    let (sql, seq) = match item {
        Item::Entry(seq) => (
            format!(
                "SELECT v.data FROM vector v JOIN entry e ON e.seq = v.entry
                 WHERE v.descriptor = :descriptor AND v.entry = :seq AND {ENTRY_IN_SCOPE}"
            ),
            seq,
        ),
        Item::Chunk(seq) => (
            format!(
                "SELECT v.data FROM chunk_vector v JOIN chunk c ON c.seq = v.chunk
                 JOIN document d ON d.seq = c.document
                 WHERE v.descriptor = :descriptor AND v.chunk = :seq AND {DOCUMENT_IN_SCOPE}"
            ),
            seq,
        ),
    };
    let values = ScopeValues::of(scope);
    let mut named = values.named().to_vec();
    named.extend([(":descriptor", &descriptor as &dyn rusqlite::ToSql), (":seq", &seq)]);
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row(named.as_slice(), |row| row.get(0)).optional()?)
}

/// The stored vector of `item` as little-endian f32.
pub fn vector_of(connection: &Connection, descriptor: &str, item: Item) -> Result<Option<Vec<u8>>> {
    let (sql, seq) = match item {
        Item::Entry(seq) => ("SELECT data FROM vector WHERE descriptor = ?1 AND entry = ?2", seq),
        Item::Chunk(seq) => {
            ("SELECT data FROM chunk_vector WHERE descriptor = ?1 AND chunk = ?2", seq)
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row((descriptor, seq), |row| row.get(0)).optional()?)
}

/// Something that differs whenever the stored vectors do: count, newest row, and what it belongs to
/// (a row's number is used again after the newest was deleted, an entry's never is).
pub fn vector_stamp(connection: &Connection) -> Result<String> {
    let sql = "SELECT (SELECT count(*) || ':' || coalesce(max(rowid), 0) FROM vector)
        || ':' || coalesce((SELECT entry FROM vector ORDER BY rowid DESC LIMIT 1), 0)
        || '/' || (SELECT count(*) || ':' || coalesce(max(rowid), 0) FROM chunk_vector)
        || ':' || coalesce((SELECT chunk FROM chunk_vector ORDER BY rowid DESC LIMIT 1), 0)";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// How many texts are in scope, and how many of them have a vector of `descriptor`.
pub fn coverage(connection: &Connection, descriptor: &str, scope: &Scope) -> Result<(u64, u64)> {
    let entries = format!(
        "SELECT count(*), count(v.entry) FROM entry e
         LEFT JOIN vector v ON v.entry = e.seq AND v.descriptor = :descriptor
         WHERE {ENTRY_IN_SCOPE}"
    );
    let chunks = format!(
        "SELECT count(*), count(v.chunk) FROM chunk c JOIN document d ON d.seq = c.document
         LEFT JOIN chunk_vector v ON v.chunk = c.seq AND v.descriptor = :descriptor
         WHERE {DOCUMENT_IN_SCOPE}"
    );
    let values = ScopeValues::of(scope);
    let mut named = values.named().to_vec();
    named.push((":descriptor", &descriptor));
    let mut total = (0, 0);
    for sql in [entries, chunks] {
        let (all, embedded): (i64, i64) = connection
            .prepare_cached(&sql)?
            .query_row(named.as_slice(), |row| Ok((row.get(0)?, row.get(1)?)))?;
        total = (total.0 + all.unsigned_abs(), total.1 + embedded.unsigned_abs());
    }
    Ok(total)
}

/// The text of `item`, or `None` where it is gone.
pub fn found(connection: &Connection, item: Item) -> Result<Option<Found>> {
    Ok(match item {
        Item::Entry(seq) => entry_by_seq(connection, seq)?.map(|it| Found::Entry(Box::new(it))),
        Item::Chunk(seq) => connection
            .prepare_cached(
                "SELECT c.seq, c.n, c.heading, c.text, d.id, d.title, d.source, d.project, d.created
                 FROM chunk c JOIN document d ON d.seq = c.document WHERE c.seq = ?1",
            )?
            .query_row([seq], chunk_row)
            .optional()?
            .map(|chunk| Found::Chunk(Box::new(chunk))),
    })
}

/// What search compares a query with, of one text: [`Found::searched_text`] without the rest.
pub fn searched_text(connection: &Connection, item: Item) -> Result<Option<String>> {
    let (sql, seq) = match item {
        Item::Entry(seq) => ("SELECT coalesce(title, ''), text FROM entry WHERE seq = ?1", seq),
        Item::Chunk(seq) => ("SELECT heading, text FROM chunk WHERE seq = ?1", seq),
    };
    let text = |row: &Row<'_>| Ok(headed(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?));
    Ok(connection.prepare_cached(sql)?.query_row([seq], text).optional()?)
}

fn chunk_row(row: &Row<'_>) -> rusqlite::Result<FoundChunk> {
    Ok(FoundChunk {
        seq: row.get(0)?,
        n: row.get(1)?,
        heading: row.get(2)?,
        text: row.get(3)?,
        document: row.get(4)?,
        title: row.get(5)?,
        source: row.get(6)?,
        project: row.get(7)?,
        created: row.get(8)?,
    })
}

/// The entry in which a merged one lives on: by provenance, or, for a proven entry that was made
/// anew, by the reason of its state.
pub fn successor(connection: &Connection, stored: &StoredEntry) -> Result<Option<EntryId>> {
    if stored.entry.state != State::Merged {
        return Ok(None);
    }
    let by_provenance: Option<String> = connection
        .prepare_cached(
            "SELECT p.id FROM provenance v JOIN entry p ON p.seq = v.proven
             WHERE v.source = ?1 AND v.active ORDER BY v.proven DESC LIMIT 1",
        )?
        .query_row([stored.seq], |row| row.get(0))
        .optional()?;
    let by_reason = || stored.state_reason.strip_prefix("merged into ").map(str::to_string);
    Ok(by_provenance.or_else(by_reason).map(EntryId))
}

/// The entries that a proven one was made from.
pub fn sources(connection: &Connection, proven: i64) -> Result<Vec<EntryId>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id FROM provenance v JOIN entry s ON s.seq = v.source
         WHERE v.proven = ?1 AND v.active ORDER BY v.source",
    )?;
    let rows = statement.query_map([proven], |row| row.get(0).map(EntryId))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
