//! The observer's glue: batches from the queue, answers from a model, observations as entries.
//!
//! The buffer phase puts batches into the queue in the same transaction as the cursor of their
//! conversation, so none is lost and none is cut twice. Here each is *leased*, asked about, and
//! settled in one transaction with the entries it gave. A lease ends when its process dies; whatever
//! fails (server away, time-out, quota, unusable reply) leaves the batch in the queue with the
//! reason and the time of the next attempt. One that is too long for the model is halved.

pub mod events;

use super::consolidate::{self, StoreLedger, is_alive, world};
use super::{Context, Level};
use crate::clock::format_time;
use crate::error::Result;
use crate::model::{Answer, Ask, Chain, Failure, Missed, OBSERVE_RULES, Purpose};
use crate::store::{self, batches, conversations};
use lifecycle_phases::observe::{self, BatchState, Decision, StoredBatch};
use lifecycle_phases::{Phase, PlannedStep, Receipt, Step};
use lifecycle_phases::{consolidate::prompt, entry::EntryId};
use std::collections::{BTreeMap, BTreeSet};

/// How long a lease holds against a process that lives on (milliseconds).
const LEASE: i64 = 3_600_000;

/// Observes batches that are due, at most `observe.per_tick`.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    if !ctx.settings.observe.enabled {
        return Ok(());
    }
    free_dead(ctx)?;
    let mut work = Work::new(ctx)?;
    if work.chain.is_empty() {
        let waiting = work.waiting(ctx)?;
        if waiting > 0 {
            let text = format!("{waiting} batches wait to be observed: no model is configured");
            ctx.note(Level::Waiting, Phase::Buffer, text);
        }
        return Ok(());
    }
    if let Some(load) = consolidate::too_busy(ctx.settings.consolidate.max_load) {
        let text = format!("batches wait to be observed: the load average is {load:.1}");
        ctx.note(Level::Waiting, Phase::Buffer, text);
        return Ok(());
    }
    work.observe(ctx)?;
    work.note(ctx)
}

/// Frees the batches of processes that are gone.
fn free_dead(ctx: &mut Context<'_>) -> Result<()> {
    let now = ctx.now();
    let own = std::process::id();
    let dead: Vec<String> = batches::leases(ctx.store.reader())?
        .into_iter()
        .filter(|lease| lease.pid == own || !is_alive(lease.pid) || lease.until <= now)
        .map(|lease| lease.key)
        .collect();
    if dead.is_empty() {
        return Ok(());
    }
    consolidate::close_dead(ctx)?;
    ctx.store.write(|tx| dead.iter().try_for_each(|key| batches::free(tx, key, now)))
}

struct Work {
    chain: Chain,
    /// Models and prompt, by which a batch is judged.
    asked: String,
    /// Batches that this run has had in hand.
    seen: BTreeSet<String>,
    observed: usize,
    declined: usize,
    failed: BTreeMap<(Level, String), usize>,
    until: Option<i64>,
}

impl Work {
    fn new(ctx: &Context<'_>) -> Result<Self> {
        let own = &ctx.settings.observe.model;
        let names = if own.to_string().is_empty() { &ctx.settings.consolidate.model } else { own };
        let chain = Chain::new(&names.list(), &ctx.settings.consolidate, world(ctx)?)?;
        let models: Vec<String> = chain
            .providers()
            .map(|provider| format!("{}={}", provider.name, provider.model))
            .collect();
        Ok(Self {
            asked: format!("{} {}", models.join(","), prompt::version(OBSERVE_RULES)),
            chain,
            seen: BTreeSet::new(),
            observed: 0,
            declined: 0,
            failed: BTreeMap::new(),
            until: None,
        })
    }

    fn waiting(&self, ctx: &Context<'_>) -> Result<u64> {
        let counts = batches::batch_counts(ctx.store.reader())?;
        Ok(counts.iter().filter(|one| one.state == "waiting").map(|one| one.count).sum())
    }

