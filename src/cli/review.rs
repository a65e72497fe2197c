//! `lifecycle review`: a dry run, step by step, then applied as decided.

use super::{Session, print_text, run};
use crate::embed::{Role, embed_one};
use crate::error::{Error, ExitCode, Result};
use crate::redact::Redactor;
use crate::report::Report;
use crate::review::{Outcome, Review, ask, terminal};
use crate::store::{self, Store};
use crate::tick::{self, RunOptions};
use clap::Args;
use lifecycle_phases::{ContentHash, Phase, Plan, PlannedStep, Step};
use std::io::IsTerminal;

/// Options of `review`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle review              y accept, n leave out, p protect, e reword
  lifecycle review --ask        the same as questions, without a screen
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
    perform(session, review.outcome())
}

fn perform(session: &Session, mut outcome: Outcome) -> Result<ExitCode> {
    if !outcome.protect.is_empty() {
        let steps = protections(session, &outcome)?;
        tick::by_hand(&session.settings, &session.paths, session.clock, "protect", steps)?;
    }
    finish_rewritten(session, &mut outcome)?;
    let done = tick::apply(
        &session.settings,
        &session.paths,
        session.clock,
        &outcome.plan,
        &outcome.skip,
    )?;
    run::show(session, &done)
}

/// Texts that the reader wrote go through the same doors as any other: secrets are taken out, and a
/// merge gets the vector by which it is found.
fn finish_rewritten(session: &Session, outcome: &mut Outcome) -> Result<()> {
    let redactor = Redactor::new(&session.settings.redact.patterns)?;
    let wanted = |planned: &&mut PlannedStep| {
        outcome.rewritten.contains(&planned.n) && !outcome.skip.contains(&planned.n)
    };
    for planned in outcome.plan.steps.iter_mut().filter(wanted) {
        match &mut planned.step {
            Step::Route { route, .. } => route.line = redactor.redact(&route.line).0,
            Step::Merge { proven, descriptor, vector, .. } => {
                proven.text = redactor.redact(&proven.text).0;
                proven.content_hash = ContentHash::of(&proven.text);
                proven.generated_by = Some("review".into());
                *vector = embedded(session, &proven.text, descriptor)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn embedded(session: &Session, text: &str, descriptor: &str) -> Result<Vec<f32>> {
    let store = Store::open(&session.paths, &session.settings)?;
    let embedder = tick::serving::open(store.reader(), &session.settings, &session.paths)?;
    if embedder.descriptor().id() != descriptor {
        return Err(Error::refused("another embedding model serves by now")
            .hint("review anew: `lifecycle review`"));
    }
    Ok(embed_one(&*embedder, text, Role::Document)?)
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
