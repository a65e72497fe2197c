//! Glue of the consolidate phase: clusters from the store, answers from a model or none, proven
//! entries or the reason why not.
//!
//! One cluster is one request and one transaction at its end. Whatever fails leaves the sources as
//! they were and a row that says why and when it is tried again.

mod kept;
mod ledger;
mod outcome;
mod pin;
mod sources;

pub use kept::{Captured, message_of};
pub use ledger::{StoreLedger, close_dead, is_alive};
pub use pin::{differences as pin_differences, set as set_pin};
pub use sources::{clusters as pending, expand, originals};

use super::{Context, Door, Level};
use crate::embed::{Embedder, Role};
use crate::error::Result;
use crate::model::{Answer, Ask, Chain, Failure, MERGE_RULES, Missed, Purpose, World};
use crate::progress::Progress;
use crate::store::{self, ClusterRow};
use lifecycle_phases::Phase;
use lifecycle_phases::consolidate::{
    self, Cluster, Decision, Limits, Prepared, Question, extractive, prompt, reply,
};
use lifecycle_phases::step::ClusterOutcome;
use outcome::{Failed, Outcomes};
use std::collections::VecDeque;

/// Key of the counter of runs that a busy machine postponed.
pub const POSTPONED: &str = "consolidate.postponed";

/// Consolidates the clusters that are due.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let aborted = ledger::close_dead(ctx)?;
    if aborted > 0 {
        let text = format!("{aborted} model requests of a killed run are counted as aborted");
        ctx.note(Level::Info, Phase::Consolidate, text);
    }
    let mut work = Work::new(ctx)?;
    let due = work.due(ctx)?;
    if due.is_empty() {
        return sources::looked_at(ctx);
    }
    if let Some(load) = too_busy(ctx.settings.consolidate.max_load) {
        ctx.store.write(|tx| store::count_up(tx, POSTPONED))?;
        let text = format!("{} clusters wait: the load average is {load:.1}", due.len());
        ctx.note(Level::Waiting, Phase::Consolidate, text);
        return sources::look_again(ctx);
    }
    if let Err(error) = pin::compare(ctx, &mut work.chain) {
        ctx.note(Level::Info, Phase::Consolidate, error.message);
    }
    work.consolidate(ctx, due)?;
    sources::looked_at(ctx)?;
    let outcomes = std::mem::take(&mut work.outcomes);
    outcomes.note(ctx)
}

/// The load average, where it is above the limit.
pub fn too_busy(limit: f64) -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok().filter(|_| limit > 0.0)?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    (load > limit).then_some(load)
}

/// The state of the phase.
struct Work {
    chain: Chain,
    /// Whether what no model merged is merged without one.
    extractive: bool,
    limits: Limits,
    /// Models and prompt, by which a cluster is judged.
    asked: String,
    outcomes: Outcomes,
    /// Parts of clusters that were too long, yet to be asked about.
    parts: Vec<Due>,
}

/// The cluster without what the engine wrote itself: older entries may hold it.
fn without_own(cluster: &Cluster, wordings: &[String]) -> Cluster {
    let mut cluster = cluster.clone();
    for entry in &mut cluster.members {
        entry.text = lifecycle_phases::own::without_own(&entry.text, wordings);
    }
    cluster.members.retain(|entry| !entry.text.trim().is_empty());
    cluster
}

/// A cluster that is due, with its row from before.
struct Due {
    cluster: Cluster,
    prepared: Prepared,
    before: Option<ClusterRow>,
    /// Merged without a model before; a model may do better, and nothing is amiss if it does not.
    again: bool,
}

impl Work {
    fn new(ctx: &Context<'_>) -> Result<Self> {
        let settings = &ctx.settings.consolidate;
        let names = settings.model.list();
        let chain = Chain::new(&names, settings, world(ctx)?)?;
        let version = prompt::version(MERGE_RULES);
        let models: Vec<String> = chain
            .providers()
            .map(|provider| format!("{}={}", provider.name, provider.model))
            .collect();
        let extractive = names.contains(&extractive::NAME);
        Ok(Self {
            chain,
            extractive,
            limits: Limits {
                min_cluster: settings.min_cluster,
                min_coverage: settings.min_coverage,
                max_bytes: settings.max_text_bytes,
            },
            asked: format!(
                "{} {version}{}",
                models.join(","),
                if extractive { " extractive" } else { "" }
            ),
            outcomes: Outcomes::default(),
            parts: Vec::new(),
        })
    }

