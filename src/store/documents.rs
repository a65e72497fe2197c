//! Documents and their chunks.
//!
//! A document is known by project and source. The same content under the same source is left
//! alone; other content replaces text, chunks, words and vectors in one transaction, so there is no
//! moment without the document. Chunks go with their document; words and vectors go with chunks.

use super::fts::{Item, index_words};
use crate::error::{Error, Result};
use lifecycle_phases::entry::hex;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

/// A document as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// 16 hex digits, from project and source.
    pub id: String,
    /// URL, resolved path, or the name it was given.
    pub source: String,
    /// `text`, `url` or `file`.
    pub origin: String,
    /// For people.
    pub title: String,
    /// Project it belongs to.
    #[serde(default)]
    pub project: Option<String>,
    /// Words to filter by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Markdown.
    pub text: String,
    /// When it was stored first, milliseconds UTC.
    pub created: i64,
    /// When its content changed last.
    pub updated: i64,
}

impl Document {
    /// Id of the document from this source in this project.
    pub fn id_of(project: Option<&str>, source: &str) -> String {
        hex(format!("document\0{}\0{source}", project.unwrap_or("")).as_bytes(), 16)
    }

    fn content_hash(&self) -> String {
        hex(lifecycle_phases::text::normalise(&self.text).as_bytes(), 32)
    }
}

/// A chunk to be stored: headings and text.
pub type NewChunk = (String, String);

/// What became of a document that was to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Stored {
    /// It is new.
    Added,
    /// The source was known, its content is new.
    Replaced,
    /// The source has this content already.
    Unchanged,
    /// Another document of the project has this content.
    Known {
        /// Its id.
        document: String,
    },
}

