//! `lifecycle route`: the route phase alone, which is `run --phase route`.

use super::{Session, run};
use crate::error::Result;
use crate::tick::{self, RunOptions};
use clap::Args;
use lifecycle_phases::Phase;

/// Options of `route`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle route --dry-run    which line would go where, with the diffs
  lifecycle route              write it; `lifecycle undo` takes it back")]
pub struct RouteArgs {
    /// Show what would be written and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Allow many lines to be rewritten at once
    #[arg(long)]
    yes: bool,
}

/// Routes what is proven.
pub fn run(session: &Session, args: &RouteArgs) -> Result<crate::ExitCode> {
    let options = RunOptions {
        phases: vec![Phase::Route],
        dry_run: args.dry_run,
        yes: args.yes,
        trigger: "run",
    };
    let outcome = tick::run(&session.settings, &session.paths, session.clock, &options)?;
    run::show(session, &outcome)
}
