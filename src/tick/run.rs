//! One tick from lock to report.

use super::{
    Context, Level, Mode, Note, TickLock, age, buffer, connect, consolidate, observe, route,
};
use crate::clock::Clock;
use crate::config::Settings;
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use crate::progress::Progress;
use crate::report::Report;
use crate::store::{self, Store, TickStatus, routes};
use lifecycle_phases::{Phase, Plan, PlannedStep, State, Step};

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The phases, in the order of a tick.
    pub phases: Vec<Phase>,
    /// Compute and show, write nothing.
    pub dry_run: bool,
    /// Lift the brakes on mass expiry and on many rewritten lines.
    pub yes: bool,
    /// What started it: `run`, `hook` or `schedule`.
    pub trigger: &'static str,
}

/// What a run did, or would do.
pub struct Run {
    /// For people and programs.
    pub report: Report,
    /// The ordered steps, ready to be kept for `apply`.
    pub plan: Plan,
    /// How the command ends.
    pub code: ExitCode,
}

/// Runs a tick.
pub fn run(settings: &Settings, paths: &Paths, clock: Clock, options: &RunOptions) -> Result<Run> {
    if options.dry_run {
        let scratch = Store::open_reading(paths, settings)?.scratch()?;
        let mut ctx = Context::new(scratch, settings, paths, clock, Mode::DryRun, options.trigger);
        return tick(&mut ctx, options);
    }
    let lock = TickLock::take(paths)?;
    let mut ctx = Context::new(
        Store::open(paths, settings)?,
        settings,
        paths,
        clock,
        Mode::Live,
        options.trigger,
    );
    resume(&mut ctx)?;
    let run = tick(&mut ctx, options)?;
    lock.mark_run(ctx.now());
    Ok(run)
}

fn tick(ctx: &mut Context<'_>, options: &RunOptions) -> Result<Run> {
    ctx.phases.clone_from(&options.phases);
    ctx.unbraked = options.yes;
    let base = ctx.store.fingerprint()?;
    let progress = Progress::parts("tick", options.phases.len());
    for phase in options.phases.clone() {
        progress.enter(phase.as_str());
        if let Err(error) = run_phase(ctx, phase) {
            ctx.fail(phase, error)?;
        }
        progress.add(1);
    }
    drop(progress);
    let code = finish(ctx)?;
    let plan = ctx.plan(base);
    Ok(Run { report: Report::of(ctx)?, plan, code })
}

fn run_phase(ctx: &mut Context<'_>, phase: Phase) -> Result<()> {
    match phase {
        Phase::Buffer => {
            buffer::run(ctx)?;
            observe::run(ctx)
        }
        Phase::Connect => connect::run(ctx),
        Phase::Consolidate => {
            consolidate::run(ctx)?;
            // What was proven just now finds its neighbours in the same tick.
            connect::run(ctx)
        }
        Phase::Route => route::run(ctx),
        Phase::Age => age::run(ctx),
    }
}

/// Performs steps that a person asked for, as a tick of their own.
pub fn by_hand(
    settings: &Settings,
    paths: &Paths,
    clock: Clock,
    trigger: &'static str,
    steps: Vec<PlannedStep>,
) -> Result<Run> {
    // What somebody does by hand is no run: a scheduled time that was missed is still to come.
    let _lock = TickLock::take(paths)?;
    let store = Store::open(paths, settings)?;
    let mut ctx = Context::new(store, settings, paths, clock, Mode::Live, trigger);
    resume(&mut ctx)?;
    let base = ctx.store.fingerprint()?;
    ctx.perform(steps)?;
    say_what_stands(&mut ctx)?;
    let code = finish(&mut ctx)?;
    let plan = ctx.plan(base);
    Ok(Run { report: Report::of(&ctx)?, plan, code })
}

/// Lines of entries that were forgotten just now stand in their files until the next run.
fn say_what_stands(ctx: &mut Context<'_>) -> Result<()> {
    let gone = ctx.performed.iter().filter_map(|planned| match &planned.step {
        Step::SetState { entry, to: State::Expired, .. } => Some(entry.clone()),
        _ => None,
    });
    for entry in gone.collect::<Vec<_>>() {
        for path in routes::written_of(ctx.store.reader(), &entry)? {
            let text = format!("its line in {path} leaves with the next run (`lifecycle route`)");
            ctx.note(Level::Info, Phase::Route, text);
        }
    }
    Ok(())
}

/// Closes the tick's row, where one was needed, and says how the command ends.
pub(super) fn finish(ctx: &mut Context<'_>) -> Result<ExitCode> {
    ctx.note_redactions();
    super::serving::warn_of_dead_lines(ctx);
    let failed = ctx.notes.iter().any(|note| note.level == Level::Failed);
    if failed && ctx.mode == Mode::Live {
        // A run that failed before its first step stands in the history as well.
        ctx.tick_id()?;
    }
    if let Some(id) = ctx.tick {
        let status = if failed { TickStatus::Incomplete } else { TickStatus::Done };
        let notes = serde_json::to_string(&ctx.notes)?;
        let now = ctx.now();
        let nearest = ctx.nearest.to_text();
        ctx.store.write(|tx| {
            store::finish_tick(tx, id, now, status, &notes)?;
            store::keep_nearest(tx, id, &nearest)
        })?;
    }
    Ok(match (failed, ctx.failure) {
        (false, _) => ExitCode::Success,
        (true, code) => code.unwrap_or(ExitCode::Incomplete),
    })
}

/// Picks up ticks that were killed. Steps on the store were atomic with their journal rows, so what
/// is left to settle are file writes; whatever the killed tick did not reach is computed anew. An
/// undo is carried through, since nobody would ask for its second half.
pub(super) fn resume(ctx: &mut Context<'_>) -> Result<()> {
    super::files::resume(ctx)?;
    for dead in store::running_ticks(ctx.store.reader())? {
        if dead.undoes.is_some() {
            super::undo::complete(ctx, &dead)?;
            continue;
        }
        let note = Note {
            level: Level::Info,
            phase: Phase::Buffer,
            text: format!("tick {} had been killed; what it began was completed", dead.id),
        };
        let notes = serde_json::to_string(&[&note])?;
        let now = ctx.now();
        ctx.store
            .write(|tx| store::finish_tick(tx, dead.id, now, TickStatus::Incomplete, &notes))?;
        ctx.notes.push(note);
    }
    Ok(())
}

/// Reads the names of phases in any order and returns them in the order of a tick; none means all.
pub fn parse_phases(names: &[String]) -> Result<Vec<Phase>> {
    let mut phases = names
        .iter()
        .map(|name| {
            Phase::parse(name).ok_or_else(|| {
                Error::new(ExitCode::Usage, format!("`{name}` is not a phase"))
                    .hint("the phases are buffer, connect, consolidate, route and age")
            })
        })
        .collect::<Result<Vec<_>>>()?;
    if phases.is_empty() {
        phases = Phase::ALL.to_vec();
    }
    phases.sort();
    phases.dedup();
    Ok(phases)
}

/// Performs the route steps of one plan: writes the files.
pub(super) fn perform_routes(ctx: &mut Context<'_>, steps: Vec<PlannedStep>) -> Result<()> {
    super::files::perform(ctx, steps)
}

/// Takes back what tick `tick` wrote to files; how many could not be written.
pub(super) fn undo_files(ctx: &mut Context<'_>, tick: i64) -> Result<usize> {
    super::restore::undo(ctx, tick)
}
