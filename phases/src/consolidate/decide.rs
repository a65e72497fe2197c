//! From a cluster to steps: what is asked, and what follows from the answer.

use super::coverage::{Wanted, current};
use super::draft::{
    common_kind, complete, distinct_title, former_quotes, join, needed_kind, proven, title_from,
};
use super::extractive::{self, Vectors};
use super::facts::Facts;
use super::gates::{Claim, Refusal, refusals, speaks_of_user};
use super::prepared::{Limits, Prepared};
use super::prompt::rearmed;
use super::reply::{Proposal, Reply, ReplyError};
use crate::entry::{Entry, Kind, State};
use crate::step::{ClusterOutcome, Standing};
use std::collections::BTreeSet;

/// Share of a note's facts from which a text counts as made of it.
const MADE_OF: f64 = 0.3;

/// Why a cluster stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What came of it.
    pub outcome: ClusterOutcome,
    /// In words.
    pub reason: String,
}

/// A proven entry that passed the gates.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The entry.
    pub entry: Entry,
    /// Its sources.
    pub sources: Vec<Standing>,
    /// Proven entries that it replaces.
    pub replaces: Vec<Standing>,
    /// Sentences quoted from the sources because the model left them out.
    pub quoted: usize,
    /// In words.
    pub reason: String,
}

/// What one reply was worth, for the quality report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// Names of what was refused, one for each proposal and gate.
    pub refused: Vec<&'static str>,
    /// Share of the sources' facts that the model's own text kept.
    pub coverage: Option<f64>,
    /// Kinds that do not exist.
    pub bad_kinds: usize,
    /// Speaks of the user although no user spoke.
    pub bad_attribution: bool,
    /// A title that another entry has; it was made distinct.
    pub duplicate_title: bool,
    /// No file although a source names one.
    pub no_file: bool,
    /// Whether a reason survived; `None` where no source gave one.
    pub kept_reason: Option<bool>,
    /// Characters of the sources and of the model's text.
    pub chars: (usize, usize),
    /// Bytes around the object and of reasoning.
    pub discarded: usize,
    /// Bytes of reasoning in the text of the reply.
    pub reasoning: usize,
}

/// What follows from an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Proven entries.
    pub drafts: Vec<Draft>,
    /// Why the cluster, or the rest of it, stays as it is.
    pub rejection: Option<Rejection>,
    /// What the reply was worth.
    pub measures: Measures,
}

impl Decision {
    fn rejected(outcome: ClusterOutcome, reason: impl Into<String>) -> Self {
        Self { rejection: Some(Rejection { outcome, reason: reason.into() }), ..Self::default() }
    }
}

/// Decides on a model's reply. `taken` holds the titles of other proven entries in lower case.
pub fn decide(
    prepared: &Prepared,
    reply: &Result<Reply, ReplyError>,
    rules: &str,
    limits: &Limits,
    generated_by: &str,
    taken: &BTreeSet<String>,
) -> Decision {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            let mut decision =
                Decision::rejected(ClusterOutcome::Failed, format!("unusable reply: {error}"));
            decision.measures.refused.push(error.name());
            return decision;
        }
    };
    if let Some(reason) = &reply.declined {
        let mut decision =
            Decision::rejected(ClusterOutcome::Declined, format!("the model declined: {reason}"));
        decision.measures.refused.push("declined");
        return decision;
    }
    let mut judge = Judge {
        prepared,
        rules,
        limits,
        generated_by,
        taken: taken.clone(),
        used: BTreeSet::new(),
        decision: Decision::default(),
    };
    judge.decision.measures.bad_kinds = reply.bad_kinds;
    judge.decision.measures.discarded = reply.discarded;
    judge.decision.measures.reasoning = reply.reasoning;
    let single = reply.entries.len() == 1;
    for proposal in &reply.entries {
        judge.proposal(proposal, single);
    }
    judge.finish()
}

/// Consolidates without a model; the result passes the same gates.
pub fn decide_extractive(
    prepared: &Prepared,
    vectors: &Vectors,
    limits: &Limits,
    taken: &BTreeSet<String>,
) -> Decision {
    let (central, places) = extractive::select(&prepared.notes, &prepared.found, vectors);
    let title = central.map(|place| title_from(&sentence(prepared, place))).unwrap_or_default();
    let chosen = extract(prepared, &places, title.clone(), limits, taken);
    if !chosen.drafts.is_empty() {
        return chosen;
    }
    // A choice of sentences may lose a "not" that one of the others has; all of them lose nothing.
    let whole = extract(prepared, &current_places(prepared), title, limits, taken);
    if whole.drafts.is_empty() { chosen } else { whole }
}

