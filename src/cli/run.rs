//! `lifecycle run`: one tick, or what one would do.

use super::{Session, print_json, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::report::render;
use crate::tick::{self, Run, RunOptions};
use clap::Args;
use lifecycle_phases::Plan;
use std::path::{Path, PathBuf};

/// Options of `run`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle run                            one tick
  lifecycle run --dry-run                  what a tick would do, with a diff of every file
  lifecycle run --dry-run --plan plan.json keep it, then: lifecycle apply plan.json
  lifecycle run --phase buffer --phase connect")]
pub struct RunArgs {
    /// Only this phase (buffer, connect, consolidate, route, age); repeatable
    #[arg(long = "phase", value_name = "PHASE")]
    phases: Vec<String>,
    /// Show what a tick would do and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep the plan in FILE, for `lifecycle apply` (with --dry-run)
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    plan: Option<PathBuf>,
    /// Ask no model: clusters wait
    #[arg(long)]
    no_model: bool,
    /// Allow a tick to expire a large share of the store
    #[arg(long)]
    yes: bool,
    /// Run only if a time of `schedule.cron` has passed since the last run
    #[arg(long, conflicts_with = "dry_run")]
    if_due: bool,
    /// What starts the run, for the journal
    #[arg(long, hide = true, default_value = "run")]
    trigger: String,
}

/// Runs a tick and prints its report.
pub fn run(session: &Session, args: &RunArgs) -> Result<ExitCode> {
    if args.if_due && !super::schedule::check_due(session)? {
        return Ok(ExitCode::Success);
    }
    let options = RunOptions {
        phases: tick::parse_phases(&args.phases)?,
        dry_run: args.dry_run,
        yes: args.yes,
        trigger: trigger(&args.trigger),
    };
    let mut settings = session.settings.clone();
    if args.no_model {
        settings.consolidate.model = "none".into();
    }
    let run = tick::run(&settings, &session.paths, session.clock, &options)?;
    if let Some(path) = &args.plan {
        write_plan(path, &run.plan)?;
    }
    show(session, &run)
}

fn trigger(word: &str) -> &'static str {
    match word {
        "hook" => "hook",
        "schedule" => "schedule",
        _ => "run",
    }
}

fn write_plan(path: &Path, plan: &Plan) -> Result<()> {
    let text = serde_json::to_string_pretty(plan)?;
    std::fs::write(path, text).map_err(|error| Error::io(path, &error))
}

/// Prints the report of a run and hands on how it ended.
pub fn show(session: &Session, run: &Run) -> Result<ExitCode> {
    if session.global.json {
        print_json(&run.report)?;
    } else if !session.global.quiet {
        print_text(&render(&run.report));
    }
    Ok(run.code)
}