    /// Clusters whose time has come.
    fn due(&self, ctx: &Context<'_>) -> Result<Vec<Due>> {
        let now = ctx.now();
        let mut due = Vec::new();
        for cluster in sources::touched(ctx)? {
            self.consider(ctx, &cluster, now, false, &mut due)?;
        }
        if !self.chain.is_empty() {
            let most = due.len() + ctx.settings.consolidate.redo;
            for cluster in sources::extractive(ctx)? {
                if due.len() < most {
                    self.consider(ctx, &cluster, now, true, &mut due)?;
                }
            }
        }
        Ok(due)
    }

    fn consider(
        &self,
        ctx: &Context<'_>,
        cluster: &Cluster,
        now: i64,
        again: bool,
        due: &mut Vec<Due>,
    ) -> Result<()> {
        let cluster = &without_own(cluster, &ctx.settings.capture.own_wordings);
        let before = store::cluster(ctx.store.reader(), &cluster.key())?;
        if before.as_ref().is_none_or(|row| self.is_due(row, now)) {
            let (prepared, cluster) = (consolidate::prepare(cluster), cluster.clone());
            due.push(Due { cluster, prepared, before, again });
        }
        Ok(())
    }

    fn is_due(&self, row: &ClusterRow, now: i64) -> bool {
        let other_models = row.asked != self.asked;
        match row.outcome {
            ClusterOutcome::Waiting => other_models || !self.chain.is_empty(),
            ClusterOutcome::Failed | ClusterOutcome::Paused => {
                other_models || row.next_try.is_none_or(|at| at <= now)
            }
            ClusterOutcome::Stuck | ClusterOutcome::Declined | ClusterOutcome::Refused => {
                other_models
            }
            ClusterOutcome::Conflict | ClusterOutcome::Undone => false,
        }
    }

    fn consolidate(&mut self, ctx: &mut Context<'_>, due: Vec<Due>) -> Result<()> {
        let (ready, aside): (Vec<Due>, Vec<Due>) =
            due.into_iter().partition(|due| due.prepared.is_mergeable(&self.limits));
        for due in aside {
            self.reject(ctx, &due, Failed::set_aside(&due.prepared))?;
        }
        let progress = Progress::of("merging clusters", ready.len());
        let mut rest = VecDeque::from(ready);
        while !rest.is_empty() {
            let width = self.chain.width().min(rest.len());
            let batch: Vec<Due> = rest.drain(..width).collect();
            let size = batch.len();
            self.batch(ctx, batch)?;
            rest.extend(self.parts.drain(..));
            progress.add(size);
        }
        Ok(())
    }

    fn batch(&mut self, ctx: &mut Context<'_>, batch: Vec<Due>) -> Result<()> {
        if self.chain.is_empty() {
            for due in batch {
                self.without_model(ctx, &due, Failed::no_model())?;
            }
            return Ok(());
        }
        let asks: Vec<Ask> =
            batch.iter().map(|due| ask(due.prepared.question(MERGE_RULES))).collect();
        let outcomes = self.chain.ask_all(&asks, &mut StoreLedger { ctx: &mut *ctx })?;
        for (due, outcome) in batch.into_iter().zip(outcomes) {
            kept::keep(ctx, &due.cluster, &outcome)?;
            match outcome {
                Ok(answer) => self.answered(ctx, &due, &answer)?,
                Err(missed) => self.missed(ctx, &due, &missed)?,
            }
        }
        Ok(())
    }