/// Every sentence that still holds, as note and place in it.
fn current_places(prepared: &Prepared) -> Vec<(usize, usize)> {
    let places = |(n, note): (usize, &super::note::Note)| {
        (0..note.sentences.len()).map(move |s| (n, s)).collect::<Vec<_>>()
    };
    let all = prepared.notes.iter().enumerate().flat_map(places);
    all.filter(|&(n, s)| !prepared.found.is_stale(n, s)).collect()
}

fn sentence(prepared: &Prepared, (n, s): (usize, usize)) -> String {
    prepared.notes[n].sentences[s].text.clone()
}

/// What the sentences at `places` are worth as a merge of all notes.
fn extract(
    prepared: &Prepared,
    places: &[(usize, usize)],
    title: String,
    limits: &Limits,
    taken: &BTreeSet<String>,
) -> Decision {
    let sources: Vec<usize> = (0..prepared.notes.len()).collect();
    let mut parts: Vec<String> = places.iter().map(|place| sentence(prepared, *place)).collect();
    let own = join(&parts);
    parts.extend(former_quotes(&prepared.notes, &sources, &prepared.found));
    let mut judge = Judge {
        prepared,
        rules: "",
        limits,
        generated_by: extractive::NAME,
        taken: taken.clone(),
        used: BTreeSet::new(),
        decision: Decision::default(),
    };
    let proposal = Proposal {
        title,
        text: own,
        kind: Some(common_kind(&prepared.notes, &sources)),
        sources: Vec::new(),
    };
    judge.accept_or_refuse(&proposal, sources, join(&parts), 0);
    judge.finish()
}

struct Judge<'a> {
    prepared: &'a Prepared,
    rules: &'a str,
    limits: &'a Limits,
    generated_by: &'a str,
    taken: BTreeSet<String>,
    used: BTreeSet<usize>,
    decision: Decision,
}

