//! `lifecycle run`: one tick, or what one would do.

use super::Session;
use super::apply::PlanFile;
use super::format::{self, Format};
use crate::error::{Error, ExitCode, Result};
use crate::tick::detached::Single;
use crate::tick::{self, Run, RunOptions};
use clap::Args;
use lifecycle_phases::Plan;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `run`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle run                            one tick
  lifecycle run --dry-run                  what a tick would do, with the diffs
  lifecycle run --dry-run --plan plan.json    keep it for `lifecycle apply`
  lifecycle run --dry-run --plan plan.json --format html > tick.html
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
    /// Form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Ask no model: clusters wait
    #[arg(long)]
    no_model: bool,
    /// Allow a tick to expire a large share of the store, or to rewrite many lines
    #[arg(long)]
    yes: bool,
    /// Run only if a time of `schedule.cron` has passed since the last run
    #[arg(long, conflicts_with = "dry_run")]
    if_due: bool,
    /// As a hook starts it: wait first, be the only one, say nothing
    #[arg(long, hide = true, requires = "if_due")]
    detached: bool,
    /// What starts the run, for the journal
    #[arg(long, hide = true, default_value = "run")]
    trigger: String,
}

/// Runs a tick and prints its report.
pub fn run(session: &Session, args: &RunArgs) -> Result<ExitCode> {
    let mut single = None;
    if args.detached {
        single = Single::take(&session.paths)?;
        if single.is_none() {
            return Ok(ExitCode::Success);
        }
        std::thread::sleep(Duration::from_secs(session.settings.schedule.hook_delay_seconds));
    }
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
    let run = match tick::run(&settings, &session.paths, session.clock, &options) {
        // Somebody else runs the tick that was due.
        Err(error) if args.detached && error.code == ExitCode::Busy => {
            return Ok(ExitCode::Success);
        }
        run => run?,
    };
    drop(single);
    if let Some(path) = &args.plan {
        write_plan(path, &run.plan)?;
    }
    log(&run);
    let plan = args.plan.as_ref().map(|path| path.display().to_string());
    format::show(session, &run.report, args.format, plan.as_deref())?;
    Ok(run.code)
}

fn trigger(word: &str) -> &'static str {
    match word {
        "hook" => "hook",
        "schedule" => "schedule",
        _ => "run",
    }
}

fn write_plan(path: &Path, plan: &Plan) -> Result<()> {
    let text = serde_json::to_string_pretty(&PlanFile::of(plan.clone())?)?;
    crate::durable::replace(path, text.as_bytes()).map_err(|error| Error::io(path, &error))
}

/// Prints the report of a run and hands on how it ended.
pub fn show(session: &Session, run: &Run) -> Result<ExitCode> {
    log(run);
    format::show(session, &run.report, Format::Text, None)?;
    Ok(run.code)
}

/// Writes what a live run did to the log; a dry run leaves no trace.
fn log(run: &Run) {
    let report = &run.report;
    if report.dry_run {
        return;
    }
    let counts: Vec<String> =
        report.counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let tick = report.tick.map_or_else(|| "none".to_string(), |id| id.to_string());
    tracing::info!(tick, trigger = report.trigger, "{}", counts.join(", "));
    for note in &report.notes {
        let text = crate::report::escape_terminal(&note.text);
        match note.level {
            tick::Level::Failed => tracing::error!(phase = %note.phase, "{text}"),
            tick::Level::Waiting => tracing::warn!(phase = %note.phase, "{text}"),
            tick::Level::Info => tracing::info!(phase = %note.phase, "{text}"),
        }
    }
    for step in &report.steps {
        tracing::debug!(n = step.n, phase = %step.phase, step = step.step, status = step.status);
    }
}
