//! Clusters that did not become proven entries, and what replies were worth.

use crate::error::Result;
use lifecycle_phases::consolidate::Decision;
use lifecycle_phases::step::ClusterOutcome;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::BTreeSet;

/// How a cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRow {
    /// Hash of the member ids.
    pub key: String,
    /// JSON array of entry ids.
    pub members: String,
    /// What came of it.
    pub outcome: ClusterOutcome,
    /// In words.
    pub reason: String,
    /// Failed attempts.
    pub attempts: u32,
    /// Not before (milliseconds UTC).
    pub next_try: Option<i64>,
    /// When it was last tried (milliseconds UTC).
    pub updated: i64,
    /// Models and prompt it was judged with.
    pub asked: String,
}

const COLUMNS: &str = "key, members, outcome, reason, attempts, next_try, updated, asked";

/// The row of a cluster.
pub fn cluster(connection: &Connection, key: &str) -> Result<Option<ClusterRow>> {
    let sql = format!("SELECT {COLUMNS} FROM cluster WHERE key = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([key], row).optional()?)
}

/// Every row, the last tried first.
pub fn clusters(connection: &Connection) -> Result<Vec<ClusterRow>> {
    let sql = format!("SELECT {COLUMNS} FROM cluster ORDER BY updated DESC, key");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Keys of the entries whose clusters wait for another try.
pub fn waiting_members(connection: &Connection) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT e.seq FROM cluster c, json_each(c.members) m JOIN entry e ON e.id = m.value
         WHERE c.outcome NOT IN ('conflict', 'undone') ORDER BY e.seq",
    )?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<ClusterRow> {
    let outcome: String = row.get(2)?;
    Ok(ClusterRow {
        key: row.get(0)?,
        members: row.get(1)?,
        outcome: ClusterOutcome::parse(&outcome).unwrap_or(ClusterOutcome::Failed),
        reason: row.get(3)?,
        attempts: row.get(4)?,
        next_try: row.get(5)?,
        updated: row.get(6)?,
        asked: row.get(7)?,
    })
}

/// Notes with which models and prompt a cluster was judged.
pub fn set_asked(tx: &Transaction<'_>, key: &str, asked: &str) -> Result<()> {
    tx.prepare_cached("UPDATE cluster SET asked = ?2 WHERE key = ?1")?.execute([key, asked])?;
    Ok(())
}

/// Forgets a cluster that became knowledge, and those whose members are gone from the active set.
pub fn forget_cluster(tx: &Transaction<'_>, key: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM cluster WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// Titles of the active entries of a project, in lower case.
pub fn titles(connection: &Connection, project: Option<&str>) -> Result<BTreeSet<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT title FROM entry
         WHERE title IS NOT NULL AND project IS ?1 AND state IN ('proven', 'routed')",
    )?;
    let rows = statement.query_map([project], |row| row.get::<_, String>(0))?;
    let titles: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(titles.into_iter().map(|title| title.to_lowercase()).collect())
}

/// Titles of the active entries of a project, observations included, in lower case.
pub fn all_titles(connection: &Connection, project: Option<&str>) -> Result<BTreeSet<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT title FROM entry
         WHERE title IS NOT NULL AND project IS ?1 AND state IN ('buffered', 'proven', 'routed')",
    )?;
    let rows = statement.query_map([project], |row| row.get::<_, String>(0))?;
    let titles: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(titles.into_iter().map(|title| title.to_lowercase()).collect())
}

/// What one reply was worth.
#[derive(Clone, Debug, Default)]
pub struct QualityRow<'a> {
    /// Ledger id; `None` for extractive.
    pub call: Option<i64>,
    /// Milliseconds UTC.
    pub at: i64,
    /// The user's name for the provider.
    pub provider: &'a str,
    /// The model as the reply names it.
    pub model: &'a str,
    /// Name of the cluster.
    pub cluster: &'a str,
    /// Proven entries made of it.
    pub accepted: usize,
    /// Names of what was refused.
    pub refused: &'a [&'static str],
    /// Share of the facts that the text itself kept.
    pub coverage: Option<f64>,
    /// Sentences quoted from the sources.
    pub quoted: usize,
    /// Kinds that do not exist.
    pub bad_kinds: usize,
    /// Speaks of the user although no user spoke.
    pub bad_attribution: bool,
    /// A title that another entry has.
    pub duplicate_title: bool,
    /// No file.
    pub no_file: bool,
    /// Whether a reason survived.
    pub kept_reason: Option<bool>,
    /// Characters of the sources and of the text.
    pub chars: (usize, usize),
    /// Hash of the text.
    pub text_hash: &'a str,
    /// `merge` or `observe`.
    pub purpose: &'a str,
}

impl<'a> QualityRow<'a> {
    /// What the reply for a merge came to; who wrote it, when and for what is the caller's.
    pub fn of(decision: &'a Decision) -> Self {
        let measures = &decision.measures;
        Self {
            accepted: decision.drafts.len(),
            refused: &measures.refused,
            coverage: measures.coverage,
            quoted: decision.drafts.iter().map(|draft| draft.quoted).sum(),
            bad_kinds: measures.bad_kinds,
            bad_attribution: measures.bad_attribution,
            duplicate_title: measures.duplicate_title,
            no_file: measures.no_file,
            kept_reason: measures.kept_reason,
            chars: measures.chars,
            purpose: "merge",
            ..Self::default()
        }
    }
}

/// Records what a reply was worth.
pub fn insert_quality(tx: &Transaction<'_>, row: &QualityRow<'_>) -> Result<()> {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    tx.prepare_cached(
        "INSERT INTO quality (call, at, provider, model, cluster, accepted, refused, coverage,
             quoted, bad_kinds, bad_attribution, duplicate_title, no_file, kept_reason, chars_in,
             chars_out, text_hash, purpose)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?
    .execute(params![
        row.call,
        row.at,
        row.provider,
        row.model,
        row.cluster,
        count(row.accepted),
        serde_json::to_string(row.refused)?,
        row.coverage,
        count(row.quoted),
        count(row.bad_kinds),
        row.bad_attribution,
        row.duplicate_title,
        row.no_file,
        row.kept_reason,
        count(row.chars.0),
        count(row.chars.1),
        row.text_hash,
        row.purpose,
    ])?;
    Ok(())
}