impl Judge<'_> {
    fn proposal(&mut self, proposal: &Proposal, single: bool) {
        let sources = self.sources(proposal, single);
        if sources.len() < 2 {
            let facts = Facts::of(&rearmed(&proposal.text));
            let all: Vec<usize> = (0..self.prepared.notes.len()).collect();
            let share = self.wanted(&all).kept_by(&facts);
            self.decision.measures.coverage.get_or_insert(share);
            // A text made of nothing in the cluster is a loss, one made of one note a remark.
            self.refuse(&if sources.is_empty() {
                Refusal::Lossy(share)
            } else {
                Refusal::SingleSource
            });
            return;
        }
        let composed =
            complete(&proposal.text, &self.prepared.notes, &sources, &self.prepared.found);
        self.accept_or_refuse(proposal, sources, composed.text, composed.quoted);
    }

    /// The notes that the text is made of: those it names and keeps something of, those it keeps
    /// much of, and those that a newer source replaced altogether.
    fn sources(&self, proposal: &Proposal, single: bool) -> Vec<usize> {
        let facts = Facts::of(&rearmed(&proposal.text));
        let notes = &self.prepared.notes;
        let named: BTreeSet<usize> =
            proposal.sources.iter().filter_map(|label| self.note_named(label)).collect();
        let mut chosen: BTreeSet<usize> = (0..notes.len())
            .filter(|n| !self.used.contains(n))
            .filter(|&n| {
                let share = self.wanted(&[n]).kept_by(&facts);
                let needed =
                    if named.contains(&n) || (single && named.is_empty()) { MADE_OF } else { 0.6 };
                share >= needed && current(n, &notes[n], &self.prepared.found).next().is_some()
            })
            .collect();
        // What a replaced note had replaced itself goes with it.
        loop {
            let found = &self.prepared.found;
            let replaced = found.superseded.iter().filter(|s| chosen.contains(&s.new_note));
            let gone: Vec<usize> = replaced
                .map(|s| s.old_note)
                .filter(|n| !chosen.contains(n) && !self.used.contains(n))
                .filter(|&n| current(n, &notes[n], found).next().is_none())
                .collect();
            if gone.is_empty() {
                return chosen.into_iter().collect();
            }
            chosen.extend(gone);
        }
    }

    fn note_named(&self, label: &str) -> Option<usize> {
        let label = label.trim().trim_start_matches('#').to_lowercase();
        let number = label.trim_start_matches(['n', '[']).trim_end_matches(']');
        self.prepared.notes.iter().position(|note| {
            note.label == label
                || note.label.trim_start_matches('n') == number
                || (label.len() >= 8 && note.id().as_str().starts_with(&label))
        })
    }

    fn wanted(&self, sources: &[usize]) -> Wanted {
        let found = &self.prepared.found;
        Wanted::of(sources.iter().flat_map(|&n| current(n, &self.prepared.notes[n], found)))
    }

    fn accept_or_refuse(
        &mut self,
        proposal: &Proposal,
        sources: Vec<usize>,
        text: String,
        quoted: usize,
    ) {
        let notes = &self.prepared.notes;
        let own = rearmed(&proposal.text);
        let title = rearmed(&proposal.title);
        let share = self.wanted(&sources).kept_by(&Facts::of(&own));
        let claim = Claim {
            title: &title,
            text: &own,
            notes,
            sources: &sources,
            found: &self.prepared.found,
            rules: self.rules,
        };
        let mut refused = refusals(&claim);
        if share < self.limits.min_coverage {
            refused.push(Refusal::Lossy(share));
        }
        if text.len() > self.limits.max_bytes {
            refused.push(Refusal::TooLong(text.len()));
        }
        self.measure(&own, &sources, share);
        if refused.is_empty() {
            self.accept(proposal, &title, sources, &text, quoted, share);
        } else {
            refused.iter().for_each(|refusal| self.refuse(refusal));
        }
    }

    fn measure(&mut self, own: &str, sources: &[usize], share: f64) {
        let notes = &self.prepared.notes;
        let by_user = sources.iter().any(|&n| notes[n].is_user());
        let measures = &mut self.decision.measures;
        measures.coverage = Some(measures.coverage.map_or(share, |known| known.min(share)));
        measures.bad_attribution |= speaks_of_user(own) && !by_user;
        measures.chars.0 +=
            sources.iter().map(|&n| notes[n].entry.text.chars().count()).sum::<usize>();
        measures.chars.1 += own.chars().count();
        if sources.iter().any(|&n| gives_reason(&notes[n].entry.text)) {
            measures.kept_reason = Some(gives_reason(own));
        }
    }

    fn accept(
        &mut self,
        proposal: &Proposal,
        title: &str,
        sources: Vec<usize>,
        text: &str,
        quoted: usize,
        share: f64,
    ) {
        let notes = &self.prepared.notes;
        let kind = needed_kind(notes, &sources).or(proposal.kind).unwrap_or(Kind::Insight);
        let title =
            if title.trim().is_empty() { title_from(text) } else { title.trim().to_string() };
        let (title, duplicate) = distinct_title(&title, text, &self.taken);
        let entry = proven(text, title.clone(), kind, notes, &sources, self.generated_by);
        let standings: Vec<Standing> =
            sources.iter().map(|&n| Standing::of(&notes[n].entry)).collect();
        self.decision.measures.duplicate_title |= duplicate;
        self.decision.measures.no_file |= entry.source.files.is_empty();
        let quotes =
            if quoted == 0 { String::new() } else { format!(", {quoted} sentences quoted") };
        let reason = format!(
            "{} entries by {}, {:.0} % kept{quotes}",
            sources.len(),
            self.generated_by,
            share * 100.0
        );
        self.taken.insert(title.to_lowercase());
        self.used.extend(sources);
        self.decision.drafts.push(Draft {
            entry,
            sources: standings,
            replaces: Vec::new(),
            quoted,
            reason,
        });
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.decision.measures.refused.push(refusal.name());
        let reason = match self.decision.rejection.take() {
            Some(known) => format!("{}; {refusal}", known.reason),
            None => refusal.to_string(),
        };
        self.decision.rejection = Some(Rejection { outcome: ClusterOutcome::Refused, reason });
    }

    /// A merge that replaces proven entries must hold every original of theirs.
    fn finish(mut self) -> Decision {
        if !self.prepared.replaces.is_empty() && !self.decision.drafts.is_empty() {
            let lost = self
                .prepared
                .notes
                .iter()
                .enumerate()
                .any(|(n, note)| note.entry.state == State::Merged && !self.used.contains(&n));
            if lost {
                self.decision.drafts.clear();
                self.refuse(&Refusal::Lossy(self.decision.measures.coverage.unwrap_or(0.0)));
                return self.decision;
            }
            let replaces = self.prepared.replaces.iter();
            self.decision.drafts[0].replaces =
                replaces.map(|entry| Standing { kept: false, ..Standing::of(entry) }).collect();
        }
        if !self.decision.drafts.is_empty() {
            self.decision.rejection = None;
        }
        self.decision
    }
}

/// Whether a text says why.
fn gives_reason(text: &str) -> bool {
    super::values::words(text).iter().any(|word| {
        matches!(
            word.as_str(),
            "because"
                | "since"
                | "reason"
                | "therefore"
                | "why"
                | "due"
                | "parce"
                | "car"
                | "puisque"
                | "weil"
                | "denn"
                | "damit"
                | "cause"
        )
    })
}