    fn answered(&mut self, ctx: &mut Context<'_>, due: &Due, answer: &Answer) -> Result<()> {
        self.outcomes.fallbacks(&answer.fallbacks, &answer.provider);
        self.outcomes.reused(answer.kept);
        let parsed = reply::parse(answer.text.as_bytes());
        let taken = taken_titles(ctx, &due.prepared)?;
        let decision = consolidate::decide(
            &due.prepared,
            &parsed,
            MERGE_RULES,
            &self.limits,
            &answer.model,
            &taken,
        );
        let judged = decision.measures.refused.first().copied().unwrap_or("");
        let of_use = !decision.drafts.is_empty();
        ctx.store.write(|tx| {
            if !judged.is_empty() {
                store::judge_call(tx, answer.call, judged)?;
            }
            if of_use { Ok(()) } else { store::use_calls(tx, &answer.calls) }
        })?;
        let source = Source {
            call: Some(answer.call),
            provider: &answer.provider,
            model: &answer.model,
            text: &answer.text,
        };
        if decision.drafts.is_empty() && self.extractive && !due.again {
            self.record(ctx, &due.prepared, &decision, &source)?;
            return self.without_model(ctx, due, Failed::of(&decision));
        }
        self.apply(ctx, due, decision, &source, answer.calls.clone())
    }

    fn missed(&mut self, ctx: &mut Context<'_>, due: &Due, missed: &Missed) -> Result<()> {
        let too_long =
            matches!(missed.failure, Failure::PromptTooLong { .. } | Failure::OutputTruncated(_));
        if too_long && !due.again && self.split(ctx, due)? {
            return Ok(());
        }
        if self.extractive {
            self.outcomes.fallbacks(&missed.fallbacks, extractive::NAME);
        }
        self.without_model(ctx, due, Failed::from_failure(&missed.failure))
    }

    /// Cuts a cluster that is too long into parts, each with whole notes and asked about by itself.
    /// `false` where there is no such cut, or no part whose time has come.
    fn split(&mut self, ctx: &Context<'_>, due: &Due) -> Result<bool> {
        let Some(parts) = consolidate::split(&due.cluster, self.limits.min_cluster) else {
            return Ok(false);
        };
        let mut asked = Vec::new();
        for part in parts.iter().filter(|part| part.is_fresh()) {
            self.consider(ctx, part, ctx.now(), false, &mut asked)?;
        }
        asked.retain(|part| part.prepared.is_mergeable(&self.limits));
        let any = !asked.is_empty();
        self.outcomes.split(any);
        self.parts.append(&mut asked);
        Ok(any)
    }

    /// Merges without a model where the settings allow it; else the cluster stays as it is.
    fn without_model(&mut self, ctx: &mut Context<'_>, due: &Due, failed: Failed) -> Result<()> {
        if !self.extractive || due.again {
            return self.reject(ctx, due, failed);
        }
        let embedder = ctx.embedder()?;
        let vectors = sentence_vectors(&*embedder, &due.prepared);
        let taken = taken_titles(ctx, &due.prepared)?;
        let decision =
            consolidate::decide_extractive(&due.prepared, &vectors, &self.limits, &taken);
        let source =
            Source { call: None, provider: extractive::NAME, model: extractive::NAME, text: "" };
        self.apply(ctx, due, decision, &source, Vec::new())
    }

    /// Performs what was decided: the merge once its text has a vector, else the rejection.
    fn apply(
        &mut self,
        ctx: &mut Context<'_>,
        due: &Due,
        decision: Decision,
        source: &Source<'_>,
        calls: Vec<i64>,
    ) -> Result<()> {
        self.record(ctx, &due.prepared, &decision, source)?;
        if decision.drafts.is_empty() {
            return self.reject(ctx, due, Failed::of(&decision));
        }
        let embedder = ctx.embedder()?;
        let texts: Vec<String> =
            decision.drafts.iter().map(|draft| draft.entry.text.clone()).collect();
        let vectors: std::result::Result<Vec<Vec<f32>>, _> =
            embedder.embed(&texts, Role::Document).into_iter().collect();
        let vectors = match vectors {
            Ok(vectors) => vectors,
            Err(error) => return self.reject(ctx, due, Failed::not_embedded(&error.to_string())),
        };
        let id = embedder.descriptor().id();
        let mut steps: Vec<_> = decision
            .drafts
            .iter()
            .zip(vectors)
            .map(|(draft, vector)| due.prepared.merge(draft, &id, vector, calls.clone()))
            .collect();
        steps.extend(
            due.prepared.conflict().map(|conflict| due.prepared.reject(&conflict, 0, None)),
        );
        let key = due.prepared.key.clone();
        let conflicting = !due.prepared.conflicts.is_empty();
        ctx.perform_with(steps, |tx| {
            if conflicting { Ok(()) } else { store::forget_cluster(tx, &key) }
        })?;
        self.outcomes.merged(decision.drafts.len(), conflicting);
        Ok(())
    }

