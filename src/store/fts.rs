//! Search by words: the FTS5 table `term` over entries and chunks of documents.
//!
//! The table is derived: [`index_words`] fills it in the transaction that stores a text, triggers
//! empty it, [`rebuild_words`] makes it anew. Its tokenizer only splits at spaces; [`super::terms`]
//! decides what a word is.

use super::terms::{Term, terms_of};
use crate::error::Result;
use lifecycle_phases::{Kind, State};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// Something that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// The entry of this key.
    Entry(i64),
    /// The chunk of this key.
    Chunk(i64),
}

impl Item {
    /// Its row in the table `term`.
    pub fn rowid(self) -> i64 {
        match self {
            Self::Entry(seq) => seq * 2,
            Self::Chunk(seq) => seq * 2 + 1,
        }
    }

    /// What a row of the table `term` stands for.
    pub fn of_rowid(rowid: i64) -> Self {
        if rowid % 2 == 0 { Self::Entry(rowid / 2) } else { Self::Chunk(rowid / 2) }
    }
}

/// What a search looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only this project.
    pub project: Option<String>,
    /// Only entries of this kind.
    pub kind: Option<Kind>,
    /// Only entries in this state.
    pub state: Option<State>,
    /// Only documents that have all of these tags.
    pub tags: Vec<String>,
    /// Merged and expired entries too.
    pub all: bool,
}

impl Scope {
    /// Nearly everything that is stored is in it.
    pub fn is_wide(&self) -> bool {
        let Self { project, kind, state, tags, all: _ } = self;
        project.is_none() && kind.is_none() && state.is_none() && tags.is_empty()
    }
}

/// The condition on `entry e` under which an entry is looked at. A merged entry leaves search only
/// where the entry it lives on in exists.
pub(super) const ENTRY_IN_SCOPE: &str = "
    (:project IS NULL OR e.project = :project) AND (:kind IS NULL OR e.kind = :kind)
    AND (:state IS NULL OR e.state = :state) AND :tags = '[]'
    AND (:all OR :state IS NOT NULL OR e.state IN ('buffered', 'proven', 'routed')
        OR (e.state = 'merged'
            AND NOT EXISTS (SELECT 1 FROM provenance v WHERE v.source = e.seq AND v.active)
            AND NOT EXISTS (SELECT 1 FROM entry p
                WHERE e.state_reason = 'merged into ' || p.id)))";

/// The condition on `document d` under which its chunks are looked at.
pub(super) const DOCUMENT_IN_SCOPE: &str = "
    (:project IS NULL OR d.project = :project) AND :kind IS NULL AND :state IS NULL AND :all IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM json_each(:tags) w
        WHERE w.value NOT IN (SELECT value FROM json_each(d.tags)))";

/// Values of the named parameters of a scope.
pub(super) struct ScopeValues {
    project: Option<String>,
    kind: Option<&'static str>,
    state: Option<&'static str>,
    tags: String,
    all: bool,
}

impl ScopeValues {
    pub(super) fn of(scope: &Scope) -> Self {
        Self {
            project: scope.project.clone(),
            kind: scope.kind.map(Kind::as_str),
            state: scope.state.map(State::as_str),
            tags: serde_json::json!(scope.tags).to_string(),
            all: scope.all,
        }
    }

    pub(super) fn named(&self) -> [(&'static str, &dyn rusqlite::ToSql); 5] {
        [
            (":project", &self.project),
            (":kind", &self.kind),
            (":state", &self.state),
            (":tags", &self.tags),
            (":all", &self.all),
        ]
    }
}

/// A text found by words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordHit {
    /// What was found.
    pub item: Item,
    /// BM25 (k1 1.2, b 0.75, as FTS5 computes it), larger is better.
    pub score: f64,
}

/// Puts the words of a stored text into the table.
pub fn index_words(tx: &Transaction<'_>, item: Item, title: &str, text: &str) -> Result<()> {
    let words = |text: &str| terms_of(text).join(" ");
    tx.prepare_cached("INSERT INTO term (rowid, title, body) VALUES (?1, ?2, ?3)")?
        .execute(params![item.rowid(), words(title), words(text)])?;
    Ok(())
}

/// Makes the whole table anew from entries and chunks.
pub fn rebuild_words(tx: &Transaction<'_>) -> Result<()> {
    tx.execute_batch("INSERT INTO term (term) VALUES ('delete-all')")?;
    let texts = "SELECT seq * 2, coalesce(title, ''), text FROM entry
                 UNION ALL SELECT seq * 2 + 1, heading, text FROM chunk";
    let mut statement = tx.prepare(texts)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (title, text): (String, String) = (row.get(1)?, row.get(2)?);
        index_words(tx, Item::of_rowid(row.get(0)?), &title, &text)?;
    }
    Ok(())
}

