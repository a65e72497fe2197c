//! Ranked candidates become hits with text.

use super::snippet::excerpt;
use super::{Answer, Excerpt, Explanation, Query, Ranked};
use crate::clock::format_time;
use crate::config::SearchSettings;
use crate::error::Result;
use crate::store::{self, Found, StoredEntry, Term};
use lifecycle_phases::EntryId;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One hit.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The entry, or the piece of a document.
    pub found: Found,
    /// What of its text is shown.
    pub excerpt: Excerpt,
    /// How its score came about.
    pub explanation: Explanation,
    /// Words of the query that it has.
    pub words: Vec<String>,
    /// The entry in which a merged one lives on.
    pub successor: Option<EntryId>,
    /// The entries that a proven one was made from.
    pub sources: Vec<EntryId>,
}

/// A score that is shown as 0.000. Such hits come back only where there is no better one.
const NOTHING: f64 = 0.0005;

/// Reads the best `k`, at most `search.chunks_per_document` pieces of one document.
pub(super) fn collect(
    connection: &Connection,
    ranked: &[Ranked],
    settings: &SearchSettings,
    query: &Query,
    terms: &[Term],
) -> Result<Vec<Hit>> {
    let most = query.k.min(settings.max_results);
    let mut of_document: BTreeMap<String, usize> = BTreeMap::new();
    let mut hits = Vec::new();
    let has_better = ranked.iter().any(|ranked| ranked.explanation.score >= NOTHING);
    for Ranked { item, explanation } in ranked {
        let is_nothing = explanation.score < NOTHING && has_better;
        if hits.len() == most || explanation.score < settings.least_score || is_nothing {
            break;
        }
        let Some(found) = store::found(connection, *item)? else { continue };
        if let Found::Chunk(chunk) = &found {
            let count = of_document.entry(chunk.document.clone()).or_default();
            *count += 1;
            if *count > settings.chunks_per_document {
                continue;
            }
        }
        hits.push(hit(connection, found, *explanation, settings, terms)?);
    }
    Ok(hits)
}

fn hit(
    connection: &Connection,
    found: Found,
    explanation: Explanation,
    settings: &SearchSettings,
    terms: &[Term],
) -> Result<Hit> {
    let (successor, sources) = match &found {
        Found::Entry(stored) => {
            (store::successor(connection, stored)?, store::sources(connection, stored.seq)?)
        }
        Found::Chunk(_) => (None, Vec::new()),
    };
    let text = match &found {
        Found::Entry(stored) => &stored.entry.text,
        Found::Chunk(chunk) => &chunk.text,
    };
    let excerpt = excerpt(text, terms, settings.whole_chars, settings.snippet_chars);
    let has = store::terms_of(&found.searched_text());
    let words = terms.iter().map(|term| term.word.clone()).filter(|word| has.contains(word));
    Ok(Hit { words: words.collect(), found, excerpt, explanation, successor, sources })
}

impl Hit {
    /// The id that `show` and the MCP tool `get` take.
    pub fn id(&self) -> String {
        match &self.found {
            Found::Entry(stored) => stored.entry.id.to_string(),
            Found::Chunk(chunk) => format!("{}#{}", chunk.document, chunk.n),
        }
    }

    /// The hit as programs get it; times are UTC text. Scores of the parts with `explain`.
    pub fn as_json(&self, explain: bool) -> Value {
        let mut value = match &self.found {
            Found::Entry(stored) => entry_json(stored),
            Found::Chunk(chunk) => json!({
                "type": "document", "document": chunk.document, "chunk": chunk.n,
                "title": chunk.title, "heading": chunk.heading, "source": chunk.source,
                "project": chunk.project, "created": format_time(chunk.created),
            }),
        };
        value["id"] = json!(self.id());
        value["text"] = json!(self.excerpt.text);
        value["truncated"] = json!(self.excerpt.truncated);
        value["score"] = json!(rounded(self.explanation.score));
        if let Some(successor) = &self.successor {
            value["lives_on_in"] = json!(successor);
        }
        if !self.sources.is_empty() {
            value["made_from"] = json!(self.sources);
        }
        if explain {
            value["explanation"] = json!(self.explanation);
            value["explanation"]["words"] = json!(self.words);
        }
        value
    }
}

fn entry_json(stored: &StoredEntry) -> Value {
    let entry = &stored.entry;
    json!({
        "type": "entry", "title": entry.title, "project": entry.project,
        "kind": entry.kind, "state": entry.state, "created": format_time(entry.created),
        "active": entry.state.is_active(),
    })
}

/// Four places are enough for people, and keep output the same on every machine.
fn rounded(score: f64) -> f64 {
    (score * 1e4).round() / 1e4
}

/// The answer as programs get it.
pub fn answer_json(answer: &Answer, explain: bool) -> Value {
    json!({
        "results": answer.hits.iter().map(|hit| hit.as_json(explain)).collect::<Vec<_>>(),
        "mode": answer.mode,
        "reranked_by": answer.reranked_by,
        "notes": answer.notes,
        "not_embedded": answer.not_embedded,
    })
}
