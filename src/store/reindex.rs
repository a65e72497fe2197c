//! Making derived data anew while it goes on serving.
//!
//! Words are replaced a portion at a time, each text in one transaction with its old words: a search
//! in between finds every text, and no writer waits long. Only where the table itself is damaged is
//! it emptied and filled in one transaction, during which readers still see the old one.

use super::fts::{Item, index_words, rebuild_words};
use super::{Store, Unembedded};
use crate::error::Result;
use rusqlite::{Connection, Transaction, params};

/// Texts that share a transaction.
const PORTION: i64 = 500;

/// Makes the words of all texts anew; returns how many texts there are.
pub fn refresh_words(store: &mut Store) -> Result<u64> {
    if !words_are_sound(store.reader()) {
        store.write(rebuild_words)?;
        return count(store.reader());
    }
    let entries = "SELECT seq, coalesce(title, ''), text FROM entry WHERE seq > ?1
                   ORDER BY seq LIMIT ?2";
    let chunks = "SELECT seq, heading, text FROM chunk WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    for (sql, item) in
        [(entries, Item::Entry as fn(i64) -> Item), (chunks, Item::Chunk as fn(i64) -> Item)]
    {
        let mut after = Some(0);
        while let Some(last) = after {
            after = store.write(|tx| portion(tx, sql, item, last))?;
        }
    }
    store.write(|tx| {
        tx.execute(
            "DELETE FROM term WHERE rowid NOT IN
                 (SELECT seq * 2 FROM entry UNION ALL SELECT seq * 2 + 1 FROM chunk)",
            [],
        )?;
        Ok(tx.execute_batch("INSERT INTO term (term) VALUES ('optimize')")?)
    })?;
    count(store.reader())
}

/// Replaces the words of some texts; returns the last one's key, none where there was none.
fn portion(
    tx: &Transaction<'_>,
    sql: &str,
    item: fn(i64) -> Item,
    after: i64,
) -> Result<Option<i64>> {
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query([after, PORTION])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        tx.prepare_cached("DELETE FROM term WHERE rowid = ?1")?.execute([item(seq).rowid()])?;
        let (title, text): (String, String) = (row.get(1)?, row.get(2)?);
        index_words(tx, item(seq), &title, &text)?;
        last = Some(seq);
    }
    Ok(last)
}

fn words_are_sound(connection: &Connection) -> bool {
    connection.execute("INSERT INTO term (term) VALUES ('integrity-check')", []).is_ok()
}

fn count(connection: &Connection) -> Result<u64> {
    let sql = "SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM chunk)";
    Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Entries that have a vector of `descriptor`, from the key `after` on.
pub fn embedded_after(
    connection: &Connection,
    descriptor: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<Unembedded>> {
    let mut query = connection.prepare_cached(
        "SELECT e.seq, e.text, e.content_hash FROM vector v JOIN entry e ON e.seq = v.entry
         WHERE v.descriptor = ?1 AND v.entry > ?2 ORDER BY v.entry LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map(params![descriptor, after, limit], |row| {
        Ok(Unembedded { seq: row.get(0)?, text: row.get(1)?, content_hash: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Chunks from the key `after` on: key, headings, text.
pub fn chunks_after(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String, String)>> {
    let mut query = connection.prepare_cached(
        "SELECT seq, heading, text FROM chunk WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows =
        query.query_map([after, limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
