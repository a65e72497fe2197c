//! `lifecycle observe`: reads conversations and observes what was done in them, now.

use super::Session;
use super::format::{self, Format};
use crate::error::{Error, ExitCode, Result};
use crate::tick::{self, RunOptions};
use clap::Args;
use lifecycle_phases::Phase;

/// Options of `observe`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle observe
  lifecycle observe --dry-run --limit 3
  lifecycle observe --set observe.model=local")]
pub struct ObserveArgs {
    /// Show what would be observed and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Batches to observe at most [default: observe.per_tick]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the buffer phase with the observer on.
pub fn run(session: &Session, args: &ObserveArgs) -> Result<ExitCode> {
    let mut settings = session.settings.clone();
    let own = settings.observe.model.to_string();
    let model = if own.is_empty() { settings.consolidate.model.to_string() } else { own };
    if matches!(model.as_str(), "extractive" | "none" | "") {
        return Err(Error::config("observing needs a model, and none is configured")
            .hint("set observe.model to the name of a provider ([consolidate.providers.NAME])"));
    }
    settings.observe.enabled = true;
    if let Some(limit) = args.limit {
        settings.observe.per_tick = limit;
    }
    let options = RunOptions {
        phases: vec![Phase::Buffer],
        dry_run: args.dry_run,
        yes: false,
        trigger: "observe",
    };
    let run = tick::run(&settings, &session.paths, session.clock, &options)?;
    format::show(session, &run.report, args.format, None)?;
    Ok(run.code)
}
