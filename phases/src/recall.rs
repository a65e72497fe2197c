//! Recalls: entries that a briefing put before an assistant because they matched what it was about
//! to do.
//!
//! Being shown is not being useful: only a real match counts (a least score), and one session counts
//! once, however often it is briefed. An entry that was recalled often enough is proven by use, and
//! need not wait for two others that say the same.

use crate::buffer::{Known, Outcome, Sighting};
use crate::entry::{EntryId, Kind, State};
use crate::plan::{Phase, PlannedStep};
use crate::step::Step;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An entry that was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// The entry.
    pub entry: EntryId,
    /// How well it matched, 0 to 1.
    pub score: f64,
    /// The session that it was shown to.
    pub session: String,
    /// When: milliseconds since 1970-01-01 UTC.
    pub when: i64,
}

impl Recalled {
    /// Name of the source that counts.
    pub fn source(&self) -> String {
        format!("brief:{}", self.session)
    }
}

/// What counts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Least score of a match.
    pub least_score: f64,
    /// Recalls that make an entry proven; 0: never.
    pub promote: u32,
}

/// The entries that must be looked up before [`decide`].
pub fn ask(recalled: &[Recalled]) -> Vec<EntryId> {
    let ids: BTreeSet<&EntryId> = recalled.iter().map(|one| &one.entry).collect();
    ids.into_iter().cloned().collect()
}

/// Counts the matches, and promotes what was recalled often enough.
pub fn decide(recalled: &[Recalled], known: &[Known], limits: Limits) -> Outcome {
    let mut matches: BTreeMap<&EntryId, BTreeMap<String, i64>> = BTreeMap::new();
    for one in recalled.iter().filter(|one| one.score >= limits.least_score) {
        matches.entry(&one.entry).or_default().entry(one.source()).or_insert(one.when);
    }
    let mut outcome = Outcome::default();
    for known in known.iter().filter(|known| known.state.is_active()) {
        let Some(sources) = matches.get(&known.id) else { continue };
        let new: Vec<_> =
            sources.iter().filter(|(source, _)| !known.seen.contains(*source)).collect();
        if new.is_empty() {
            continue;
        }
        let to = known.recalls.saturating_add(u32::try_from(new.len()).unwrap_or(u32::MAX));
        outcome.sightings.extend(new.into_iter().map(|(source, said)| Sighting {
            entry: known.id.clone(),
            source: source.clone(),
            said: *said,
        }));
        outcome.steps.extend(steps(known, to, limits));
    }
    outcome
}

fn steps(known: &Known, to: u32, limits: Limits) -> Vec<PlannedStep> {
    let entry = known.id.clone();
    let recall = Step::Recall { entry: entry.clone(), from: known.recalls, to };
    let mut steps = vec![PlannedStep::new(Phase::Buffer, recall, "recalled by a briefing")];
    let is_knowledge = !matches!(known.kind, Kind::Session | Kind::Thought | Kind::Sensitive);
    let is_enough = limits.promote > 0 && to >= limits.promote;
    if known.state == State::Buffered && is_knowledge && is_enough {
        let promote = Step::SetState { entry, from: State::Buffered, to: State::Proven };
        let reason = format!("recalled {to} times: proven by use");
        steps.push(PlannedStep::new(Phase::Buffer, promote, reason));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Origin;

    const LIMITS: Limits = Limits { least_score: 0.4, promote: 3 };

    fn known(recalls: u32, kind: Kind) -> Known {
        Known {
            id: EntryId("a".repeat(16)),
            state: State::Buffered,
            recalls,
            created: 0,
            kind,
            origin: Origin::User,
            seen: BTreeSet::from(["brief:old".to_string()]),
        }
    }

    fn shown(session: &str, score: f64) -> Recalled {
        Recalled { entry: EntryId("a".repeat(16)), score, session: session.into(), when: 1 }
    }

    fn names(outcome: &Outcome) -> Vec<&'static str> {
        outcome.steps.iter().map(|step| step.step.name()).collect()
    }

    #[test]
    fn a_session_counts_once_and_only_a_real_match() {
        let shown = [shown("s", 0.9), shown("s", 0.8), shown("old", 0.9), shown("t", 0.2)];
        let outcome = decide(&shown, &[known(0, Kind::Insight)], LIMITS);
        assert!(matches!(outcome.steps[0].step, Step::Recall { from: 0, to: 1, .. }));
        assert_eq!(outcome.sightings.len(), 1);
    }

    #[test]
    fn the_third_recall_proves_knowledge_and_nothing_else() {
        let third = |kind| names(&decide(&[shown("s", 0.9)], &[known(2, kind)], LIMITS));
        assert_eq!(third(Kind::Insight), ["recall", "set_state"]);
        assert_eq!(third(Kind::Thought), ["recall"]);
        assert_eq!(third(Kind::Sensitive), ["recall"]);
        let never = Limits { promote: 0, ..LIMITS };
        assert_eq!(
            names(&decide(&[shown("s", 0.9)], &[known(9, Kind::Insight)], never)),
            ["recall"]
        );
    }
}
