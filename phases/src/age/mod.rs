//! **age**: entries that nothing connects to fade. Connection decides, not time.
//!
//! An entry comes up for judgement when it has no active link and its project has moved on by
//! [`Limits::newer_entries`] entries since it came (or since its last reprieve). Then its substance
//! is judged: by fixed signals first ([`substance`]), by a model only where those do not decide.
//! Substance earns a reprieve, at most [`Limits::max_reprieves`] times; the rest expire. A reprieve
//! lasts until the project has grown [`Limits::growth`]fold: twenty more entries say little where
//! there are a thousand already, and an entry that was looked at among more of them has stood a
//! harder test. So the number of reprieves bounds how long a loner stays in a project that goes on
//! growing, and the size of the project does not. Protected entries never come up. An entry without a vector never expires, since nobody has looked whether
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
    /// Entries of its project when it came, or at its last reprieve.
    pub then: u64,
    /// The copies of the form that it is one of, where it is a record of a fixed form.
    pub copies: Option<Copies>,
}

/// The active entries of a project that are copies of one form: a noise cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The form was learned from copies in the store, so that it may leave room for a statement.
    pub learned: bool,
    /// How many there are.
    pub count: u64,
    /// This is the newest of them: the one that stays.
    pub newest: bool,
    /// One of them is protected: all stay.
    pub protected: bool,
}

/// Copies of a form that are a noise cluster, which fades but for one of them.
const NOISE: u64 = 3;

/// The settings of the phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Newer entries a project must have before an isolated entry is judged.
    pub newer_entries: u64,
    /// How many times as large a project must be as it was at a reprieve before the entry is judged
    /// again.
    pub growth: u64,
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
        && candidate.newer >= needed(candidate.reprieves, candidate.then, limits)
        && !candidate.copies.is_some_and(Copies::keep)
}

/// Newer entries that a project must have before an entry is judged that was reprieved so often,
/// when the project had `then` entries.
pub fn needed(reprieves: u32, then: u64, limits: &Limits) -> u64 {
    let growth = match reprieves {
        0 => 0,
        _ => then.saturating_mul(limits.growth.saturating_sub(1)),
    };
    limits.newer_entries.max(growth)
}

impl Copies {
    /// Whether this copy stays whatever it says: the representative of a noise cluster, and every
    /// copy of one that has a protected entry.
    fn keep(self) -> bool {
        self.count >= NOISE && (self.newest || self.protected)
    }
}

fn judge(candidate: &Candidate) -> Substance {
    let found = substance(&candidate.text);
    match candidate.copies {
        Some(Copies { learned: false, .. }) => {
            Substance::Trivial("a record of a fixed form without content of its own")
        }
        // Names and numbers are what varies between copies and no sign of a statement.
        Some(_) if !found.is_stated() => Substance::Trivial("a copy of a form that is often seen"),
        _ => found,
    }
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

    const LIMITS: Limits = Limits {
        newer_entries: 20,
        growth: 4,
        max_reprieves: 3,
        max_expire_share: 0.25,
        max_expire_free: 10,
    };

    fn candidate(text: &str, newer: u64) -> Candidate {
        Candidate {
            entry: EntryId(crate::entry::hex(text.as_bytes(), 16)),
            text: text.into(),
            state: State::Buffered,
            reprieves: 0,
            newer,
            protected: false,
            connected: true,
            then: 1,
            copies: None,
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
    fn a_reprieve_lasts_until_the_project_has_grown() {
        let mut loner = candidate("`init_pool` must run before fork", 299);
        (loner.reprieves, loner.then) = (1, 100);
        assert!(run(std::slice::from_ref(&loner)).steps.is_empty());
        loner.newer = 300;
        assert_eq!(names(&run(&[loner])), ["reprieve"]);
    }

    fn copy(text: &str, copies: Copies) -> Candidate {
        Candidate { copies: Some(copies), ..candidate(text, 30) }
    }

    const COPY: Copies = Copies { learned: false, count: 6, newest: false, protected: false };

    #[test]
    fn of_a_noise_cluster_the_newest_stays() {
        let text = "AUTO-SAVE project=p files: a.rs";
        assert_eq!(names(&run(&[copy(text, COPY)])), ["expire"]);
        assert!(run(&[copy(text, Copies { newest: true, ..COPY })]).steps.is_empty());
        assert!(run(&[copy(text, Copies { protected: true, ..COPY })]).steps.is_empty());
        let two = Copies { newest: true, count: 2, ..COPY };
        assert_eq!(names(&run(&[copy(text, two)])), ["expire"]);
    }

    #[test]
    fn a_copy_of_a_learned_form_stays_where_it_states_something() {
        let learned = Copies { learned: true, ..COPY };
        let line = "kestrel finished rollout of billing-api onto sapphire by mareike";
        assert_eq!(names(&run(&[copy(line, learned)])), ["expire"]);
        let stated = "the billing-api must be stopped before sapphire is restarted";
        assert_eq!(names(&run(&[copy(stated, learned)])), ["reprieve"]);
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
