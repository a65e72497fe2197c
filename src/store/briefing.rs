//! What a briefing reads.

use super::entries::{COLUMNS, StoredEntry, from_row};
use super::terms::Term;
use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, params};

/// The newest active entries of a project, its newest proven ones, and the newest proven ones that
/// belong to no project; `limit` of each at most.
pub fn briefing_candidates(
    connection: &Connection,
    project: Option<&str>,
    limit: usize,
) -> Result<Vec<StoredEntry>> {
    let active = "state IN ('buffered', 'proven', 'routed')";
    let proven = "state IN ('proven', 'routed')";
    let parts = [
        format!("project IS ?1 AND {active}"),
        format!("project IS ?1 AND {proven}"),
        format!("project IS NULL AND {proven}"),
    ];
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for condition in parts {
        let sql = format!(
            "SELECT {COLUMNS} FROM entry WHERE {condition} ORDER BY seq DESC LIMIT {limit}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let count = statement.parameter_count();
        let values = params![project];
        let rows = if count == 0 {
            statement.query_map([], from_row)?.collect::<rusqlite::Result<Vec<_>>>()?
        } else {
            statement.query_map(values, from_row)?.collect::<rusqlite::Result<Vec<_>>>()?
        };
        found.extend(rows);
    }
    Ok(found)
}

/// How many texts there are, and in how many of them each word is.
pub fn word_counts(connection: &Connection, terms: &[Term]) -> Result<(i64, Vec<i64>)> {
    let total: i64 = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM entry")?
        .query_row([], |row| row.get(0))?;
    let mut count = connection.prepare_cached("SELECT doc FROM term_row WHERE term = ?1")?;
    let counts = terms
        .iter()
        .map(|term| Ok(count.query_row([&term.word], |row| row.get(0)).optional()?.unwrap_or(0)))
        .collect::<Result<_>>()?;
    Ok((total, counts))
}

/// The descriptor of the newest vectors, if there are any.
pub fn common_descriptor(connection: &Connection) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached(
            "SELECT connected FROM entry WHERE connected IS NOT NULL ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()?)
}