    fn reject(&mut self, ctx: &mut Context<'_>, due: &Due, failed: Failed) -> Result<()> {
        let settings = &ctx.settings.consolidate;
        let before = due.before.as_ref().filter(|row| row.asked == self.asked);
        let attempts = before.map_or(0, |row| row.attempts) + u32::from(failed.counts);
        let (failed, next_try) =
            failed.scheduled(attempts, settings.stuck_after, settings.retry_minutes, ctx.now());
        if due.again {
            // The merge without a model stays. Only what a model judged is not asked again.
            self.outcomes.kept();
            if failed.rejection.outcome == ClusterOutcome::Failed || failed.until.is_some() {
                return Ok(());
            }
        } else {
            self.outcomes.rejected(&failed);
        }
        let same = before.is_some_and(|row| {
            row.outcome == failed.rejection.outcome && !failed.counts && row.next_try == next_try
        });
        if same {
            // Nothing new to say: a run that changes nothing writes nothing.
            return Ok(());
        }
        let step = due.prepared.reject(&failed.rejection, attempts, next_try);
        let (key, asked) = (due.prepared.key.clone(), self.asked.clone());
        ctx.perform_with(vec![step], |tx| store::set_asked(tx, &key, &asked))
    }

    fn record(
        &self,
        ctx: &mut Context<'_>,
        prepared: &Prepared,
        decision: &Decision,
        source: &Source<'_>,
    ) -> Result<()> {
        let hash = lifecycle_phases::ContentHash::of(source.text).0;
        let row = store::QualityRow {
            call: source.call,
            at: ctx.now(),
            provider: source.provider,
            model: source.model,
            cluster: &prepared.key,
            text_hash: &hash,
            ..store::QualityRow::of(decision)
        };
        ctx.store.write(|tx| store::insert_quality(tx, &row))
    }
}

/// Where a text comes from.
struct Source<'a> {
    call: Option<i64>,
    provider: &'a str,
    model: &'a str,
    text: &'a str,
}

/// Clock, waiting and redaction of a run.
pub fn world(ctx: &Context<'_>) -> Result<World> {
    let clock = ctx.clock;
    let doors = ctx.doors.clone();
    Ok(World {
        now: Box::new(move || clock.now()),
        wait: Box::new(std::thread::sleep),
        redact: Box::new(move |text, leaves| {
            if leaves { doors.pass(Door::Model, text) } else { doors.as_it_would_pass(text) }
        }),
    })
}

/// The question as the chain takes it.
pub fn ask(question: Question) -> Ask {
    Ask {
        purpose: Purpose::Merge,
        cluster: Some(question.cluster),
        rules: question.rules,
        data: question.data,
        schema: Some(question.schema),
        strict_schema: Some(question.strict_schema),
        prompt_version: prompt::version(MERGE_RULES),
        max_tokens: None,
    }
}

/// Titles of the project's other proven entries.
fn taken_titles(
    ctx: &Context<'_>,
    prepared: &Prepared,
) -> Result<std::collections::BTreeSet<String>> {
    let project = prepared.notes.first().and_then(|note| note.entry.project.clone());
    let mut titles = store::titles(ctx.store.reader(), project.as_deref())?;
    for old in &prepared.replaces {
        titles.remove(&old.title.clone().unwrap_or_default().to_lowercase());
    }
    Ok(titles)
}

/// Vectors of the sentences that extractive consolidation chooses from. A sentence that cannot be
/// embedded is compared by its words.
fn sentence_vectors(embedder: &dyn Embedder, prepared: &Prepared) -> extractive::Vectors {
    let texts = prepared.sentence_texts();
    let vectors = embedder.embed(&texts, Role::Document);
    texts.into_iter().zip(vectors).filter_map(|(text, vector)| Some((text, vector.ok()?))).collect()
}
