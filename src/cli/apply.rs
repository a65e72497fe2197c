//! `lifecycle apply`: a plan, exactly as it was read.

use super::{Session, run};
use crate::error::{Error, ExitCode, Result};
use crate::tick;
use clap::Args;
use std::path::PathBuf;

/// Options of `apply`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle run --dry-run --plan plan.json
  lifecycle apply plan.json
  lifecycle apply plan.json --skip 4 --skip 7
  lifecycle apply plan.json --interactive")]
pub struct ApplyArgs {
    /// A plan that `run --dry-run --plan FILE` wrote
    file: PathBuf,
    /// Leave out the step of this number; repeatable
    #[arg(long, value_name = "N", value_delimiter = ',')]
    skip: Vec<usize>,
    /// Ask about every step
    #[arg(short, long, conflicts_with = "skip")]
    interactive: bool,
}

/// Applies the plan and prints the report.
pub fn run(session: &Session, args: &ApplyArgs) -> Result<ExitCode> {
    let text = std::fs::read_to_string(&args.file).map_err(|error| {
        Error::input(format!("{}: {error}", args.file.display()))
            .hint("make a plan with `lifecycle run --dry-run --plan FILE`")
    })?;
    let plan = serde_json::from_str(&text).map_err(|error| {
        Error::input(format!("{} is not a plan: {error}", args.file.display()))
            .hint("make one with `lifecycle run --dry-run --plan FILE`")
    })?;
    if args.interactive {
        return super::review::interactive(session, plan);
    }
    let run = tick::apply(&session.settings, &session.paths, session.clock, &plan, &args.skip)?;
    run::show(session, &run)
}
