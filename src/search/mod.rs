//! Search over entries and documents: meaning and words, fused.
//!
//! - **dense**: the cosine of the query's vector with every stored vector in scope, an exact scan;
//! - **lexical**: BM25 over words, identifiers and their parts ([`crate::store::search_words`]);
//! - both bring candidates, each of which gets both scores: its words are compared with the query
//!   anew and finer ([`rescore`]), its vector is compared with the query's;
//! - **fused**: a weighted sum of both scores, each on a scale of its own query ([`fuse`]);
//! - **reranked**, where a cross-encoder is set: the best of them are read together with the query
//!   ([`rerank`]).
//!
//! A search is a read: it writes nothing, starts no tick and counts no recall. It works by words
//! alone where nothing is embedded or the model cannot be used, and then says so in
//! [`Answer::notes`]. Filters act inside both parts, so `k` hits come back where there are `k`. Hits with a
//! score of zero are left out where there are others.

mod dense;
mod fuse;
mod hit;
mod rerank;
mod rescore;
mod snippet;
mod warm;

pub use fuse::{Explanation, Part};
pub use hit::{Hit, answer_json};
pub use snippet::{Excerpt, one_paragraph};
pub use warm::WarmVectors;

use crate::capture::project::project_of;
use crate::config::SearchSettings;
use crate::embed::{Embedder, Reranker, Role, embed_one};
use crate::error::{Error, Result};
use crate::store::{self, Item, Scope, Term, WordHit};
use dense::DenseHit;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, btree_map};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Query {
    /// Words of the user; nothing in them is syntax.
    pub text: String,
    /// What is looked at.
    pub scope: Scope,
    /// The most hits that come back; capped by `search.max_results`.
    pub k: usize,
    /// Which parts take part.
    pub mode: Mode,
}

/// Which parts of the search take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Meaning and words.
    Hybrid,
    /// Words alone.
    Lexical,
    /// Meaning alone.
    Dense,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Which parts took part in the end.
    pub mode: Mode,
    /// The cross-encoder that ordered the best hits; none where none is set or it failed.
    pub reranked_by: Option<String>,
    /// What the reader should know, such as why meaning did not take part.
    pub notes: Vec<String>,
    /// Texts in scope that have no vector; not counted where vectors are kept in memory, since
    /// counting would take longer than searching.
    pub not_embedded: Option<u64>,
}

/// A candidate with its place in each part.
#[derive(Clone, Debug)]
struct Ranked {
    item: Item,
    explanation: Explanation,
}

/// The models that a search may use.
pub struct Models<'a> {
    /// An error where the settings name no usable model; that, and any failure to embed the query,
    /// leads to a search by words with a note.
    pub embedder: Result<&'a dyn Embedder, &'a Error>,
    /// Vectors that the process kept in memory. They must be current.
    pub warm: Option<&'a WarmVectors>,
    /// Reads the best hits together with the query. A failure leaves the fused order, with a note.
    pub reranker: Option<&'a dyn Reranker>,
}

impl<'a> Models<'a> {
    /// An embedder alone.
    pub fn of(embedder: Result<&'a dyn Embedder, &'a Error>) -> Self {
        Self { embedder, warm: None, reranker: None }
    }
}

/// Searches.
pub fn search(
    connection: &Connection,
    models: &Models<'_>,
    settings: &SearchSettings,
    query: &Query,
) -> Result<Answer> {
    if query.text.trim().is_empty() {
        return Err(Error::input("the search is empty").hint("give some words to look for"));
    }
    let text = query.text.get(..query.text.floor_char_boundary(LONGEST_QUERY)).unwrap_or_default();
    let is_cut = text.len() < query.text.len();
    let query = &Query { text: text.to_string(), ..query.clone() };
    let terms = store::query_terms(&query.text);
    let mut answer = Answer {
        hits: Vec::new(),
        mode: query.mode,
        reranked_by: None,
        notes: Vec::new(),
        not_embedded: None,
    };
    if is_cut {
        answer.notes.push(format!("of the query the first {LONGEST_QUERY} bytes were looked for"));
    }
    let vector = query_vector(connection, models, query, &mut answer)?;
    // One view of the store for all that follows, and its lock taken once; begun after the model had
    // its time, so that no writer waits for it.
    let _view =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let dense = match &vector {
        Some(vector) => dense(connection, vector, settings, query, models.warm)?,
        None => Vec::new(),
    };
    let mut candidates = rank(connection, vector.as_ref(), dense, settings, query, &terms)?;
    if let Some(reranker) = models.reranker {
        rerank::rerank(reranker, &query.text, &mut candidates, settings, &mut answer);
    }
    answer.hits = hit::collect(connection, &candidates.ranked, settings, query, &terms)?;
    Ok(answer)
}

/// Longest query that is looked for, in bytes: more than any question has, and each further word
/// costs a look into the index.
const LONGEST_QUERY: usize = 2_000;

/// A query's vector and whose it is.
struct QueryVector {
    vector: Vec<f32>,
    descriptor: String,
    /// Mean cosine of unrelated texts under this model.
    unrelated: f32,
}

