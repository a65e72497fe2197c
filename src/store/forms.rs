//! Fixed forms: the templates that the store taught, and which entries are copies of which form.
//!
//! Both are derived: a template is learned again from its next copies.

use crate::error::Result;
use lifecycle_phases::age::Copies;
use lifecycle_phases::connect::Templates;
use rusqlite::{Connection, Transaction, params};

/// Templates learned so far.
pub fn templates(connection: &Connection) -> Result<Templates> {
    let mut query = connection.prepare_cached("SELECT text FROM template ORDER BY text")?;
    let rows = query.query_map([], |row| row.get(0))?;
    Ok(Templates::new(rows.collect::<rusqlite::Result<Vec<String>>>()?))
}

/// Keeps a template.
pub fn put_template(tx: &Transaction<'_>, text: &str) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO template (text) VALUES (?1)")?.execute([text])?;
    Ok(())
}

/// Notes the form that the entry with key `seq` is a copy of, and whether that was learned.
pub fn set_form(tx: &Transaction<'_>, seq: i64, form: Option<(&str, bool)>) -> Result<()> {
    tx.prepare_cached(
        "UPDATE entry SET form = ?2, form_learned = ?3
         WHERE seq = ?1 AND (form IS NOT ?2 OR form_learned <> ?3)",
    )?
    .execute(params![seq, form.map(|form| form.0), form.is_some_and(|form| form.1)])?;
    Ok(())
}

/// The active copies of the form of the entry with key `seq`; `None` where it is of no fixed form.
pub fn copies(connection: &Connection, seq: i64) -> Result<Option<Copies>> {
    let mut query = connection.prepare_cached(
        "SELECT e.form_learned, count(*), max(o.seq) = e.seq,
                max(o.protected OR o.kind IN ('decision', 'thought'))
         FROM entry e JOIN entry o ON o.form = e.form AND o.project IS e.project
         WHERE e.seq = ?1 AND o.state IN ('buffered', 'proven', 'routed')
         GROUP BY e.seq",
    )?;
    let mut rows = query.query([seq])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Copies {
        learned: row.get(0)?,
        count: row.get::<_, i64>(1)?.unsigned_abs(),
        newest: row.get(2)?,
        protected: row.get(3)?,
    }))
}
