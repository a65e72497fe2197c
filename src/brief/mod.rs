//! The briefing: what an assistant should know of a project at the start of a session, or when the
//! subject changes.
//!
//! Made from the store alone, without a model: the words at hand (branch, prompt) find entries, the
//! stored vectors of those find their neighbours, [`lifecycle_phases::brief`] ranks and fits them
//! into a budget. The text stands between `<lifecycle-memory>` marks, by which everything that reads
//! conversations knows it as ours: nothing in it is learned again.

pub mod hook;
mod text;

use crate::clock::format_time;
use crate::error::Result;
use crate::store::{self, Item, Scope, StoredEntry};
use lifecycle_phases::brief::{Candidate, choose, is_shown};
use lifecycle_phases::recall::Recalled;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Entries of each sort that are looked at: the newest ones, the newest proven ones.
const LOOKED_AT: usize = 400;

/// Entries that a search by words brings in.
const HITS: usize = 60;

/// Best matches whose neighbours are looked for.
const SEEDS: usize = 5;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Canonical root of the project; none: what belongs to no project.
    pub project: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// What the user has just asked for.
    pub prompt: Option<String>,
    /// Budget in tokens, estimated on the safe side.
    pub tokens: usize,
    /// Entries that are not shown again.
    pub shown: BTreeSet<String>,
    /// Show only entries that match the words at least so well; 0: everything is shown.
    pub least_score: f64,
}

/// An entry that is shown.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The entry.
    pub stored: StoredEntry,
    /// How well its words match those at hand, 0 to 1.
    pub matched: f64,
    /// What ranked it.
    pub rank: f64,
}

/// A briefing.
#[derive(Clone, Debug, Default)]
pub struct Briefing {
    /// The text with its marks; empty where there is nothing to say.
    pub text: String,
    /// The entries in it, best first.
    pub facts: Vec<Fact>,
    /// Entries that could have been shown, had there been room.
    pub left_out: usize,
}

impl Briefing {
    /// What was recalled by being shown to `session`.
    pub fn recalled(&self, session: &str, now: i64) -> Vec<Recalled> {
        let matching = self.facts.iter().filter(|fact| fact.matched > 0.0);
        matching
            .map(|fact| Recalled {
                entry: fact.stored.entry.id.clone(),
                score: fact.matched,
                session: session.to_string(),
                when: now,
            })
            .collect()
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        let facts = self.facts.iter().map(|fact| {
            let entry = &fact.stored.entry;
            json!({
                "id": entry.id, "kind": entry.kind, "state": entry.state, "text": entry.text,
                "project": entry.project, "created": format_time(entry.created),
                "origin": entry.source.origin(), "matched": round(fact.matched),
                "rank": round(fact.rank),
            })
        });
        json!({
            "text": self.text, "entries": self.facts.len(), "left_out": self.left_out,
            "facts": facts.collect::<Vec<_>>(),
        })
    }
}

