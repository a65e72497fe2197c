//! Route steps become files.
//!
//! The steps of one file are one write. The new bytes are a pure function of the old ones and of
//! the steps, so a plan of which some steps are left out still gives exact bytes. Live, a write is
//! recorded with both contents and the steps as intended, then done through `targets::door`, then
//! closed; [`resume`] settles what a killed run left open. Dry, the bytes go to the overlay. A file
//! whose content is not the one the steps were planned on is refused.

use super::{Context, Door, Level, Mode};
use crate::error::Result;
use crate::store::{self, StepRecord, routes};
use crate::targets::{self, Change, Format, LineOp, door};
use lifecycle_phases::{Phase, PlannedStep, Requirement, RouteOp, Step};
use std::path::{Path, PathBuf};

/// The content of a file as this run sees it, an earlier step's effect included.
pub fn current(ctx: &Context<'_>, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match ctx.overlay.get(path) {
        Some(content) => Ok(content.clone()),
        None => door::read(path),
    }
}

/// How a file is edited: as its target says, else by its ending.
pub fn format_of(ctx: &Context<'_>, path: &Path) -> Format {
    let named = ctx.settings.route.targets.values().find_map(|target| {
        let is_it = |named: &String| path.ends_with(named.trim_start_matches("~/"));
        let format = target.format.as_deref().and_then(Format::named);
        format.filter(|_| target.paths.iter().flatten().any(is_it))
    });
    named.or_else(|| Format::of(path)).unwrap_or(Format::Markdown)
}

/// The steps of one write: of one file, and planned on the same content of it.
pub(super) struct Group {
    pub path: PathBuf,
    pub planned_on: Option<Requirement>,
    pub steps: Vec<PlannedStep>,
}

/// Performs route steps, one write a file. What is refused is noted; the other files go on.
pub fn perform(ctx: &mut Context<'_>, mut steps: Vec<PlannedStep>) -> Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    ctx.number(&mut steps);
    let steps = at_the_door(ctx, steps)?;
    if ctx.mode == Mode::Live && !ctx.settings.route.enabled {
        return refuse(ctx, &steps, Path::new("every file"), "routing is off (route.enabled)");
    }
    for group in group(steps) {
        perform_group(ctx, group)?;
    }
    Ok(())
}

/// Takes secrets out of the lines. A plan that is applied is performed as it was read or not at all:
/// there a line with a secret is refused.
fn at_the_door(ctx: &mut Context<'_>, steps: Vec<PlannedStep>) -> Result<Vec<PlannedStep>> {
    let mut passed = Vec::new();
    for mut step in steps {
        let Step::Route { route, .. } = &mut step.step else { continue };
        let clean = match &route.op {
            RouteOp::Add | RouteOp::Replace { .. } => ctx.doors.pass(Door::File, &route.line),
            RouteOp::Withdraw | RouteOp::Displace | RouteOp::AlreadyKnown { .. } => {
                route.line.clone()
            }
        };
        if clean == route.line {
            passed.push(step);
        } else if ctx.plan.is_some() {
            let path = PathBuf::from(&route.path);
            refuse(ctx, &[step], &path, "the line holds a secret")?;
        } else {
            route.line = clean;
            passed.push(step);
        }
    }
    Ok(passed)
}

fn group(steps: Vec<PlannedStep>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for step in steps {
        let Step::Route { route, .. } = &step.step else { continue };
        let path = PathBuf::from(&route.path);
        let on_content =
            |requirement: &&Requirement| matches!(requirement, Requirement::File { .. });
        let planned_on = step.requirements.iter().find(on_content).cloned();
        let same = |group: &&mut Group| group.path == path && group.planned_on == planned_on;
        match groups.iter_mut().find(same) {
            Some(group) => group.steps.push(step),
            None => groups.push(Group { path, planned_on, steps: vec![step] }),
        }
    }
    groups
}

fn perform_group(ctx: &mut Context<'_>, mut group: Group) -> Result<()> {
    if let Err(why) = super::route::confined(ctx, &group.path, &group.steps)? {
        return refuse(ctx, &group.steps, &group.path, &why);
    }
    // A second write would hide from the next run whether the first one has lasted.
    if ctx.unsettled.contains(&group.path) {
        let why = "an earlier write to it is not known to last; the next run goes on";
        return refuse(ctx, &group.steps, &group.path, why);
    }
    let before = match current(ctx, &group.path) {
        Ok(before) => before,
        Err(error) => return refuse(ctx, &group.steps, &group.path, &error.to_string()),
    };
    refuse_changed(ctx, &mut group, before.as_deref())?;
    if group.steps.is_empty() {
        return Ok(());
    }
    let after = match rendered(ctx, &group, before.as_deref()) {
        Ok(after) => after,
        Err(why) => return refuse(ctx, &group.steps, &group.path, &why),
    };
    if after == before {
        return close(ctx, group.steps, None);
    }
    match ctx.mode {
        Mode::DryRun => {
            ctx.originals.entry(group.path.clone()).or_insert(before);
            ctx.overlay.insert(group.path, after);
            close(ctx, group.steps, None)
        }
        Mode::Live => write(ctx, group, before, after),
    }
}

