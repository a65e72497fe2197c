//! What did not become knowledge, when it is tried again, and how the report says so.

use super::super::{Context, Level};
use crate::clock::format_time;
use crate::error::Result;
use crate::model::Failure;
use crate::store;
use lifecycle_phases::Phase;
use lifecycle_phases::consolidate::{Decision, Prepared, Rejection};
use lifecycle_phases::step::ClusterOutcome;
use std::collections::BTreeMap;

/// A rejection, and whether it counts towards being stuck.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Outcome and reason.
    pub rejection: Rejection,
    /// Whether the cluster itself is to blame; a server that is away is nobody's fault.
    pub counts: bool,
    /// Not before (milliseconds UTC).
    pub until: Option<i64>,
}

impl Failed {
    fn new(outcome: ClusterOutcome, reason: impl Into<String>, counts: bool) -> Self {
        Self { rejection: Rejection { outcome, reason: reason.into() }, counts, until: None }
    }

    /// No model is configured.
    pub fn no_model() -> Self {
        Self::new(ClusterOutcome::Waiting, "no model is configured", false)
    }

    /// The vector of the merge could not be made, so its sources must stay.
    pub fn not_embedded(why: &str) -> Self {
        Self::new(ClusterOutcome::Failed, format!("the merge could not be embedded: {why}"), false)
    }

    /// Nothing is asked about it.
    pub fn set_aside(prepared: &Prepared) -> Self {
        Self { rejection: prepared.set_aside(), counts: false, until: None }
    }

    /// What a decision without a draft says.
    pub fn of(decision: &Decision) -> Self {
        let rejection = decision.rejection.clone().unwrap_or(Rejection {
            outcome: ClusterOutcome::Refused,
            reason: "no entry passed".into(),
        });
        Self { counts: rejection.outcome == ClusterOutcome::Failed, rejection, until: None }
    }

    /// What a failed request means for its cluster.
    pub fn from_failure(failure: &Failure) -> Self {
        match failure {
            Failure::Paused { until, .. } => Self {
                until: Some(*until),
                ..Self::new(ClusterOutcome::Paused, failure.to_string(), false)
            },
            Failure::Blocked(_) | Failure::PromptTooLong { .. } => {
                Self::new(ClusterOutcome::Refused, failure.to_string(), true)
            }
            _ => Self::new(ClusterOutcome::Failed, failure.to_string(), !failure.concerns_server()),
        }
    }

    /// The rejection after that many attempts, and when it is tried again: at the next run where
    /// the server was away, else after a wait that doubles, until it is stuck.
    pub fn scheduled(
        mut self,
        attempts: u32,
        stuck_after: u32,
        minutes: u32,
        now: i64,
    ) -> (Self, Option<i64>) {
        if self.rejection.outcome != ClusterOutcome::Failed {
            let until = self.until;
            return (self, until);
        }
        if self.counts && attempts >= stuck_after {
            self.rejection.outcome = ClusterOutcome::Stuck;
            self.rejection.reason =
                format!("stuck after {attempts} attempts: {}", self.rejection.reason);
            return (self, None);
        }
        let wait = if self.counts {
            i64::from(minutes) * 60_000 * (1 << (attempts.max(1) - 1).min(10))
        } else {
            0
        };
        (self, Some(now + wait).filter(|_| wait > 0))
    }
}

/// What the phase came to.
#[derive(Default)]
pub struct Outcomes {
    entries: usize,
    by_reason: BTreeMap<(ClusterOutcome, String), usize>,
    until: Option<i64>,
    fallbacks: BTreeMap<String, usize>,
    kept: usize,
    reused: usize,
    split: usize,
}

impl Outcomes {
    /// That many proven entries were made of a cluster.
    pub fn merged(&mut self, entries: usize, conflicting: bool) {
        self.entries += entries;
        if conflicting {
            let key = (ClusterOutcome::Conflict, "a contradiction was set aside".to_string());
            *self.by_reason.entry(key).or_default() += 1;
        }
    }

    /// A cluster stays as it is.
    pub fn rejected(&mut self, failed: &Failed) {
        let rejection = &failed.rejection;
        *self.by_reason.entry((rejection.outcome, rejection.reason.clone())).or_default() += 1;
        if let Some(until) = failed.until {
            self.until = Some(self.until.map_or(until, |known| known.min(until)));
        }
    }

    /// A merge made without a model stays, since no model made a better one.
    pub fn kept(&mut self) {
        self.kept += 1;
    }

    /// An answer of an earlier run served, nothing was sent.
    pub fn reused(&mut self, kept: bool) {
        self.reused += usize::from(kept);
    }

    /// A cluster that was too long is asked about in parts.
    pub fn split(&mut self, any: bool) {
        self.split += usize::from(any);
    }

    /// Providers that were passed over for `taken`.
    pub fn fallbacks(&mut self, passed: &[String], taken: &str) {
        for one in passed {
            *self.fallbacks.entry(format!("{one}; {taken} was taken instead")).or_default() += 1;
        }
    }

    /// Writes the notes: one for each reason, not one for each cluster.
    pub fn note(self, ctx: &mut Context<'_>) -> Result<()> {
        for (text, times) in self.fallbacks {
            ctx.note(Level::Info, Phase::Consolidate, format!("fallback ({times}): {text}"));
        }
        for ((outcome, reason), count) in &self.by_reason {
            let level = match outcome {
                ClusterOutcome::Failed | ClusterOutcome::Stuck | ClusterOutcome::Refused => {
                    Level::Failed
                }
                ClusterOutcome::Conflict | ClusterOutcome::Paused | ClusterOutcome::Waiting => {
                    Level::Waiting
                }
                ClusterOutcome::Declined | ClusterOutcome::Undone => Level::Info,
            };
            let clusters =
                if *count == 1 { "1 cluster".to_string() } else { format!("{count} clusters") };
            let until = self.until.filter(|_| *outcome == ClusterOutcome::Paused);
            let until =
                until.map(|at| format!("; goes on at {}", format_time(at))).unwrap_or_default();
            ctx.note(level, Phase::Consolidate, format!("{clusters} {outcome}: {reason}{until}"));
        }
        let counted = [
            (self.reused, "answers that an earlier run had paid for were used; nothing was sent"),
            (self.split, "clusters exceed the context or the output budget and go in parts"),
        ];
        for (count, text) in counted.into_iter().filter(|(count, _)| *count > 0) {
            ctx.note(Level::Info, Phase::Consolidate, format!("{count} {text}"));
        }
        if self.kept > 0 {
            let text = format!("{} merges made without a model stay as they are", self.kept);
            ctx.note(Level::Info, Phase::Consolidate, text);
        }
        let balance = store::balance(ctx.store.reader(), ctx.tick)?;
        if ctx.tick.is_some() && !balance.is_settled() {
            let text = format!("the account of model requests does not balance: {balance:?}");
            ctx.note(Level::Failed, Phase::Consolidate, text);
        }
        Ok(())
    }
}
