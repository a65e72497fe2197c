//! `undo`: runs the inverses of a tick, files included.
//!
//! An undo is itself a tick and can be undone. What somebody changed since is left alone and shown.
//! A dry one is the same on a scratch copy of the store and an overlay of the files.

use super::run::{finish, resume};
use super::{Context, Level, Mode, Run, TickLock};
use crate::clock::Clock;
use crate::config::Settings;
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use crate::report::Report;
use crate::store::{self, StepRecord, Store, TickRecord, TickStatus};
use lifecycle_phases::{ClusterOutcome, PlannedStep, Requirement, Standing, State, Step};

/// Takes back tick `id`, or the newest one that can be; or says what that would do.
pub fn undo(
    settings: &Settings,
    paths: &Paths,
    clock: Clock,
    id: Option<i64>,
    mode: Mode,
) -> Result<Run> {
    if mode == Mode::DryRun {
        let scratch = Store::open_reading(paths, settings)?.scratch()?;
        return one(&mut Context::new(scratch, settings, paths, clock, mode, "undo"), id);
    }
    let _lock = TickLock::take(paths)?;
    let store = Store::open(paths, settings)?;
    let mut ctx = Context::new(store, settings, paths, clock, mode, "undo");
    resume(&mut ctx)?;
    // Whoever repeats an undo that was killed wants that one, not the tick before it as well.
    if ctx.carried.last().is_some_and(|done| id.is_none_or(|id| id == *done)) {
        let plan = ctx.plan(String::new());
        let code = finish(&mut ctx)?;
        return Ok(Run { report: Report::of(&ctx)?, plan, code });
    }
    one(&mut ctx, id)
}

fn one(ctx: &mut Context<'_>, id: Option<i64>) -> Result<Run> {
    let target = target(ctx, id)?;
    ctx.undoes = Some(target.id);
    let base = ctx.store.fingerprint()?;
    take_back(ctx, &target)?;
    let code = finish(ctx)?;
    let plan = ctx.plan(base);
    Ok(Run { report: Report::of(ctx)?, plan, code })
}

fn target(ctx: &Context<'_>, id: Option<i64>) -> Result<TickRecord> {
    let reader = ctx.store.reader();
    let tick = match id {
        Some(id) => store::tick(reader, id)?,
        None => store::latest_undoable(reader)?
            .ok_or_else(|| Error::refused("there is no tick to undo"))?,
    };
    if tick.status == TickStatus::Undone {
        return Err(Error::refused(format!("tick {} has been undone already", tick.id))
            .hint("undo the undo to have it back; `lifecycle history` shows both"));
    }
    Ok(tick)
}

/// Carries an undo through that was killed: what it had not taken back yet is taken back now, in
/// the tick that it had opened.
pub(super) fn complete(ctx: &mut Context<'_>, dead: &TickRecord) -> Result<()> {
    let Some(target) = dead.undoes else { return Ok(()) };
    let last =
        store::steps_of(ctx.store.reader(), dead.id)?.iter().map(|step| step.planned.n).max();
    ctx.reopen(dead.id, last.unwrap_or(0));
    ctx.undoes = Some(target);
    let target = store::tick(ctx.store.reader(), target)?;
    let (level, how) = match take_back(ctx, &target) {
        Ok(()) => (Level::Info, "it was carried through".to_string()),
        // What can never be carried through must not hold up every later run.
        Err(error) if error.code == ExitCode::Refused => {
            (Level::Failed, format!("the rest stays as it is: {error}"))
        }
        Err(error) => return Err(error),
    };
    let text = format!("tick {} was cut off while it undid tick {}; {how}", dead.id, target.id);
    ctx.note(level, lifecycle_phases::Phase::Buffer, text);
    finish(ctx)?;
    ctx.leave();
    ctx.carried.push(target.id);
    Ok(())
}