/// Takes out the steps whose requirements do not hold.
fn refuse_changed(ctx: &mut Context<'_>, group: &mut Group, before: Option<&[u8]>) -> Result<()> {
    let hash = before.map(door::hash);
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for step in std::mem::take(&mut group.steps) {
        match unmet(ctx, &step, hash.as_deref())? {
            None => kept.push(step),
            Some(why) => refused.push((step, why)),
        }
    }
    for (step, why) in refused {
        refuse(ctx, &[step], &group.path, &why)?;
    }
    group.steps = kept;
    Ok(())
}

fn unmet(ctx: &Context<'_>, step: &PlannedStep, hash: Option<&str>) -> Result<Option<String>> {
    for requirement in &step.requirements {
        let why = match requirement {
            Requirement::File { hash: wanted, .. } => (wanted.as_deref() != hash)
                .then(|| "the file has changed since this was planned".to_string()),
            other => store::check(ctx.store.reader(), other)?,
        };
        if why.is_some() {
            return Ok(why);
        }
    }
    Ok(None)
}

/// The new content; `None` removes the file: it is ours and nothing is left in it.
fn rendered(
    ctx: &Context<'_>,
    group: &Group,
    before: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, String> {
    let ops: Vec<LineOp> = group.steps.iter().filter_map(|step| line_op(&step.step)).collect();
    if ops.is_empty() {
        return Ok(before.map(<[u8]>::to_vec));
    }
    let format = format_of(ctx, &group.path);
    let base = before.unwrap_or_default();
    let after = targets::render(format, base, &ops).map_err(|error| error.to_string())?;
    let empty = after.iter().all(u8::is_ascii_whitespace);
    let ours = routes::made_by_us(ctx.store.reader(), &group.path.to_string_lossy());
    let removable = before.is_none() || ours.map_err(|error| error.message)?;
    Ok(Some(after).filter(|_| !(empty && removable)))
}

/// The edit that a step asks for.
pub fn line_op(step: &Step) -> Option<LineOp> {
    let Step::Route { route, .. } = step else { return None };
    let change = match &route.op {
        RouteOp::Add => Change::Add,
        RouteOp::Replace { old_line } => Change::Replace { old: old_line.clone() },
        RouteOp::Withdraw | RouteOp::Displace => Change::Withdraw,
        RouteOp::AlreadyKnown { .. } => return None,
    };
    Some(LineOp { section: route.section.clone(), line: route.line.clone(), change })
}

fn write(
    ctx: &mut Context<'_>,
    group: Group,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> Result<()> {
    if let Err(error) = door::writable(&group.path) {
        return refuse(ctx, &group.steps, &group.path, &error.to_string());
    }
    let tick = ctx.tick_id()?;
    let id = begin(ctx, tick, &group, before.as_deref(), after.as_deref())?;
    match put(&group.path, before.as_deref(), after.as_deref()) {
        Ok(()) => close(ctx, group.steps, Some(id)),
        Err(error) if door::read(&group.path).is_ok_and(|now| now == after) => {
            // The write stays open: the next run looks which content has lasted.
            let why = format!("it is written, but not known to last ({error}); the next run looks");
            note_refusal(ctx, &group.path, &why);
            ctx.unsettled.insert(group.path);
            Ok(())
        }
        Err(error) => refuse_write(ctx, id, &group, &error.to_string()),
    }
}

/// Closes a recorded write that was not done; the file is as it was.
pub(super) fn refuse_write(ctx: &mut Context<'_>, id: i64, group: &Group, why: &str) -> Result<()> {
    let tick = ctx.tick_id()?;
    ctx.store.write(|tx| {
        routes::set_write(tx, id, "refused")?;
        let mut steps = group.steps.iter();
        steps.try_for_each(|step| store::set_step_status(tx, tick, step.n, "refused", why))
    })?;
    note_refusal(ctx, &group.path, why);
    Ok(())
}

pub(super) fn begin(
    ctx: &mut Context<'_>,
    tick: i64,
    group: &Group,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<i64> {
    let path = group.path.to_string_lossy().into_owned();
    let hashes = (before.map(door::hash), after.map(door::hash));
    ctx.store.write(|tx| {
        let id = routes::begin_write(
            tx,
            tick,
            &path,
            before.zip(hashes.0.as_deref()),
            after.zip(hashes.1.as_deref()),
        )?;
        for step in &group.steps {
            store::record_step(tx, tick, step, "intent", "")?;
        }
        Ok(id)
    })
}

/// Writes or removes, provided the file still has `before`.
pub(super) fn put(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> std::io::Result<()> {
    let expected = before.map(door::hash);
    match (after, expected) {
        (Some(after), expected) => door::write(path, expected.as_deref(), after),
        (None, Some(expected)) => door::remove(path, &expected),
        (None, None) => Ok(()),
    }
}

/// The steps are done: rows, states and journal follow. `write` is the recorded write, if any.
fn close(ctx: &mut Context<'_>, steps: Vec<PlannedStep>, write: Option<i64>) -> Result<()> {
    let (tick, now) = (ctx.tick_id()?, ctx.now());
    ctx.store.write(|tx| {
        for step in &steps {
            if let Step::Route { route, .. } = &step.step {
                routes::settle(tx, route, now, &step.reason)?;
            }
            match write {
                Some(_) => store::set_step_status(tx, tick, step.n, "done", "")?,
                None => store::record_step(tx, tick, step, "done", "")?,
            }
        }
        write.map_or(Ok(()), |id| routes::set_write(tx, id, "done"))
    })?;
    ctx.performed.extend(steps);
    Ok(())
}

fn refuse(ctx: &mut Context<'_>, steps: &[PlannedStep], path: &Path, why: &str) -> Result<()> {
    let tick = ctx.tick_id()?;
    ctx.store.write(|tx| {
        steps.iter().try_for_each(|step| store::record_step(tx, tick, step, "refused", why))
    })?;
    note_refusal(ctx, path, why);
    Ok(())
}

pub(super) fn note_refusal(ctx: &mut Context<'_>, path: &Path, why: &str) {
    ctx.note(Level::Failed, Phase::Route, format!("{} was left alone: {why}", path.display()));
}

/// Settles writes that a killed run left open: done if the file has the content meant for it, done
/// now if it still has the old one, else a conflict that is shown and left.
pub fn resume(ctx: &mut Context<'_>) -> Result<()> {
    for open in routes::open_writes(ctx.store.reader())? {
        let path = PathBuf::from(&open.path);
        let outcome = match door::read(&path) {
            Ok(now) if now == open.after => door::confirm(&path).map_err(|e| e.to_string()),
            Ok(now) if now == open.before => {
                put(&path, open.before.as_deref(), open.after.as_deref()).map_err(|e| e.to_string())
            }
            Ok(_) => Err("somebody changed it while the write was under way".to_string()),
            Err(error) => Err(error.to_string()),
        };
        settle_open(ctx, &open, outcome.as_ref().err())?;
        if let Err(why) = outcome {
            note_refusal(ctx, &path, &why);
        }
    }
    Ok(())
}

fn settle_open(
    ctx: &mut Context<'_>,
    open: &routes::FileWrite,
    failed: Option<&String>,
) -> Result<()> {
    let intended: Vec<StepRecord> = store::steps_of(ctx.store.reader(), open.tick)?
        .into_iter()
        .filter(|record| record.status == "intent" && path_of(&record.planned) == Some(&open.path))
        .collect();
    let now = ctx.now();
    // The rows of an undo follow when it is carried through; they go the other way.
    let settles = store::tick(ctx.store.reader(), open.tick)?.undoes.is_none();
    ctx.store.write(|tx| {
        for record in &intended {
            let planned = &record.planned;
            match (failed, &planned.step) {
                (None, Step::Route { route, .. }) => {
                    if settles {
                        routes::settle(tx, route, now, &planned.reason)?;
                    }
                    store::set_step_status(tx, open.tick, planned.n, "done", "")?;
                }
                (Some(why), _) => store::set_step_status(tx, open.tick, planned.n, "refused", why)?,
                _ => {}
            }
        }
        routes::set_write(tx, open.id, if failed.is_some() { "conflict" } else { "done" })
    })
}

pub(super) fn path_of(planned: &PlannedStep) -> Option<&String> {
    match &planned.step {
        Step::Route { route, .. } => Some(&route.path),
        _ => None,
    }
}