/// The best `limit` texts that have any of `terms`, best first.
///
/// FTS5 sorts by itself and hands texts out one by one, so that the scope is looked at only until
/// there are enough.
pub fn search_words(
    connection: &Connection,
    terms: &[Term],
    scope: &Scope,
    limit: usize,
) -> Result<Vec<WordHit>> {
    let kept = affordable(connection, terms)?;
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT t.rowid, -t.rank FROM term t
         WHERE term MATCH :words AND CASE t.rowid % 2
             WHEN 0 THEN EXISTS (SELECT 1 FROM entry e
                 WHERE e.seq = t.rowid / 2 AND {ENTRY_IN_SCOPE})
             ELSE EXISTS (SELECT 1 FROM chunk c JOIN document d ON d.seq = c.document
                 WHERE c.seq = t.rowid / 2 AND {DOCUMENT_IN_SCOPE}) END
         ORDER BY t.rank LIMIT :limit"
    );
    let (words, limit) = (any_of(&kept), i64::try_from(limit).unwrap_or(i64::MAX));
    let values = ScopeValues::of(scope);
    let mut named = values.named().to_vec();
    named.extend([(":words", &words as &dyn rusqlite::ToSql), (":limit", &limit)]);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(named.as_slice(), |row| {
        Ok(WordHit { item: Item::of_rowid(row.get(0)?), score: row.get(1)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Texts that the words of a query may have together before its commonest words are left out. Every
/// one of them is scored, about a thousand a millisecond, and the commonest words add next to nothing
/// to a score; what is found is compared with the whole query afterwards.
const MOST_TEXTS: i64 = 4_000;

/// The rarest words of the query, as many as [`MOST_TEXTS`] allows and at least one. A word that no
/// text has is replaced by the stored words nearest to it.
fn affordable(connection: &Connection, terms: &[Term]) -> Result<Vec<Term>> {
    let mut count = connection.prepare_cached("SELECT doc FROM term_row WHERE term = ?1")?;
    let mut counted: Vec<(i64, Term)> = Vec::new();
    let mut unknown = 0;
    for term in terms {
        let texts: i64 = count.query_row([&term.word], |row| row.get(0)).optional()?.unwrap_or(0);
        if texts > 0 || term.prefix {
            counted.push((texts, term.clone()));
        } else if unknown < MOST_UNKNOWN {
            unknown += 1;
            counted.extend(nearest_words(connection, &term.word)?);
        }
    }
    counted.sort_by_key(|(texts, _)| *texts);
    let mut sum = 0;
    let within = |(texts, _): &(i64, Term)| {
        sum += texts;
        sum <= MOST_TEXTS || sum == *texts
    };
    Ok(counted.into_iter().take_while(within).map(|(_, term)| term).collect())
}

/// Words of a query that no text has and that are still followed up.
const MOST_UNKNOWN: usize = 6;
/// Stored words that stand for one of them.
const NEAREST: usize = 3;
/// Letters that are compared at all; shorter words are near to too many.
const SHORTEST: usize = 4;

/// The stored words nearest to one that no text has, with the texts they have: a slip of one letter,
/// of two in a long word, or the start of a compound (`Funktion`, `Funktionsaufruf`). The first two
/// letters must agree, so that few are compared.
fn nearest_words(connection: &Connection, word: &str) -> Result<Vec<(i64, Term)>> {
    let letters = word.chars().count();
    if letters < SHORTEST || !word.chars().all(char::is_alphabetic) {
        return Ok(Vec::new());
    }
    let start: String = word.chars().take(2).collect();
    let mut words = connection
        .prepare_cached("SELECT term, doc FROM term_row WHERE term >= ?1 AND term < ?2")?;
    let rows = words.query_map([&start, &format!("{start}\u{10ffff}")], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let mut near: Vec<(usize, i64, String)> = Vec::new();
    for row in rows {
        let (other, texts) = row?;
        if let Some(distance) = distance(word, letters, &other) {
            near.push((distance, -texts, other));
        }
    }
    near.sort();
    near.truncate(NEAREST);
    Ok(near.into_iter().map(|(_, texts, word)| (-texts, Term { word, prefix: false })).collect())
}

/// How far `other` is from `word`, if it is near.
fn distance(word: &str, letters: usize, other: &str) -> Option<usize> {
    if !other.chars().all(char::is_alphabetic) {
        return None;
    }
    let most = if letters < 2 * SHORTEST { 1 } else { 2 };
    let length = other.chars().count();
    let slips = (length.abs_diff(letters) <= most).then(|| strsim::osa_distance(word, other));
    let is_start = other.starts_with(word) || (length > SHORTEST && word.starts_with(other));
    slips.filter(|slips| *slips <= most).or(is_start.then_some(most + 1))
}

/// An FTS5 expression for any of the words; each is quoted, so nothing in it is syntax.
fn any_of(terms: &[Term]) -> String {
    let quoted = |term: &Term| {
        format!("\"{}\"{}", term.word.replace('"', "\"\""), if term.prefix { " *" } else { "" })
    };
    terms.iter().map(quoted).collect::<Vec<_>>().join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_compounds_are_near_and_other_words_are_not() {
        let near = |word: &str, other| distance(word, word.chars().count(), other).is_some();
        assert!(near("harbur", "harbor") && near("hrabor", "harbor"));
        assert!(near("funktion", "funktionsaufruf") && near("funktionsaufruf", "funktion"));
        assert!(near("konfigruation", "konfiguration"));
        assert!(!near("harbor", "harvest") && !near("port", "part2") && !near("ports", "po"));
    }
}