/// The vector of the query, or `None` with the reason in the notes.
fn query_vector(
    connection: &Connection,
    models: &Models<'_>,
    query: &Query,
    answer: &mut Answer,
) -> Result<Option<QueryVector>> {
    if query.mode == Mode::Lexical {
        return Ok(None);
    }
    let embedder = match models.embedder {
        Ok(embedder) => embedder,
        Err(error) => return Ok(by_words(answer, &error.message)),
    };
    let descriptor = embedder.descriptor().id();
    if models.warm.is_none_or(WarmVectors::is_empty) {
        let (total, embedded) = store::coverage(connection, &descriptor, &query.scope)?;
        answer.not_embedded = Some(total - embedded);
        if embedded == 0 {
            let why = if total == 0 { "nothing is in scope" } else { "nothing is embedded yet" };
            return Ok(by_words(answer, why));
        }
    }
    match embed_one(embedder, &query.text, Role::Query) {
        Ok(vector) => {
            let unrelated = embedder.descriptor().calibration.mean;
            Ok(Some(QueryVector { vector, descriptor, unrelated }))
        }
        Err(error) => Ok(by_words(answer, &error.to_string())),
    }
}

fn by_words(answer: &mut Answer, why: &str) -> Option<QueryVector> {
    answer.mode = Mode::Lexical;
    answer.notes.push(format!("searched by words only: {why}"));
    None
}

/// Candidates by meaning: from memory where that is enough, else from the store.
fn dense(
    connection: &Connection,
    query_vector: &QueryVector,
    settings: &SearchSettings,
    query: &Query,
    warm: Option<&WarmVectors>,
) -> Result<Vec<DenseHit>> {
    let QueryVector { vector, descriptor, .. } = query_vector;
    let most = settings.candidates;
    if let Some(warm) = warm
        && let Some(hits) = warm.scan(connection, vector, &query.scope, most)?
    {
        return Ok(hits);
    }
    dense::scan(connection, descriptor, vector, &query.scope, most)
}

/// Candidates, best first, with their texts.
struct Candidates {
    ranked: Vec<Ranked>,
    texts: BTreeMap<Item, String>,
}

/// Candidates of both parts, scored by both.
fn rank(
    connection: &Connection,
    vector: Option<&QueryVector>,
    mut dense: Vec<DenseHit>,
    settings: &SearchSettings,
    query: &Query,
    terms: &[Term],
) -> Result<Candidates> {
    let by_words = match query.mode {
        Mode::Dense if vector.is_some() => Vec::new(),
        _ => store::search_words(connection, terms, &query.scope, settings.candidates)?,
    };
    if let Some(vector) = vector {
        add_cosines(connection, vector, &by_words, &mut dense)?;
    }
    let texts = read(connection, &by_words, &dense)?;
    let lexical = if by_words.is_empty() { Vec::new() } else { words(&query.text, &texts) };
    let unrelated = vector.map_or(0.0, |vector| vector.unrelated);
    let mut ranked = fuse::fuse(&lexical, &dense, unrelated, settings.lexical_weight);
    ranked.retain(|candidate| texts.contains_key(&candidate.item));
    Ok(Candidates { ranked, texts })
}

/// Cosines of the candidates that only the words brought, so that none is ranked as if it meant
/// nothing.
fn add_cosines(
    connection: &Connection,
    query: &QueryVector,
    by_words: &[WordHit],
    dense: &mut Vec<DenseHit>,
) -> Result<()> {
    let known: BTreeSet<Item> = dense.iter().map(|hit| hit.item).collect();
    for hit in by_words.iter().filter(|hit| !known.contains(&hit.item)) {
        let bytes = store::vector_of(connection, &query.descriptor, hit.item)?;
        dense.extend(bytes.and_then(|bytes| DenseHit::of(hit.item, &query.vector, &bytes)));
    }
    dense.sort_by(DenseHit::best_first);
    Ok(())
}

/// The texts of all candidates.
fn read(
    connection: &Connection,
    lexical: &[WordHit],
    dense: &[DenseHit],
) -> Result<BTreeMap<Item, String>> {
    let items = lexical.iter().map(|hit| hit.item).chain(dense.iter().map(|hit| hit.item));
    let mut texts = BTreeMap::new();
    for item in items {
        if let btree_map::Entry::Vacant(place) = texts.entry(item)
            && let Some(text) = store::searched_text(connection, item)?
        {
            place.insert(text);
        }
    }
    Ok(texts)
}

/// All candidates that share a word or a piece of one with the query, best first.
fn words(query: &str, texts: &BTreeMap<Item, String>) -> Vec<WordHit> {
    let plain: Vec<&str> = texts.values().map(String::as_str).collect();
    let scores = rescore::rescore(query, &plain);
    let mut hits: Vec<WordHit> = texts
        .keys()
        .zip(scores)
        .filter(|(_, score)| *score > 0.0)
        .map(|(&item, score)| WordHit { item, score })
        .collect();
    hits.sort_by(|x, y| y.score.total_cmp(&x.score).then(y.item.rowid().cmp(&x.item.rowid())));
    hits
}

/// The name under which the project of a folder is stored; what is no folder is taken as a name.
pub fn project_name(folder: &str) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    project_of(absolute).unwrap_or_else(|| folder.to_string())
}
