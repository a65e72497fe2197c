//! A cluster made ready: its notes in order, what replaces what, and the steps it can become.

use super::decide::{Draft, Rejection};
use super::extractive;
use super::note::{Cluster, Note, notes};
use super::prompt::{Question, question};
use super::records::are_numbered;
use super::values::{Comparison, compare};
use crate::entry::{Entry, EntryId};
use crate::plan::{Phase, PlannedStep};
use crate::step::{ClusterOutcome, Link, Step};
use std::collections::BTreeSet;

/// Thresholds of the phase.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries a cluster needs.
    pub min_cluster: usize,
    /// Share of the sources' facts that a model's own text must keep (0 to 1).
    pub min_coverage: f64,
    /// Longest text of a proven entry (bytes).
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { min_cluster: 3, min_coverage: 0.5, max_bytes: 6000 }
    }
}

/// A cluster made ready.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Name of the cluster.
    pub key: String,
    /// Every member.
    pub members: Vec<EntryId>,
    /// The notes that can be merged, oldest first.
    pub notes: Vec<Note>,
    /// What replaces what among them.
    pub found: Comparison,
    /// Contradictions that dates do not settle; their notes stay out.
    pub conflicts: Vec<String>,
    /// Active links of the members.
    pub links: Vec<Link>,
    /// Proven entries that the result replaces.
    pub replaces: Vec<Entry>,
}

/// Orders the notes, finds what replaces what, and sets contradicting notes aside.
pub fn prepare(cluster: &Cluster) -> Prepared {
    let mut all = notes(cluster);
    let mut found = compare(&all);
    let conflicts: Vec<String> = found.contradictions.iter().map(|c| c.about.clone()).collect();
    let aside: BTreeSet<EntryId> = found
        .contradictions
        .iter()
        .flat_map(|c| [all[c.a].id().clone(), all[c.b].id().clone()])
        .collect();
    if !aside.is_empty() {
        let rest = Cluster {
            members: cluster.members.iter().filter(|e| !aside.contains(&e.id)).cloned().collect(),
            ..Cluster::default()
        };
        all = notes(&rest);
        found = compare(&all);
    }
    Prepared {
        key: cluster.key(),
        members: cluster.members.iter().map(|entry| entry.id.clone()).collect(),
        notes: all,
        found,
        conflicts,
        links: cluster.links.clone(),
        replaces: cluster.replaces.clone(),
    }
}

impl Prepared {
    /// Whether enough notes are left once contradictions are set aside, and they speak of one thing.
    pub fn is_mergeable(&self, limits: &Limits) -> bool {
        self.notes.len() >= limits.min_cluster && !are_numbered(&self.notes)
    }

    /// Why a cluster that is not mergeable stays as it is.
    pub fn set_aside(&self) -> Rejection {
        let rejection = |outcome, reason: &str| Rejection { outcome, reason: reason.into() };
        match self.conflict() {
            Some(conflict) => conflict,
            None if are_numbered(&self.notes) => rejection(
                ClusterOutcome::Declined,
                "records that a running number tells apart, not one fact",
            ),
            None => rejection(ClusterOutcome::Waiting, "too few entries"),
        }
    }

    /// The question for a model. `rules` is the text of `config/prompts/merge.md`.
    pub fn question(&self, rules: &str) -> Question {
        question(&self.key, rules, &self.notes, &self.found, &self.links)
    }

    /// The sentences whose vectors extractive consolidation wants.
    pub fn sentence_texts(&self) -> Vec<String> {
        extractive::candidates(&self.notes, &self.found)
            .into_iter()
            .map(|(n, s)| self.notes[n].sentences[s].text.clone())
            .collect()
    }

    /// The rejection for contradictions, where there are any.
    pub fn conflict(&self) -> Option<Rejection> {
        (!self.conflicts.is_empty()).then(|| Rejection {
            outcome: ClusterOutcome::Conflict,
            reason: format!(
                "contradiction that dates do not settle: {}",
                self.conflicts.join("; ")
            ),
        })
    }

    /// The step that records why the cluster stays as it is.
    pub fn reject(
        &self,
        rejection: &Rejection,
        attempts: u32,
        next_try: Option<i64>,
    ) -> PlannedStep {
        let step = Step::RejectCluster {
            cluster: self.key.clone(),
            members: self.members.clone(),
            outcome: rejection.outcome,
            reason: rejection.reason.clone(),
            attempts,
            next_try,
        };
        PlannedStep::new(Phase::Consolidate, step, rejection.reason.clone())
    }

    /// The merge, once the vector of its text is known. `calls` are ledger ids.
    pub fn merge(
        &self,
        draft: &Draft,
        descriptor: &str,
        vector: Vec<f32>,
        calls: Vec<i64>,
    ) -> PlannedStep {
        let ends = draft.sources.iter().chain(&draft.replaces);
        let ids: BTreeSet<&EntryId> = ends.map(|end| &end.entry).collect();
        let links = self.links.iter().filter(|link| ids.contains(&link.a) || ids.contains(&link.b));
        let step = Step::Merge {
            cluster: self.key.clone(),
            proven: Box::new(draft.entry.clone()),
            sources: draft.sources.clone(),
            links: links.cloned().collect(),
            replaces: draft.replaces.clone(),
            descriptor: descriptor.to_string(),
            vector,
            calls,
        };
        PlannedStep::new(Phase::Consolidate, step, draft.reason.clone())
    }
}