fn round(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Makes a briefing.
pub fn compose(connection: &Connection, request: &Request, now: i64) -> Result<Briefing> {
    let mut entries: BTreeMap<i64, StoredEntry> = BTreeMap::new();
    let newest = store::briefing_candidates(connection, request.project.as_deref(), LOOKED_AT)?;
    entries.extend(newest.into_iter().map(|stored| (stored.seq, stored)));
    let words = Words::of(connection, request)?;
    for stored in words.hits(connection, request.project.as_deref())? {
        entries.insert(stored.seq, stored);
    }
    entries.retain(|_, stored| {
        is_shown(&stored.entry) && !request.shown.contains(stored.entry.id.as_str())
    });
    let entries: Vec<StoredEntry> = entries.into_values().collect();
    let matched: Vec<f64> = entries.iter().map(|stored| words.matched(stored)).collect();
    let near = near(connection, &entries, &matched)?;
    let lines: Vec<String> = entries.iter().map(text::line).collect();
    let candidates: Vec<Candidate<'_>> = (0..entries.len())
        .filter(|&at| request.least_score <= 0.0 || matched[at] >= request.least_score)
        .map(|at| Candidate {
            entry: &entries[at].entry,
            matched: matched[at],
            near: near[at],
            tokens: text::tokens(&lines[at]),
        })
        .collect();
    let places: BTreeMap<&str, usize> =
        entries.iter().enumerate().map(|(at, stored)| (stored.entry.id.as_str(), at)).collect();
    let chosen = choose(&candidates, now, request.tokens.saturating_sub(text::frame_tokens()));
    let facts: Vec<Fact> = chosen
        .iter()
        .map(|one| {
            let at = places[candidates[one.at].entry.id.as_str()];
            Fact { stored: entries[at].clone(), matched: matched[at], rank: one.rank }
        })
        .collect();
    let text = text::whole(facts.iter().map(|fact| text::line(&fact.stored)));
    Ok(Briefing { left_out: candidates.len() - facts.len(), text, facts })
}

/// The words at hand with their weights: rare words say more.
struct Words {
    weights: BTreeMap<String, f64>,
    terms: Vec<store::Term>,
}

/// Parts of branch names that say nothing about the subject.
const BRANCH_WORDS: &[&str] = &[
    "main", "master", "develop", "dev", "trunk", "head", "feature", "feat", "fix", "bugfix",
    "hotfix", "chore", "release", "wip", "test", "branch", "refactor", "docs", "and", "the", "for",
];

/// Share of the weight of all words at which a match is whole: nobody repeats a whole prompt.
const WHOLE: f64 = 0.5;

impl Words {
    fn of(connection: &Connection, request: &Request) -> Result<Self> {
        let branch = request.branch.as_deref().unwrap_or("");
        let branch: Vec<&str> = branch
            .split(|ch: char| !ch.is_alphanumeric())
            .filter(|word| word.len() > 2 && !BRANCH_WORDS.contains(&&*word.to_lowercase()))
            .collect();
        let prompt = request.prompt.as_deref().unwrap_or("");
        let terms = store::query_terms(&format!("{} {prompt}", branch.join(" ")));
        let (total, counts) = store::word_counts(connection, &terms)?;
        #[allow(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
        let weight = |count: i64| (1.0 + total as f64 / (1.0 + count as f64)).ln();
        let weights =
            terms.iter().zip(counts).map(|(term, count)| (term.word.clone(), weight(count)));
        Ok(Self { weights: weights.collect(), terms })
    }

    fn hits(&self, connection: &Connection, project: Option<&str>) -> Result<Vec<StoredEntry>> {
        if self.terms.is_empty() || project.is_none() {
            return Ok(Vec::new());
        }
        let scope = Scope { project: project.map(str::to_string), ..Scope::default() };
        let mut found = Vec::new();
        for hit in store::search_words(connection, &self.terms, &scope, HITS)? {
            if let Item::Entry(seq) = hit.item {
                found.extend(store::entry_by_seq(connection, seq)?);
            }
        }
        Ok(found)
    }

    /// How well an entry matches, 0 to 1. One common word of many is no match.
    fn matched(&self, stored: &StoredEntry) -> f64 {
        let title = stored.entry.title.as_deref().unwrap_or("");
        let has: BTreeSet<String> =
            store::terms_of(&format!("{title}\n{}", stored.entry.text)).into_iter().collect();
        let met: Vec<f64> = self
            .weights
            .iter()
            .filter(|(word, _)| has.contains(*word))
            .map(|(_, weight)| *weight)
            .collect();
        let all: f64 = self.weights.values().sum();
        if met.is_empty() || (met.len() < 2 && self.weights.len() > 2) {
            return 0.0;
        }
        (met.iter().sum::<f64>() / (all * WHOLE)).min(1.0)
    }
}

/// How near each entry lies to the best matches, by stored vectors; 0 where there are none.
fn near(connection: &Connection, entries: &[StoredEntry], matched: &[f64]) -> Result<Vec<f64>> {
    let nothing = vec![0.0; entries.len()];
    let mut best: Vec<usize> = (0..entries.len()).filter(|&at| matched[at] >= 0.3).collect();
    best.sort_by(|a, b| matched[*b].total_cmp(&matched[*a]));
    best.truncate(SEEDS);
    let Some(descriptor) = store::common_descriptor(connection)?.filter(|_| !best.is_empty())
    else {
        return Ok(nothing);
    };
    let vector = |at: usize| -> Result<Option<Vec<f32>>> {
        let bytes = store::vector_of(connection, &descriptor, Item::Entry(entries[at].seq))?;
        Ok(bytes.map(|bytes| numbers(&bytes)))
    };
    let mut centre: Vec<f32> = Vec::new();
    for at in best {
        let Some(one) = vector(at)? else { continue };
        centre.resize(one.len().max(centre.len()), 0.0);
        centre.iter_mut().zip(&one).for_each(|(sum, value)| *sum += value);
    }
    let length = centre.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length <= f32::EPSILON {
        return Ok(nothing);
    }
    (0..entries.len())
        .map(|at| {
            let cosine = vector(at)?.map_or(0.0, |one| {
                one.iter().zip(&centre).map(|(x, y)| x * y).sum::<f32>() / length
            });
            // Texts of one project are rarely below 0.2; at 0.8 they speak of the same.
            Ok(f64::from(((cosine - 0.2) / 0.6).clamp(0.0, 1.0)))
        })
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}