    fn observe(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        loop {
            let left = ctx.settings.observe.per_tick.saturating_sub(self.seen.len());
            let due = self.lease(ctx, left.min(self.chain.width()))?;
            if due.is_empty() {
                return Ok(());
            }
            let asks: Vec<Ask> = due.iter().map(ask).collect();
            let outcomes = self.chain.ask_all(&asks, &mut StoreLedger { ctx: &mut *ctx })?;
            for (stored, outcome) in due.into_iter().zip(outcomes) {
                match outcome {
                    Ok(answer) => self.answered(ctx, stored, &answer)?,
                    Err(missed) => self.missed(ctx, stored, &missed)?,
                }
            }
            if self.chain.away().is_some() {
                return Ok(());
            }
        }
    }

    fn lease(&mut self, ctx: &mut Context<'_>, limit: usize) -> Result<Vec<StoredBatch>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let now = ctx.now();
        let (asked, seen) = (self.asked.clone(), self.seen.clone());
        let due =
            ctx.store.write(|tx| batches::lease(tx, &asked, now, now + LEASE, limit, &seen))?;
        self.seen.extend(due.iter().map(|stored| stored.key.clone()));
        Ok(due)
    }

    fn answered(
        &mut self,
        ctx: &mut Context<'_>,
        stored: StoredBatch,
        answer: &Answer,
    ) -> Result<()> {
        let parsed = observe::parse(answer.text.as_bytes());
        let taken = store::all_titles(ctx.store.reader(), stored.batch.project.as_deref())?;
        let decision =
            observe::decide(&stored.batch, &parsed, OBSERVE_RULES, &answer.model, &taken);
        record(ctx, &stored.key, &decision, answer)?;
        let steps = admissions(ctx, &decision, &answer.model)?;
        let settled = match &decision.nothing {
            None => {
                self.observed += 1;
                self.settled(stored, BatchState::Observed, String::new())
            }
            Some(Ok(reason)) => {
                self.declined += 1;
                self.settled(stored, BatchState::Declined, reason.clone())
            }
            Some(Err(reason)) if decision.again => self.again(ctx, stored, reason.clone(), true),
            Some(Err(reason)) => {
                self.count(Level::Info, format!("gave nothing: {}", name_of(reason)));
                // Another model may do better, so what happened is kept.
                StoredBatch {
                    state: BatchState::Refused,
                    reason: reason.clone(),
                    asked: self.asked.clone(),
                    attempts: stored.attempts + 1,
                    ..stored
                }
            }
        };
        ctx.perform_noting(steps, vec![Receipt::Batch { batch: Box::new(settled) }])
    }

    /// A batch that is done with: its events are dropped, its name stays.
    fn settled(&self, stored: StoredBatch, state: BatchState, reason: String) -> StoredBatch {
        let mut batch = stored.batch;
        batch.events.clear();
        StoredBatch { batch, state, reason, asked: self.asked.clone(), next_try: None, ..stored }
    }

    /// A batch that is tried again: after a wait that doubles, until it is stuck.
    fn again(
        &mut self,
        ctx: &Context<'_>,
        stored: StoredBatch,
        reason: String,
        counts: bool,
    ) -> StoredBatch {
        let settings = &ctx.settings.consolidate;
        let attempts = stored.attempts + u32::from(counts);
        let asked = self.asked.clone();
        if counts && attempts >= settings.stuck_after {
            self.count(Level::Failed, format!("stuck after {attempts} attempts: {reason}"));
            let state = BatchState::Stuck;
            return StoredBatch { state, attempts, next_try: None, reason, asked, ..stored };
        }
        self.count(Level::Failed, reason.clone());
        let minutes = i64::from(settings.retry_minutes) << (attempts.max(1) - 1).min(10);
        let next_try = counts.then(|| ctx.now() + minutes * 60_000);
        let state = BatchState::Waiting;
        StoredBatch { state, attempts, next_try, reason, asked, ..stored }
    }

    fn missed(
        &mut self,
        ctx: &mut Context<'_>,
        stored: StoredBatch,
        missed: &Missed,
    ) -> Result<()> {
        let reason = missed.failure.to_string();
        let receipts = match &missed.failure {
            Failure::Paused { until, .. } => {
                self.until = Some(self.until.map_or(*until, |known| known.min(*until)));
                self.count(Level::Waiting, reason.clone());
                let next_try = Some(*until);
                let asked = self.asked.clone();
                vec![StoredBatch { state: BatchState::Waiting, next_try, reason, asked, ..stored }]
            }
            Failure::PromptTooLong { .. } => match observe::halves(&stored.batch) {
                Some(halves) => {
                    let mut both: Vec<StoredBatch> = halves.map(StoredBatch::new).into();
                    both.push(self.settled(stored, BatchState::Halved, reason));
                    both
                }
                None => {
                    self.count(Level::Failed, format!("stuck: {reason}"));
                    let (state, asked) = (BatchState::Stuck, self.asked.clone());
                    vec![StoredBatch { state, reason, asked, ..stored }]
                }
            },
            failure => {
                let counts = !failure.concerns_server();
                vec![self.again(ctx, stored, reason, counts)]
            }
        };
        let receipts = receipts.into_iter().map(Box::new).map(|batch| Receipt::Batch { batch });
        ctx.perform_noting(Vec::new(), receipts.collect())
    }

