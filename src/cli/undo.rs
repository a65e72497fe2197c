//! `lifecycle undo`: takes a tick back.

use super::{Session, run};
use crate::error::{ExitCode, Result};
use crate::tick::{self, Mode};
use clap::Args;

/// Options of `undo`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle undo        take back the newest tick, files included
  lifecycle undo --dry-run    what that would change, with the diffs
  lifecycle undo 12     take back tick 12; of an undo: bring its tick back")]
pub struct UndoArgs {
    /// Number of the tick; the newest by default
    tick: Option<i64>,
    /// Show what would be taken back and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Undoes the tick and prints the report.
pub fn run(session: &Session, args: &UndoArgs) -> Result<ExitCode> {
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Live };
    let run = tick::undo(&session.settings, &session.paths, session.clock, args.tick, mode)?;
    run::show(session, &run)
}
