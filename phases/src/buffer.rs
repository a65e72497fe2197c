//! The buffer phase: what arrived becomes entries.
//!
//! No judgement of worth: an arrival is refused only when nothing is left of it after cleaning.
//! The same text in the same project is one entry, however it is spaced or composed, with or without
//! its full stop, backticks and first capital ([`crate::text::wording`]); coming again is a *recall*,
//! and brings an expired entry back.
//!
//! A recall counts sources, not words: a text that one conversation (or one notes file) repeats
//! counts once, a line copied into a forked conversation is recognised by its time, and an
//! assistant that repeats what is known does not strengthen it, since it may only echo what it
//! was given to read.
//!
//! Every entry keeps the weakest hand that its words passed through ([`Origin`]). When somebody
//! more trustworthy says the same, the entry is *attested*; a tool that repeats what the user said
//! takes nothing away.
//!
//! The result depends on the set of arrivals, not on their order.

use crate::entry::{Actor, Entry, EntryId, Kind, Origin, Source, State};
use crate::own::without_own;
use crate::plan::{Phase, PlannedStep};
use crate::step::Step;
use crate::text::{normalise, printable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One text that came in by some door, redacted already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The text as given.
    pub text: String,
    /// What it is about.
    pub kind: Kind,
    /// Canonical root of the project, or none.
    #[serde(default)]
    pub project: Option<String>,
    /// When it was said: milliseconds since 1970-01-01 UTC.
    pub created: i64,
    /// Where it came from.
    pub source: Source,
}

/// What the store knows about an entry that an arrival may repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The entry.
    pub id: EntryId,
    /// Where it stands.
    pub state: State,
    /// How often it came again so far.
    pub recalls: u32,
    /// When it was first said.
    pub created: i64,
    /// What it is about.
    pub kind: Kind,
    /// The weakest hand it passed through.
    pub origin: Origin,
    /// Sources that were counted already, as [`source_key`] names them.
    #[serde(default)]
    pub seen: BTreeSet<String>,
}

/// A source that said an entry; kept so that it is not counted a second time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sighting {
    /// The entry.
    pub entry: EntryId,
    /// The source, as [`source_key`] names it.
    pub source: String,
    /// When it was said there.
    pub said: i64,
}

/// A conversation file and how far it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Its path, or the hash of the path where its project is not captured.
    pub path: String,
    /// Id of the conversation.
    #[serde(default)]
    pub session: Option<String>,
    /// Project at its end.
    #[serde(default)]
    pub project: Option<String>,
    /// End of the last complete line that was read.
    pub offset: u64,
    /// Check of the bytes before the offset.
    pub tail_hash: String,
    /// Size at the last reading, in bytes.
    pub size: u64,
    /// Time of the last change at the last reading, milliseconds UTC.
    pub modified: i64,
    /// When it was read, milliseconds UTC.
    pub last_read: i64,
    /// Why it is not read, or what went wrong; empty otherwise.
    #[serde(default)]
    pub problem: String,
    /// JSON of what was done since the last record of it; empty when nothing waits for one.
    #[serde(default)]
    pub sitting: String,
}

/// What the phase decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The steps, by time and name of the entry.
    pub steps: Vec<PlannedStep>,
    /// The sources that the steps account for.
    pub sightings: Vec<Sighting>,
    /// Arrivals of which nothing was left after cleaning.
    pub refused: usize,
}

/// The text as an entry stores it; `None` when nothing readable is left.
pub fn clean(text: &str) -> Option<String> {
    let text = without_own(&printable(text), &[]);
    let text = text.trim_matches(|ch: char| ch.is_whitespace() || ch == '\u{feff}');
    (!normalise(text).is_empty()).then(|| text.to_string())
}

/// Name of the source of an arrival: the conversation, else the file; `None` for a single add,
/// each of which counts by itself.
pub fn source_key(source: &Source) -> Option<&str> {
    source.conversation.as_deref().or(source.path.as_deref())
}

/// The entries that must be looked up before [`decide`]: sorted, each once.
pub fn ask(arrivals: &[Arrival]) -> Vec<EntryId> {
    let ids: BTreeSet<EntryId> = arrivals.iter().filter_map(entry_of).map(|e| e.id).collect();
    ids.into_iter().collect()
}

/// The steps that `arrivals` lead to, given what the store knows of the ids in [`ask`].
pub fn decide(arrivals: &[Arrival], known: &[Known]) -> Outcome {
    let known: BTreeMap<&EntryId, &Known> = known.iter().map(|k| (&k.id, k)).collect();
    let mut groups: BTreeMap<EntryId, Vec<Entry>> = BTreeMap::new();
    let mut outcome = Outcome::default();
    for arrival in arrivals {
        match entry_of(arrival) {
            Some(entry) => groups.entry(entry.id.clone()).or_default().push(entry),
            None => outcome.refused += 1,
        }
    }
    let mut decided: Vec<(i64, Group)> = groups
        .into_iter()
        .map(|(id, mut said)| {
            said.sort_by(|a, b| order(a).cmp(&order(b)));
            (said[0].created, Group::decide(said, known.get(&id).copied()))
        })
        .collect();
    decided.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
    for (_, group) in decided {
        outcome.steps.extend(group.steps);
        outcome.sightings.extend(group.sightings);
    }
    outcome
}

