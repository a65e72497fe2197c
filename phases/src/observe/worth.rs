//! Whether a text says something about the events that somebody could use later.
//!
//! A weak model passes the gates against invention by saying nothing: it names the tool, repeats
//! what the tool was given or what the user asked for, or writes what would fit any session.

use super::batch::{Batch, Event};
use super::prompt::Shown;
use crate::consolidate::echo::{covered, says_something};
use crate::consolidate::facts::{FactKind, Facts, flat};
use crate::consolidate::gates::Refusal;
use crate::consolidate::note::Note;
use crate::consolidate::sentences::sentences;
use crate::consolidate::values::words;
use crate::entry::Actor;
use std::collections::BTreeSet;

/// Share of a text's words in runs of a call's input, or of the user's request, from which it is no
/// more than that.
const REPEATED: f64 = 0.8;

/// Share of its content words that the events must hold where it names nothing of them: of a
/// narrative, which may say things in its own words, and of a single fact.
const GROUNDED: f64 = 0.35;
const GROUNDED_FACT: f64 = 0.5;

/// Words in a row of our own before an event that nobody else writes by chance.
const HEAD: usize = 5;

/// Characters to a word above which a text has no spaces between words, and words tell nothing.
const UNSPACED: usize = 15;

/// What the events of a batch hold, made ready.
pub(super) struct Worth {
    /// What is said of every call.
    told: Facts,
    /// Our own words before each event, where they are too many to meet by chance.
    heads: Vec<String>,
    /// Inputs and requests, flat and as runs of words.
    given: Vec<(String, BTreeSet<String>)>,
}

impl Worth {
    pub(super) fn new(batch: &Batch, lines: &[Shown<'_>]) -> Self {
        let heads: Vec<&str> = lines.iter().map(|line| line.head.as_str()).collect();
        let given = batch.events.iter().filter_map(|event| match event {
            Event::Did { input, .. } => Some(input),
            Event::Said { by: Actor::User, text } => Some(text),
            Event::Said { .. } => None,
        });
        let made_ready = |text: &String| {
            let runs = words(text).windows(3).map(|run| run.join(" ")).collect();
            (flat(text), runs)
        };
        let given = given.map(made_ready).collect();
        let told = Facts::of(&heads.join("\n"));
        let heads = heads.iter().map(|head| words(head)).filter(|head| head.len() >= HEAD);
        Self { told, heads: heads.map(|head| head.join(" ")).collect(), given }
    }

    /// A narrative without the sentences that read the list of events aloud ("The user asked or
    /// said, …", "The assistant called the tool Edit, which succeeded").
    pub(super) fn without_heads(&self, text: &str) -> String {
        if !self.reads_aloud(text) {
            return text.to_string();
        }
        let own = sentences(text).into_iter().filter(|sentence| !self.reads_aloud(sentence));
        own.collect::<Vec<_>>().join(" ")
    }

    /// Whether a text holds our own words before an event.
    pub(super) fn reads_aloud(&self, text: &str) -> bool {
        let own = words(text).join(" ");
        self.heads.iter().any(|head| own.contains(head.as_str()))
    }

    /// Why a narrative is of no use.
    pub(super) fn narrative(&self, text: &str, notes: &[Note]) -> Option<Refusal> {
        if !is_unspaced(text) && !says_something(&Facts::of(text), &self.told) {
            return Some(Refusal::SaysNothing);
        }
        self.repeats(text).or_else(|| stated(text, notes, GROUNDED))
    }

    /// Why a single fact is of no use.
    pub(super) fn fact(&self, text: &str, notes: &[Note]) -> Option<Refusal> {
        stated(text, notes, GROUNDED_FACT)
    }

    fn repeats(&self, text: &str) -> Option<Refusal> {
        let own = words(text);
        let whole = flat(text);
        self.given.iter().find_map(|(given, runs)| {
            let (share, first) = covered(&own, &|run| runs.contains(run));
            let is_part = own.len() < 3 && given.contains(whole.trim_end_matches('.'));
            let what = first.unwrap_or_else(|| whole.clone());
            (share >= REPEATED || is_part).then_some(Refusal::RepeatsCall(what))
        })
    }
}

/// Whether the events hold what a text is about: a name of code, a path or an address of it, or
/// enough of its words.
fn stated(text: &str, notes: &[Note], least: f64) -> Option<Refusal> {
    use FactKind::{Code, Hash, Identifier, Path, Url};
    let own = Facts::of(text);
    let is_name = |kind| matches!(kind, Code | Hash | Identifier | Path | Url);
    let states = |fact| notes.iter().any(|note| note.facts.states(fact));
    let is_named = own.facts.iter().any(|fact| is_name(fact.kind) && states(fact));
    let is_said = |word: &&String| notes.iter().any(|note| note.facts.says(word));
    let said = own.words.iter().filter(is_said).count();
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = said as f64 / own.words.len().max(1) as f64;
    let is_stated = is_named || own.words.is_empty() || share >= least || is_unspaced(text);
    (!is_stated).then(|| Refusal::NotInEvents(text.chars().take(60).collect()))
}

fn is_unspaced(text: &str) -> bool {
    text.split_whitespace().count() * UNSPACED < text.chars().count()
}
