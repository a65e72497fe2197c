//! `lifecycle eval recall`: does a search over merged entries still find what one over their
//! sources found?
//!
//! Probes are made from the store, so nothing has to be labelled: for each sentence that a merge
//! was made of, still holds, and states a fact, the question is the sentence without its facts. It
//! counts as found where one of the first k texts states all of them. The same probes are asked of
//! the sources, as if nothing had been merged, and of the entries that a search sees now.

use super::print_figures;
use crate::cli::Session;
use crate::embed::{Role, embed_one};
use crate::error::{Error, ExitCode, Result};
use crate::store::{self, Filter, Item, Store, StoredEntry};
use crate::tick::{consolidate, serving};
use clap::Args;
use lifecycle_phases::consolidate::{Cluster, facts::Facts, prepare};
use lifecycle_phases::{Channel, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Options of `eval recall`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle eval recall
  lifecycle eval recall --k 10 --json")]
pub struct RecallArgs {
    /// How many texts are looked at
    #[arg(long, default_value_t = 5)]
    k: usize,
}

/// A question and the facts that answer it.
struct Probe {
    model: String,
    project: Option<String>,
    question: String,
    facts: Facts,
}

/// A text that can be found.
struct Text {
    project: Option<String>,
    facts: Facts,
    vector: Vec<f32>,
}

/// Measures and prints.
pub fn run(session: &Session, args: &RecallArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let embedder = serving::open(store.reader(), &session.settings, &session.paths)?;
    let descriptor = embedder.descriptor().id();
    let all = store::list(store.reader(), &Filter { all: true, ..Filter::default() })?;
    let probes = probes(&store, &all)?;
    if probes.is_empty() {
        return Err(Error::input("nothing was merged yet, so there is nothing to compare")
            .hint("run a tick first"));
    }
    let texts = |wanted: &dyn Fn(&StoredEntry) -> bool| -> Result<Vec<Text>> {
        let chosen = all.iter().filter(|stored| wanted(stored));
        chosen.filter_map(|stored| text(&store, &descriptor, stored).transpose()).collect()
    };
    let sources = texts(&|stored| {
        stored.entry.source.channel != Channel::Tick && stored.entry.state != State::Expired
    })?;
    let merged = texts(&|stored| stored.entry.state.is_active())?;
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for probe in &probes {
        let vector = embed_one(&*embedder, &probe.question, Role::Query)
            .map_err(|error| Error::input(format!("a probe cannot be embedded: {error}")))?;
        let count = counts.entry(&probe.model).or_default();
        count[0] += 1;
        count[1] += usize::from(finds(probe, &vector, &sources, args.k));
        count[2] += usize::from(finds(probe, &vector, &merged, args.k));
    }
    print_figures(session, &figures(&counts, args.k))?;
    Ok(ExitCode::Success)
}

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn figures(counts: &BTreeMap<&str, [usize; 3]>, k: usize) -> Vec<(String, Value)> {
    let mut figures = Vec::new();
    for (model, [n, sources, merged]) in counts {
        let share = |count: &usize| *count as f64 / (*n).max(1) as f64;
        figures.push((format!("{model}: probes"), json!(n)));
        figures.push((format!("{model}: recall@{k} over sources"), json!(share(sources))));
        figures.push((format!("{model}: recall@{k} over merged"), json!(share(merged))));
    }
    figures
}

fn probes(store: &Store, all: &[StoredEntry]) -> Result<Vec<Probe>> {
    let mut probes = Vec::new();
    let merges = all.iter().filter(|one| matches!(one.entry.state, State::Proven | State::Routed));
    for proven in merges {
        let members = consolidate::originals(store.reader(), proven)?;
        let model = proven.entry.generated_by.clone().unwrap_or_default();
        let prepared = prepare(&Cluster { members, ..Cluster::default() });
        for (n, note) in prepared.notes.iter().enumerate() {
            let holding = note.sentences.iter().enumerate();
            for (_, sentence) in holding.filter(|(s, _)| !prepared.found.is_stale(n, *s)) {
                let question = without_facts(&sentence.text, &sentence.facts);
                if sentence.facts.hard().count() > 0 && question.split_whitespace().count() >= 3 {
                    probes.push(Probe {
                        model: model.clone(),
                        project: proven.entry.project.clone(),
                        question,
                        facts: sentence.facts.clone(),
                    });
                }
            }
        }
    }
    Ok(probes)
}

fn without_facts(text: &str, facts: &Facts) -> String {
    let bare = facts.hard().fold(text.to_string(), |text, fact| text.replace(&fact.shown, " "));
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(store: &Store, descriptor: &str, stored: &StoredEntry) -> Result<Option<Text>> {
    let bytes = store::vector_of(store.reader(), descriptor, Item::Entry(stored.seq))?;
    Ok(bytes.map(|bytes| Text {
        project: stored.entry.project.clone(),
        facts: Facts::of(&stored.entry.text),
        vector: bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect(),
    }))
}

/// Whether one of the first `k` texts of the project states every fact.
fn finds(probe: &Probe, vector: &[f32], texts: &[Text], k: usize) -> bool {
    let own = texts.iter().filter(|text| text.project == probe.project);
    let mut ranked: Vec<(f32, &Text)> =
        own.map(|text| (text.vector.iter().zip(vector).map(|(a, b)| a * b).sum(), text)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.iter().take(k).any(|(_, text)| probe.facts.hard().all(|fact| text.facts.states(fact)))
}