/// All arrivals of one entry, decided.
struct Group {
    id: EntryId,
    steps: Vec<PlannedStep>,
    sightings: Vec<Sighting>,
}

impl Group {
    fn decide(said: Vec<Entry>, known: Option<&Known>) -> Self {
        let id = said[0].id.clone();
        let mut seen = known.map(|k| k.seen.clone()).unwrap_or_default();
        let (mut group, rest, recalls) = match known {
            None => {
                let mut group = Self { id, steps: Vec::new(), sightings: Vec::new() };
                group.sight(&said[0], &mut seen);
                let admitted = Self::admitted(&said);
                group.push(Step::Admit { entry: Box::new(admitted) }, "new");
                (group, &said[1..], 0)
            }
            Some(known) => {
                let mut group = Self { id, steps: Vec::new(), sightings: Vec::new() };
                group.restore(known, &said);
                group.attest(known, &said);
                (group, &said[..], known.recalls)
            }
        };
        let first_said = known.map_or(said[0].created, |k| k.created);
        let again = rest.iter().filter(|entry| group.counts(entry, first_said, &mut seen)).count();
        let to = recalls.saturating_add(u32::try_from(again).unwrap_or(u32::MAX));
        if to > recalls {
            let entry = group.id.clone();
            group.push(Step::Recall { entry, from: recalls, to }, "the same text came again");
        }
        group
    }

    /// The earliest arrival, with the strongest kind that any of them gave it.
    fn admitted(said: &[Entry]) -> Entry {
        let mut entry = said[0].clone();
        let protected = said.iter().map(|e| e.kind).filter(|kind| kind.is_protected()).min();
        if let Some(kind) = protected {
            entry.kind = kind;
        }
        if let Some(strongest) = strongest(said) {
            entry.source = entry.source.with_origin(strongest);
        }
        entry
    }

    /// Somebody more trustworthy than before says the same.
    fn attest(&mut self, known: &Known, said: &[Entry]) {
        if let Some(to) = strongest(said).filter(|to| *to < known.origin) {
            let step = Step::Attest { entry: self.id.clone(), from: known.origin, to };
            self.push(step, "stated by somebody more trustworthy");
        }
    }

    fn restore(&mut self, known: &Known, said: &[Entry]) {
        let from_a_person = said.iter().any(|entry| entry.source.actor == Actor::User);
        if known.state == State::Expired && from_a_person {
            let entry = self.id.clone();
            let step = Step::SetState { entry, from: State::Expired, to: State::Buffered };
            self.push(step, "said again after it had expired");
        }
    }

    /// Whether this arrival is a further source of its own; notes it as seen.
    fn counts(&mut self, entry: &Entry, first_said: i64, seen: &mut BTreeSet<String>) -> bool {
        let new = self.sight(entry, seen);
        let copied = entry.source.conversation.is_some() && entry.created == first_said;
        new && !copied && entry.source.actor == Actor::User
    }

    fn sight(&mut self, entry: &Entry, seen: &mut BTreeSet<String>) -> bool {
        let Some(source) = source_key(&entry.source) else { return true };
        if !seen.insert(source.to_string()) {
            return false;
        }
        self.sightings.push(Sighting {
            entry: entry.id.clone(),
            source: source.to_string(),
            said: entry.created,
        });
        true
    }

    fn push(&mut self, step: Step, reason: &str) {
        self.steps.push(PlannedStep::new(Phase::Buffer, step, reason));
    }
}

/// The most trustworthy hand among those that said the same.
fn strongest(said: &[Entry]) -> Option<Origin> {
    said.iter().map(|entry| entry.source.origin()).min()
}

fn entry_of(arrival: &Arrival) -> Option<Entry> {
    let text = clean(&arrival.text)?;
    let Arrival { kind, project, created, source, .. } = arrival.clone();
    Some(Entry::new(&text, kind, project, created, source))
}

/// The user's words before the assistant's, then by time; the rest only makes the order total.
fn order(entry: &Entry) -> impl Ord + '_ {
    let source = &entry.source;
    let place = (source.conversation.as_deref(), source.path.as_deref(), source.offset);
    let rest = (entry.text.as_str(), entry.kind, source.channel, source.files.as_slice());
    (source.actor, entry.created, place, rest)
}

#[cfg(test)]
mod tests;
