//! **age**: entries that nothing connects to fade. Connection decides, not time.
//!
//! An entry comes up for judgement when it has no active link and its project has moved on by
//! [`Limits::newer_entries`] entries since it came (or since its last reprieve). Then its substance
//! is judged: by fixed signals first ([`substance`]), by a model only where those do not decide.
//! Substance earns a reprieve, at most [`Limits::max_reprieves`] times; the rest expire. Protected
//! entries never come up. An entry without a vector never expires, since nobody has looked whether
//! something connects to it; neither does one the model gave no answer on.

mod question;
mod substance;

pub use question::{SubstanceQuestion, answer, question};
pub use substance::{Substance, substance};

use crate::entry::{EntryId, State};
use crate::plan::{Phase, PlannedStep};
use crate::step::Step;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An isolated entry that may be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The entry.
    pub entry: EntryId,
    /// Its text.
    pub text: String,
    /// Its state.
    pub state: State,
    /// Reprieves so far.
    pub reprieves: u32,
    /// Entries of its project that came after it, or after its last reprieve.
    pub newer: u64,
    /// Whether it is protected by kind or by the user.
    pub protected: bool,
    /// Whether its neighbours were looked for with the vectors in use.
    pub connected: bool,
    /// Whether it is a copy of a template (a session header, a bump line) without content of its
    /// own, as the connect phase recognises it.
    pub template: bool,
}

/// The settings of the phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Newer entries a project must have before an isolated entry is judged.
    pub newer_entries: u64,
    /// Reprieves after which it expires.
    pub max_reprieves: u32,
    /// A tick that would expire more than this share of the active entries stops.
    pub max_expire_share: f64,
    /// Expiries up to this number need no question.
    pub max_expire_free: usize,
}

/// What ageing came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Reprieves and expiries, in the order of the candidates.
    pub steps: Vec<PlannedStep>,
    /// Entries that stay because no model answered.
    pub unanswered: Vec<EntryId>,
    /// Set where the tick would expire too much: nothing expires, the question is put instead.
    pub brake: Option<Brake>,
}

/// A tick that would throw away too much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brake {
    /// Entries that would expire.
    pub would_expire: usize,
    /// Active entries in all.
    pub active: usize,
}

/// The candidates on which a model's answer is wanted.
pub fn ask<'a>(candidates: &'a [Candidate], limits: &Limits) -> Vec<&'a Candidate> {
    candidates
        .iter()
        .filter(|candidate| is_due(candidate, limits))
        .filter(|candidate| judge(candidate) == Substance::Undecided)
        .filter(|candidate| candidate.reprieves < limits.max_reprieves)
        .collect()
}

/// Judges the candidates. `answers` holds the model's word on those of [`ask`] it answered:
/// whether the entry holds knowledge. `active` is the number of active entries of the store;
/// `unbraked` lifts the brake.
pub fn decide(
    candidates: &[Candidate],
    answers: &BTreeMap<EntryId, bool>,
    active: usize,
    limits: &Limits,
    unbraked: bool,
) -> Decision {
    let mut decision = Decision::default();
    let mut expiries = Vec::new();
    for candidate in candidates.iter().filter(|candidate| is_due(candidate, limits)) {
        match verdict(candidate, answers, limits) {
            Verdict::Keep(why) => decision.steps.push(reprieve(candidate, why)),
            Verdict::Fade(why) => expiries.push(expire(candidate, &why)),
            Verdict::Wait => decision.unanswered.push(candidate.entry.clone()),
        }
    }
    if !unbraked && brakes(expiries.len(), active, limits) {
        decision.brake = Some(Brake { would_expire: expiries.len(), active });
    } else {
        decision.steps.append(&mut expiries);
    }
    decision
}

fn is_due(candidate: &Candidate, limits: &Limits) -> bool {
    candidate.connected
        && !candidate.protected
        && candidate.state == State::Buffered
        && candidate.newer >= limits.newer_entries
}

fn judge(candidate: &Candidate) -> Substance {
    if candidate.template {
        return Substance::Trivial("a copy of a template without content of its own");
    }
    substance(&candidate.text)
}

