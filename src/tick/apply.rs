//! `apply`: performs a plan exactly as it was read.
//!
//! A step whose requirement no longer holds is refused with the reason; nothing is computed anew.
//! Applying the same plan again picks up where a killed or incomplete apply stopped.

use super::run::{finish, perform_routes, resume};
use super::{Context, Level, Mode, Run, TickLock};
use crate::clock::Clock;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::report::Report;
use crate::store::Store;
use lifecycle_phases::{Phase, Plan, PlannedStep, Step};
use rusqlite::Connection;
use std::collections::BTreeSet;

/// Applies `plan` without the steps numbered in `skip`.
pub fn apply(
    settings: &Settings,
    paths: &Paths,
    clock: Clock,
    plan: &Plan,
    skip: &[usize],
) -> Result<Run> {
    if plan.version != Plan::VERSION {
        return Err(Error::refused(format!(
            "the plan has version {}, this build applies {}",
            plan.version,
            Plan::VERSION
        ))
        .hint("make it anew with `lifecycle run --dry-run --plan FILE`"));
    }
    let lock = TickLock::take(paths)?;
    let store = Store::open(paths, settings)?;
    let mut ctx = Context::new(store, settings, paths, clock, Mode::Live, "apply");
    resume(&mut ctx)?;
    let name = lifecycle_phases::entry::hex(serde_json::to_string(plan)?.as_bytes(), 32);
    let done = done_before(ctx.store.reader(), &name)?;
    ctx.plan = Some(name);
    let steps = plan
        .steps
        .iter()
        .filter(|step| !skip.contains(&step.n) && !done.contains(&step.n))
        .cloned();
    perform_in_order(&mut ctx, steps.collect())?;
    say_what_was_left(&mut ctx, skip, &done);
    let code = finish(&mut ctx)?;
    lock.mark_run(ctx.now());
    Ok(Run { report: Report::of(&ctx)?, plan: plan.clone(), code })
}

/// Performs steps in order; runs of route steps go to the file writer together.
fn perform_in_order(ctx: &mut Context<'_>, steps: Vec<PlannedStep>) -> Result<()> {
    let is_route = |step: &PlannedStep| matches!(step.step, Step::Route { .. });
    let mut rest = steps.as_slice();
    while let Some(first) = rest.first() {
        let routes = is_route(first);
        let end = rest.iter().position(|step| is_route(step) != routes).unwrap_or(rest.len());
        let (group, later) = rest.split_at(end);
        if routes {
            perform_routes(ctx, group.to_vec())?;
        } else {
            ctx.perform(group.to_vec())?;
        }
        rest = later;
    }
    Ok(())
}

fn done_before(connection: &Connection, plan: &str) -> Result<BTreeSet<usize>> {
    let mut statement = connection.prepare(
        "SELECT step.n FROM step JOIN tick ON tick.id = step.tick
         WHERE tick.plan = ?1 AND step.status = 'done' AND tick.status <> 'undone'",
    )?;
    let rows = statement.query_map([plan], |row| row.get::<_, i64>(0))?;
    rows.map(|row| Ok(usize::try_from(row?).unwrap_or_default())).collect()
}

fn say_what_was_left(ctx: &mut Context<'_>, skip: &[usize], done: &BTreeSet<usize>) {
    let phase = Phase::Buffer;
    if !skip.is_empty() {
        let numbers: Vec<String> = skip.iter().map(ToString::to_string).collect();
        ctx.note(Level::Info, phase, format!("left out as asked: step {}", numbers.join(", ")));
    }
    if !done.is_empty() {
        ctx.note(Level::Info, phase, format!("{} steps had been applied before", done.len()));
    }
}
