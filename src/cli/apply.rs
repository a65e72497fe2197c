//! `lifecycle apply`: a plan, exactly as it was read.

use super::{Session, run};
use crate::error::{Error, ExitCode, Result};
use crate::tick;
use clap::Args;
use lifecycle_phases::Plan;
use serde::{Deserialize, Serialize};
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

/// A plan as it lies in a file: with a sum, so that what is applied is what was read.
#[derive(Serialize, Deserialize)]
pub struct PlanFile {
    sum: String,
    #[serde(flatten)]
    plan: Plan,
}

impl PlanFile {
    /// The plan with its sum.
    pub fn of(plan: Plan) -> Result<Self> {
        Ok(Self { sum: sum(&plan)?, plan })
    }
}

fn sum(plan: &Plan) -> Result<String> {
    Ok(lifecycle_phases::entry::hex(serde_json::to_string(plan)?.as_bytes(), 32))
}

/// Applies the plan and prints the report.
pub fn run(session: &Session, args: &ApplyArgs) -> Result<ExitCode> {
    let text = crate::regular::text(&args.file, crate::regular::LARGE).map_err(|error| {
        Error::input(format!("{}: {error}", args.file.display()))
            .hint("make a plan with `lifecycle run --dry-run --plan FILE`")
    })?;
    let unusable = |why: &str| {
        Error::input(format!("{} {why}", args.file.display()))
            .hint("make one with `lifecycle run --dry-run --plan FILE`")
    };
    let file: PlanFile = serde_json::from_str(&text)
        .map_err(|error| unusable(&format!("is not a plan, or a damaged one: {error}")))?;
    let plan = file.plan;
    if file.sum != sum(&plan)? {
        return Err(unusable("is not as it was written: damaged, or changed by hand"));
    }
    if args.interactive {
        return super::review::interactive(session, plan);
    }
    let run = tick::apply(&session.settings, &session.paths, session.clock, &plan, &args.skip)?;
    run::show(session, &run)
}