/// Stores the document with its chunks.
pub fn put_document(
    tx: &Transaction<'_>,
    document: &Document,
    chunks: &[NewChunk],
) -> Result<Stored> {
    let hash = document.content_hash();
    let old: Option<(i64, String)> = tx
        .query_row("SELECT seq, content_hash FROM document WHERE id = ?1", [&document.id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if let Some((seq, old_hash)) = &old {
        update_names(tx, *seq, document)?;
        if *old_hash == hash {
            return Ok(Stored::Unchanged);
        }
    } else if let Some(id) = same_content(tx, document, &hash)? {
        return Ok(Stored::Known { document: id });
    }
    let seq = match &old {
        Some((seq, _)) => replace(tx, *seq, document, &hash)?,
        None => insert(tx, document, &hash)?,
    };
    for (n, (heading, text)) in chunks.iter().enumerate() {
        insert_chunk(tx, seq, n, heading, text)?;
    }
    Ok(if old.is_some() { Stored::Replaced } else { Stored::Added })
}

fn same_content(tx: &Transaction<'_>, document: &Document, hash: &str) -> Result<Option<String>> {
    Ok(tx
        .query_row(
            "SELECT id FROM document WHERE content_hash = ?1 AND project IS ?2",
            params![hash, document.project],
            |row| row.get(0),
        )
        .optional()?)
}

fn insert(tx: &Transaction<'_>, document: &Document, hash: &str) -> Result<i64> {
    tx.execute(
        "INSERT INTO document (id, source, origin, title, project, tags, text, content_hash,
             created, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            document.id,
            document.source,
            document.origin,
            document.title,
            document.project,
            serde_json::to_string(&document.tags)?,
            document.text,
            hash,
            document.created,
            document.updated,
        ],
    )?;
    Ok(tx.last_insert_rowid())
}

fn replace(tx: &Transaction<'_>, seq: i64, document: &Document, hash: &str) -> Result<i64> {
    tx.execute("DELETE FROM chunk WHERE document = ?1", [seq])?;
    tx.execute(
        "UPDATE document SET text = ?2, content_hash = ?3, updated = ?4 WHERE seq = ?1",
        params![seq, document.text, hash, document.updated],
    )?;
    Ok(seq)
}

fn update_names(tx: &Transaction<'_>, seq: i64, document: &Document) -> Result<()> {
    tx.execute(
        "UPDATE document SET title = ?2, tags = ?3, origin = ?4 WHERE seq = ?1",
        params![seq, document.title, serde_json::to_string(&document.tags)?, document.origin],
    )?;
    Ok(())
}

fn insert_chunk(
    tx: &Transaction<'_>,
    document: i64,
    n: usize,
    heading: &str,
    text: &str,
) -> Result<()> {
    tx.prepare_cached("INSERT INTO chunk (document, n, heading, text) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![document, i64::try_from(n).unwrap_or(i64::MAX), heading, text])?;
    index_words(tx, Item::Chunk(tx.last_insert_rowid()), heading, text)
}

/// Gives a stored document these chunks, if it has others; returns whether it had.
pub fn recut_document(tx: &Transaction<'_>, id: &str, chunks: &[NewChunk]) -> Result<bool> {
    let seq: i64 =
        tx.query_row("SELECT seq FROM document WHERE id = ?1", [id], |row| row.get(0))?;
    let mut statement =
        tx.prepare_cached("SELECT heading, text FROM chunk WHERE document = ?1 ORDER BY n")?;
    let rows = statement.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if rows.collect::<rusqlite::Result<Vec<NewChunk>>>()? == chunks {
        return Ok(false);
    }
    tx.execute("DELETE FROM chunk WHERE document = ?1", [seq])?;
    for (n, (heading, text)) in chunks.iter().enumerate() {
        insert_chunk(tx, seq, n, heading, text)?;
    }
    Ok(true)
}

/// Removes a document with everything that was made from it.
pub fn delete_document(tx: &Transaction<'_>, id: &str) -> Result<()> {
    match tx.execute("DELETE FROM document WHERE id = ?1", [id])? {
        0 => Err(no_document(id)),
        _ => Ok(()),
    }
}

/// The document whose id starts with `id` (at least four digits).
pub fn document(connection: &Connection, id: &str) -> Result<Document> {
    if id.len() < 4 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(no_document(id));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM document WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found: Vec<Document> =
        statement.query_map([id], document_row)?.collect::<Result<_, _>>()?;
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(no_document(id)),
        _ => Err(Error::input(format!("{id} is the start of several ids"))),
    }
}

/// All documents in order of arrival.
pub fn documents(connection: &Connection, project: Option<&str>) -> Result<Vec<Document>> {
    let sql =
        format!("SELECT {COLUMNS} FROM document WHERE ?1 IS NULL OR project = ?1 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([project], document_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const COLUMNS: &str = "id, source, origin, title, project, tags, text, created, updated";

fn document_row(row: &Row<'_>) -> rusqlite::Result<Document> {
    let tags: String = row.get(5)?;
    Ok(Document {
        id: row.get(0)?,
        source: row.get(1)?,
        origin: row.get(2)?,
        title: row.get(3)?,
        project: row.get(4)?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        text: row.get(6)?,
        created: row.get(7)?,
        updated: row.get(8)?,
    })
}

fn no_document(id: &str) -> Error {
    Error::input(format!("there is no document {id}")).hint("`lifecycle documents` lists them")
}

/// Chunks without a vector of `descriptor`: key, headings, text.
pub fn chunks_lacking(
    connection: &Connection,
    descriptor: &str,
    limit: usize,
) -> Result<Vec<(i64, String, String)>> {
    let mut statement = connection.prepare_cached(
        "SELECT c.seq, c.heading, c.text FROM chunk c WHERE NOT EXISTS (
             SELECT 1 FROM chunk_vector v WHERE v.chunk = c.seq AND v.descriptor = ?1)
         ORDER BY c.seq LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement
        .query_map(params![descriptor, limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many chunks lack a vector of `descriptor`.
pub fn count_chunks_lacking(connection: &Connection, descriptor: &str) -> Result<usize> {
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM chunk c WHERE NOT EXISTS (
                 SELECT 1 FROM chunk_vector v WHERE v.chunk = c.seq AND v.descriptor = ?1)",
        )?
        .query_row([descriptor], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Stores the vector of a chunk, unless the chunk has gone in the meantime.
pub fn put_chunk_vector(
    tx: &Transaction<'_>,
    chunk: i64,
    descriptor: &str,
    vector: &[f32],
) -> Result<()> {
    let data: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    tx.prepare_cached(
        "INSERT OR REPLACE INTO chunk_vector (chunk, descriptor, data)
         SELECT seq, ?2, ?3 FROM chunk WHERE seq = ?1",
    )?
    .execute(params![chunk, descriptor, data])?;
    Ok(())
}
