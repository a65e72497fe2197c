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
use crate::store::{self, Store};
use lifecycle_phases::{EntryId, Phase, Plan, PlannedStep, Receipt, Step};
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::Path;

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
    if let Some(n) = skip.iter().find(|n| !plan.steps.iter().any(|step| step.n == **n)) {
        return Err(Error::input(format!("the plan has no step {n}"))
            .hint("the report of the dry run numbers the steps"));
    }
    let lock = TickLock::take(paths)?;
    let store = Store::open(paths, settings)?;
    let mut ctx = Context::new(store, settings, paths, clock, Mode::Live, "apply");
    resume(&mut ctx)?;
    let name = lifecycle_phases::entry::hex(serde_json::to_string(plan)?.as_bytes(), 32);
    let done = done_before(ctx.store.reader(), &name)?;
    ctx.plan = Some(name);
    let left = left_out(plan, skip);
    let steps = plan
        .steps
        .iter()
        .filter(|step| !left.contains(&step.n) && !done.contains(&step.n))
        .cloned();
    perform_in_order(&mut ctx, steps.collect())?;
    note_receipts(&mut ctx, plan, &done)?;
    say_what_was_left(&mut ctx, skip, left.len(), &done);
    let code = finish(&mut ctx)?;
    lock.mark_run(ctx.now());
    Ok(Run { report: Report::of(&ctx)?, plan: plan.clone(), code })
}

/// Notes down what the plan took in, as far as its steps were performed: a conversation of which a
/// step was left out is read again by the next run, and that step offered again.
fn note_receipts(ctx: &mut Context<'_>, plan: &Plan, before: &BTreeSet<usize>) -> Result<()> {
    let mut done = before.clone();
    done.extend(ctx.performed.iter().map(|step| step.n));
    let due: Vec<&Receipt> = plan
        .receipts
        .iter()
        .filter(|planned| planned.steps.iter().all(|n| done.contains(n)))
        .map(|planned| &planned.receipt)
        .collect();
    if due.is_empty() {
        return Ok(());
    }
    let now = ctx.now();
    ctx.store.write(|tx| {
        for receipt in &due {
            if store::holds(tx, receipt)? {
                store::put_receipt(tx, receipt, now)?;
            }
        }
        Ok(())
    })?;
    let inboxes = [ctx.paths.inbox(), ctx.paths.spare_inbox()];
    for receipt in due {
        // A plan is a file that anybody may have edited: nothing but inbox records is removed.
        if let Receipt::Inbox { file } = receipt
            && inboxes.iter().any(|inbox| Path::new(file).parent() == Some(inbox.as_path()))
        {
            crate::capture::inbox::remove(Path::new(file))?;
        }
    }
    Ok(())
}

/// The steps to leave out: those asked for, and those that need an entry which only a left out step
/// would have made.
fn left_out(plan: &Plan, skip: &[usize]) -> BTreeSet<usize> {
    let mut left: BTreeSet<usize> = skip.iter().copied().collect();
    let mut missing: BTreeSet<&EntryId> = BTreeSet::new();
    for planned in &plan.steps {
        if needs(&planned.step).iter().any(|id| missing.contains(id)) {
            left.insert(planned.n);
        }
        if left.contains(&planned.n) {
            missing.extend(makes(&planned.step));
        }
    }
    left
}

/// The entry that a step makes.
fn makes(step: &Step) -> Option<&EntryId> {
    match step {
        Step::Admit { entry } => Some(&entry.id),
        Step::Merge { proven, .. } => Some(&proven.id),
        _ => None,
    }
}

/// The entries that must exist before a step.
fn needs(step: &Step) -> Vec<&EntryId> {
    match step {
        Step::Admit { .. } => Vec::new(),
        Step::Link { link } | Step::Unlink { link } => vec![&link.a, &link.b],
        Step::Merge { sources, replaces, .. } => {
            sources.iter().chain(replaces).map(|standing| &standing.entry).collect()
        }
        Step::RejectCluster { members, .. } => members.iter().collect(),
        other => other.entry().into_iter().collect(),
    }
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

fn say_what_was_left(ctx: &mut Context<'_>, skip: &[usize], left: usize, done: &BTreeSet<usize>) {
    let phase = Phase::Buffer;
    if !skip.is_empty() {
        let numbers: Vec<String> = skip.iter().map(ToString::to_string).collect();
        let more = match left - skip.iter().collect::<BTreeSet<_>>().len() {
            0 => String::new(),
            more => format!(", and {more} steps that need what it would have made"),
        };
        let text = format!("left out as asked: step {}{more}", numbers.join(", "));
        ctx.note(Level::Info, phase, text);
    }
    if !done.is_empty() {
        ctx.note(Level::Info, phase, format!("{} steps had been applied before", done.len()));
    }
}