    fn count(&mut self, level: Level, reason: String) {
        *self.failed.entry((level, reason)).or_default() += 1;
    }

    /// One note for each reason, not one for each batch.
    fn note(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        for ((level, reason), count) in std::mem::take(&mut self.failed) {
            let until = self.until.filter(|_| level == Level::Waiting);
            let until =
                until.map(|at| format!("; goes on at {}", format_time(at))).unwrap_or_default();
            let batches =
                if count == 1 { "1 batch".to_string() } else { format!("{count} batches") };
            ctx.note(level, Phase::Buffer, format!("{batches} {reason}{until}"));
        }
        if self.observed + self.declined > 0 {
            let all = self.observed + self.declined;
            let text = format!(
                "{all} batch{} observed, {} of them with nothing worth keeping",
                if all == 1 { "" } else { "es" },
                self.declined
            );
            ctx.note(Level::Info, Phase::Buffer, text);
        }
        let waiting = self.waiting(ctx)?;
        if waiting > 0 {
            let text = format!("{waiting} batches wait to be observed");
            ctx.note(Level::Waiting, Phase::Buffer, text);
        }
        Ok(())
    }
}

/// The first words of a reason, which say what kind it is.
fn name_of(reason: &str) -> &str {
    let end = reason.match_indices(':').nth(1).map_or(reason.len(), |(at, _)| at);
    &reason[..end]
}

fn ask(stored: &StoredBatch) -> Ask {
    let question = observe::question(&stored.batch, OBSERVE_RULES);
    Ask {
        purpose: Purpose::Observe,
        cluster: Some(stored.key.clone()),
        rules: question.rules,
        data: question.data,
        schema: Some(question.schema),
        strict_schema: Some(question.strict_schema),
        prompt_version: prompt::version(OBSERVE_RULES),
        max_tokens: None,
    }
}

/// Steps for the observations that are not stored yet.
fn admissions(ctx: &Context<'_>, decision: &Decision, model: &str) -> Result<Vec<PlannedStep>> {
    let ids: Vec<EntryId> = decision.entries.iter().map(|entry| entry.id.clone()).collect();
    let known = conversations::known(ctx.store.reader(), &ids)?;
    let is_new = |id: &EntryId| known.iter().all(|known| known.id != *id);
    Ok(decision
        .entries
        .iter()
        .filter(|entry| is_new(&entry.id))
        .map(|entry| {
            let step = Step::Admit { entry: Box::new(entry.clone()) };
            PlannedStep::new(Phase::Buffer, step, format!("observed by {model}"))
        })
        .collect())
}

fn record(ctx: &mut Context<'_>, key: &str, decision: &Decision, answer: &Answer) -> Result<()> {
    let measures = &decision.measures;
    let hash = lifecycle_phases::ContentHash::of(&answer.text).0;
    let row = store::QualityRow {
        call: Some(answer.call),
        at: ctx.now(),
        provider: &answer.provider,
        model: &answer.model,
        cluster: key,
        accepted: decision.entries.len(),
        refused: &measures.refused,
        coverage: None,
        quoted: 0,
        bad_kinds: measures.bad_kinds,
        bad_attribution: measures.bad_attribution > 0,
        duplicate_title: measures.duplicate_titles > 0,
        no_file: measures.no_file > 0,
        kept_reason: None,
        chars: measures.chars,
        text_hash: &hash,
        purpose: "observe",
    };
    ctx.store.write(|tx| store::insert_quality(tx, &row))?;
    match measures.refused.first() {
        Some(judged) => ctx.store.write(|tx| store::judge_call(tx, answer.call, judged)),
        None => Ok(()),
    }
}
