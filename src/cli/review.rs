//! `lifecycle review`: a dry run, step by step, then applied as decided.

use super::{Session, print_text, run};
use crate::error::{Error, ExitCode, Result};
use crate::report::Report;
use crate::review::{Outcome, Review, ask, terminal};
use crate::store::{self, Store};
use crate::tick::{self, RunOptions};
use clap::Args;
use lifecycle_phases::{Phase, Plan, PlannedStep, Step};
use std::io::IsTerminal;

/// Options of `review`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle review            walk what a tick would do: y accept, n reject, p protect, e edit
  lifecycle review --ask      the same as questions and answers, without a screen
  lifecycle apply plan.json --interactive")]
pub struct ReviewArgs {
    /// Ask line by line instead of taking the whole screen
    #[arg(long)]
    ask: bool,
    /// Ask no model: clusters wait
    #[arg(long)]
    no_model: bool,
}

/// Makes a plan, has it read, and applies what was accepted.
pub fn run(session: &Session, args: &ReviewArgs) -> Result<ExitCode> {
    let mut settings = session.settings.clone();
    if args.no_model {
        settings.consolidate.model = "none".into();
    }
    // Each step is decided on, so nothing is held back by a brake.
    let options =
        RunOptions { phases: Phase::ALL.to_vec(), dry_run: true, yes: true, trigger: "run" };
    let dry = tick::run(&settings, &session.paths, session.clock, &options)?;
    if dry.plan.steps.is_empty() {
        return run::show(session, &dry);
    }
    walk(session, Review::new(dry.plan, dry.report), args.ask)
}

/// Has a plan from a file read, by questions.
pub fn interactive(session: &Session, plan: Plan) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let report = Report::of_plan(store.reader(), &plan)?;
    drop(store);
    walk(session, Review::new(plan, report), true)
}

fn walk(session: &Session, mut review: Review, by_questions: bool) -> Result<ExitCode> {
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let failed = |error: std::io::Error| Error::new(ExitCode::Failure, error.to_string());
    let apply = if by_questions {
        let mut input = std::io::stdin().lock();
        ask::ask(&mut review, &mut input, &mut std::io::stdout()).map_err(failed)?
    } else if terminal {
        terminal::run(&mut review).map_err(failed)?
    } else {
        return Err(Error::refused("there is no terminal to review on")
            .hint("`lifecycle review --ask` reads answers from standard input"));
    };
    if !apply {
        print_text("nothing was applied\n");
        return Ok(ExitCode::Success);
    }
    perform(session, &review.outcome())
}

fn perform(session: &Session, outcome: &Outcome) -> Result<ExitCode> {
    if !outcome.protect.is_empty() {
        let steps = protections(session, outcome)?;
        tick::by_hand(&session.settings, &session.paths, session.clock, "protect", steps)?;
    }
    let done = tick::apply(
        &session.settings,
        &session.paths,
        session.clock,
        &outcome.plan,
        &outcome.skip,
    )?;
    run::show(session, &done)
}

fn protections(session: &Session, outcome: &Outcome) -> Result<Vec<PlannedStep>> {
    let store = Store::open(&session.paths, &session.settings)?;
    let mut steps = Vec::new();
    for id in &outcome.protect {
        if let Some(stored) = store::entry_by_id(store.reader(), id)? {
            let step = Step::Protect { entry: id.clone(), from: stored.entry.protected, to: true };
            steps.push(PlannedStep::new(Phase::Age, step, "protected in a review"));
        }
    }
    Ok(steps)
}