/// A tick decides first and writes afterwards, an undo the other way round: each is taken back from
/// its end, so that a line always finds the entry it states.
fn take_back(ctx: &mut Context<'_>, target: &TickRecord) -> Result<()> {
    let is_redo = target.undoes.is_some();
    let mut files = 0;
    if !is_redo {
        files += super::run::undo_files(ctx, target.id)?;
    }
    let left = take_back_entries(ctx, target)?;
    if is_redo {
        files += super::run::undo_files(ctx, target.id)?;
    }
    // The tick stays one that can be undone, for another try.
    if left > 0 || files > 0 {
        let text = match files {
            0 => format!("{left} steps of tick {} could not be taken back", target.id),
            _ => format!(
                "{files} files that tick {0} wrote could not be written; `lifecycle undo {0}` \
                 tries again",
                target.id
            ),
        };
        ctx.note(Level::Failed, lifecycle_phases::Phase::Age, text);
        return Ok(());
    }
    ctx.store.write(|tx| {
        tx.execute("UPDATE tick SET status = 'undone' WHERE id = ?1", [target.id])?;
        Ok(())
    })
}

/// Takes back what a tick did to entries; how many steps could not be.
fn take_back_entries(ctx: &mut Context<'_>, target: &TickRecord) -> Result<usize> {
    let mut records = store::steps_of(ctx.store.reader(), target.id)?;
    records.retain(|record| record.status == "done" && is_taken_back(record, target));
    records.reverse();
    let steps: Vec<PlannedStep> =
        records.iter().filter_map(inverse).chain(records.iter().filter_map(declined)).collect();
    let wanted = steps.len();
    let before = ctx.performed.len();
    let (tick, id) = (ctx.tick_id()?, target.id);
    // One transaction: an undo that is killed has taken back all of them, or none.
    ctx.perform_with(steps, |tx| {
        let detail = format!("by tick {tick}");
        let stored = |record: &&StepRecord| !matches!(record.planned.step, Step::Route { .. });
        records.iter().filter(stored).try_for_each(|record| {
            store::set_step_status(tx, id, record.planned.n, "undone", &detail)
        })
    })?;
    Ok(wanted - (ctx.performed.len() - before))
}

/// What a tick took in from conversations stays when its decisions are undone, since nothing would
/// bring it in again; what somebody added or imported leaves when that very tick is undone.
fn is_taken_back(record: &StepRecord, target: &TickRecord) -> bool {
    let came_in = matches!(record.planned.step, Step::Admit { .. } | Step::Recall { .. });
    !came_in || !matches!(target.trigger.as_str(), "run" | "apply" | "hook" | "schedule")
}

fn inverse(record: &StepRecord) -> Option<PlannedStep> {
    let planned = &record.planned;
    let step = planned.step.inverse()?;
    let mut inverse = PlannedStep::new(planned.phase, step, format!("undo of step {}", planned.n));
    inverse.requirements.extend(still_as_left(&planned.step));
    Some(inverse)
}

/// The word of whoever undoes a merge: the cluster is left alone until it changes.
fn declined(record: &StepRecord) -> Option<PlannedStep> {
    let Step::Merge { cluster, sources, .. } = &record.planned.step else { return None };
    let reason = "the merge was undone; it is not made again until the cluster changes";
    let step = Step::RejectCluster {
        cluster: cluster.clone(),
        members: sources.iter().map(|source| source.entry.clone()).collect(),
        outcome: ClusterOutcome::Undone,
        reason: reason.into(),
        attempts: 0,
        next_try: None,
    };
    Some(PlannedStep::new(record.planned.phase, step, reason))
}

/// What must still hold for the inverse of `step`: the world as the step left it.
fn still_as_left(step: &Step) -> Vec<Requirement> {
    let state = |entry, state| Requirement::State { entry, state };
    match step {
        Step::Admit { entry } => vec![state(entry.id.clone(), entry.state)],
        Step::Expire { entry, .. } => vec![state(entry.clone(), State::Expired)],
        Step::Merge { sources, .. } => {
            let after = |source: &Standing| if source.kept { source.state } else { State::Merged };
            sources.iter().map(|source| state(source.entry.clone(), after(source))).collect()
        }
        _ => Vec::new(),
    }
}