enum Verdict {
    Keep(&'static str),
    Fade(String),
    Wait,
}

fn verdict(candidate: &Candidate, answers: &BTreeMap<EntryId, bool>, limits: &Limits) -> Verdict {
    if candidate.reprieves >= limits.max_reprieves {
        return Verdict::Fade(format!("still isolated after {} reprieves", candidate.reprieves));
    }
    match (judge(candidate), answers.get(&candidate.entry)) {
        (Substance::Substantial(why), _) => Verdict::Keep(why),
        (Substance::Trivial(why), _) => Verdict::Fade(why.to_string()),
        (Substance::Undecided, Some(true)) => Verdict::Keep("the model finds knowledge in it"),
        (Substance::Undecided, Some(false)) => {
            Verdict::Fade("the model finds no knowledge in it".to_string())
        }
        (Substance::Undecided, None) => Verdict::Wait,
    }
}

fn brakes(expiries: usize, active: usize, limits: &Limits) -> bool {
    expiries > limits.max_expire_free && expiries as f64 > limits.max_expire_share * active as f64
}

fn reprieve(candidate: &Candidate, why: &str) -> PlannedStep {
    let step = Step::Reprieve {
        entry: candidate.entry.clone(),
        from: candidate.reprieves,
        to: candidate.reprieves + 1,
    };
    PlannedStep::new(Phase::Age, step, format!("isolated, but {why}"))
}

fn expire(candidate: &Candidate, why: &str) -> PlannedStep {
    let step = Step::Expire { entry: candidate.entry.clone(), from: candidate.state };
    let reason = format!("isolated, {} newer entries, {why}", candidate.newer);
    PlannedStep::new(Phase::Age, step, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits =
        Limits { newer_entries: 20, max_reprieves: 3, max_expire_share: 0.25, max_expire_free: 10 };

    fn candidate(text: &str, newer: u64) -> Candidate {
        Candidate {
            entry: EntryId(crate::entry::hex(text.as_bytes(), 16)),
            text: text.into(),
            state: State::Buffered,
            reprieves: 0,
            newer,
            protected: false,
            connected: true,
            template: false,
        }
    }

    fn names(decision: &Decision) -> Vec<&'static str> {
        decision.steps.iter().map(|step| step.step.name()).collect()
    }

    fn run(candidates: &[Candidate]) -> Decision {
        decide(candidates, &BTreeMap::new(), 1000, &LIMITS, false)
    }

    #[test]
    fn the_trivial_fades_and_the_valuable_is_reprieved() {
        let decision = run(&[
            candidate("ok, done for now", 20),
            candidate("`init_pool` must run before fork, otherwise workers share a socket", 20),
        ]);
        assert_eq!(names(&decision), ["reprieve", "expire"]);
    }

    #[test]
    fn nothing_is_judged_before_the_project_has_moved_on() {
        assert!(run(&[candidate("ok, done for now", 19)]).steps.is_empty());
    }

    #[test]
    fn the_fourth_judgement_is_the_last() {
        let mut loner = candidate("`init_pool` must run before fork", 25);
        loner.reprieves = 3;
        assert_eq!(names(&run(&[loner])), ["expire"]);
    }

    #[test]
    fn no_answer_means_no_expiry() {
        let unclear = candidate("Observation about the lamp in the hall", 40);
        let decision = run(std::slice::from_ref(&unclear));
        assert!(decision.steps.is_empty());
        assert_eq!(decision.unanswered, [unclear.entry]);
    }

    #[test]
    fn a_mass_expiry_is_a_question() {
        let many: Vec<_> = (0..40).map(|n| candidate(&format!("ok {n}"), 30)).collect();
        let decision = decide(&many, &BTreeMap::new(), 60, &LIMITS, false);
        assert_eq!(decision.brake, Some(Brake { would_expire: 40, active: 60 }));
        assert!(decision.steps.is_empty());
        assert_eq!(decide(&many, &BTreeMap::new(), 60, &LIMITS, true).steps.len(), 40);
    }

    proptest! {
        #[test]
        fn protected_and_unconnected_entries_never_change(
            text in ".{0,60}", newer in 0u64..200, reprieves in 0u32..6, protected: bool,
        ) {
            let mut one = candidate(&text, newer);
            one.reprieves = reprieves;
            one.protected = protected;
            one.connected = !protected;
            if protected || !one.connected {
                prop_assert!(run(&[one]).steps.is_empty());
            } else {
                let again = run(std::slice::from_ref(&one));
                prop_assert_eq!(again, run(&[one]));
            }
        }
    }
}
