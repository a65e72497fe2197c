//! What a tick did to files, taken back: exact bytes where a file is as the tick left it, else our own
//! lines where they are intact.
//!
//! An undo records its writes as a tick does, so it is itself taken back: by what it had undone.

use super::files::{
    Group, begin, current, format_of, line_op, note_refusal, path_of, put, refuse_write,
};
use super::{Context, Level, Mode};
use crate::error::{Error, Result};
use crate::store::{self, StepRecord, routes};
use crate::targets::{self, door};
use lifecycle_phases::{Phase, PlannedStep, Route, RouteOp, State, Step};
use std::path::{Path, PathBuf};

/// Takes back what tick `target` did to files: exact bytes where the file is as the tick left it,
/// else our own lines where they are intact; what was edited since is shown and stays. Returns how
/// many files could not be written and are as they were.
pub fn undo(ctx: &mut Context<'_>, target: i64) -> Result<usize> {
    let done: Vec<StepRecord> = store::steps_of(ctx.store.reader(), target)?
        .into_iter()
        .filter(|record| record.status == "done" && path_of(&record.planned).is_some())
        .collect();
    let writes = routes::writes_of(ctx.store.reader(), target)?;
    let mut left = 0;
    for stretch in stretches(&writes) {
        let path = &stretch[0].path;
        let steps: Vec<&StepRecord> = done
            .iter()
            .filter(|record| path_of(&record.planned) == Some(path))
            .filter(|record| line_op(&record.planned.step).is_some())
            .collect();
        left += usize::from(!undo_stretch(ctx, &stretch, &steps)?);
    }
    let rest: Vec<&StepRecord> = done
        .iter()
        .filter(|record| {
            let written = writes.iter().any(|write| path_of(&record.planned) == Some(&write.path));
            !written || line_op(&record.planned.step).is_none()
        })
        .collect();
    take_back_rows(ctx, target, &rest)?;
    Ok(left)
}

/// Writes of one file of which each began with what the one before left: they are taken back as one,
/// so that none of their lines can count as taken back while the file still has it. `writes` come
/// newest first, as do those of a stretch.
fn stretches(writes: &[routes::FileWrite]) -> Vec<Vec<&routes::FileWrite>> {
    let mut found: Vec<Vec<&routes::FileWrite>> = Vec::new();
    for write in writes {
        let leads_to = |stretch: &&mut Vec<&routes::FileWrite>| {
            stretch.last().is_some_and(|next| next.path == write.path && next.before == write.after)
        };
        match found.iter_mut().find(leads_to) {
            Some(stretch) => stretch.push(write),
            None => found.push(vec![write]),
        }
    }
    found
}

/// `false`: the file could not be read or written and is as it was, which is noted.
fn undo_stretch(
    ctx: &mut Context<'_>,
    stretch: &[&routes::FileWrite],
    steps: &[&StepRecord],
) -> Result<bool> {
    let [newest, .., oldest] = stretch else {
        return stretch.first().map_or(Ok(true), |only| undo_stretch(ctx, &[only, only], steps));
    };
    let path = PathBuf::from(&newest.path);
    let now = match current(ctx, &path) {
        Ok(now) => now,
        Err(error) => {
            note_refusal(ctx, &path, &error.to_string());
            return Ok(false);
        }
    };
    // With an older content of the tick's own an undo that was killed had come so far.
    let is_ours = stretch.iter().any(|write| now == write.after || now == write.before);
    let (restored, undone) = match is_ours {
        true => (oldest.before.clone(), steps.to_vec()),
        false => without_our_lines(ctx, &path, now.as_deref(), steps),
    };
    if undone.is_empty() && restored == now {
        return Ok(true);
    }
    let inverse: Vec<PlannedStep> =
        undone.iter().filter_map(|record| inverse(&record.planned)).collect();
    let how = match (&restored, is_ours) {
        (None, _) => "is gone again: it was made by that tick",
        (_, true) => "is byte for byte as before that tick",
        (_, false) => "was changed since: our lines of that tick are taken back, the rest stays",
    };
    if !record_restore(ctx, &path, now, restored, inverse)? {
        return Ok(false);
    }
    ctx.note(Level::Info, Phase::Route, format!("{} {how}", path.display()));
    ctx.store.write(|tx| {
        stretch.iter().try_for_each(|write| routes::set_write(tx, write.id, "undone"))
    })?;
    take_back_rows(ctx, newest.tick, &undone)?;
    Ok(true)
}

/// The content with the intact lines of `steps` taken back, and which steps those are.
fn without_our_lines<'a>(
    ctx: &mut Context<'_>,
    path: &Path,
    now: Option<&[u8]>,
    steps: &[&'a StepRecord],
) -> (Option<Vec<u8>>, Vec<&'a StepRecord>) {
    let Some(now) = now else {
        note_refusal(ctx, path, "somebody removed it since");
        return (None, Vec::new());
    };
    let format = format_of(ctx, path);
    let (mut bytes, mut undone) = (now.to_vec(), Vec::new());
    for record in steps.iter().rev() {
        let Some(op) = inverse(&record.planned).as_ref().and_then(|step| line_op(&step.step))
        else {
            continue;
        };
        let next = targets::render(format, &bytes, std::slice::from_ref(&op));
        match next {
            Ok(next) if next != bytes => {
                bytes = next;
                undone.push(*record);
            }
            outcome => {
                let why = outcome.err().map_or_else(
                    || format!("the line `{}` was edited since", op.line),
                    |error| error.to_string(),
                );
                note_refusal(ctx, path, &why);
            }
        }
    }
    (Some(bytes), undone)
}

/// The route that a step of an undo took back, among the steps of the undone tick.
fn undone_route<'a>(first: &'a [StepRecord], planned: &PlannedStep) -> Option<&'a Route> {
    let n: usize = planned.reason.strip_prefix(UNDO_OF)?.parse().ok()?;
    first.iter().find(|record| record.planned.n == n).and_then(|record| {
        match &record.planned.step {
            Step::Route { route, .. } => Some(route),
            _ => None,
        }
    })
}

/// Begins the reason of a step that takes another one back.
const UNDO_OF: &str = "undo of step ";

fn inverse(planned: &PlannedStep) -> Option<PlannedStep> {
    let Step::Route { route, from } = &planned.step else { return None };
    let (op, line) = match &route.op {
        RouteOp::Add => (RouteOp::Withdraw, route.line.clone()),
        RouteOp::Withdraw | RouteOp::Displace => (RouteOp::Add, route.line.clone()),
        RouteOp::Replace { old_line } => {
            (RouteOp::Replace { old_line: route.line.clone() }, old_line.clone())
        }
        RouteOp::AlreadyKnown { .. } => return None,
    };
    // An undone step left the entry proven; its own inverse finds it so.
    let was_undone = matches!(route.op, RouteOp::Withdraw) && planned.reason.starts_with(UNDO_OF);
    let from = match from {
        State::Proven => State::Routed,
        State::Routed if was_undone => State::Proven,
        other => *other,
    };
    let step = Step::Route { route: Route { op, line, ..route.clone() }, from };
    let mut step = PlannedStep::new(planned.phase, step, format!("{UNDO_OF}{}", planned.n));
    step.requirements.clear();
    Some(step)
}

/// Writes the restored content as a recorded write of the undoing tick. `false`: the file may not be
/// written and is as it was, which is noted.
fn record_restore(
    ctx: &mut Context<'_>,
    path: &Path,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    mut steps: Vec<PlannedStep>,
) -> Result<bool> {
    ctx.number(&mut steps);
    let tick = ctx.tick_id()?;
    let group = Group { path: path.to_path_buf(), planned_on: None, steps };
    if ctx.mode == Mode::DryRun {
        if let Err(error) = door::writable(path) {
            note_refusal(ctx, path, &error.to_string());
            return Ok(false);
        }
        return foresee(ctx, tick, group, before, after).map(|()| true);
    }
    let id = begin(ctx, tick, &group, before.as_deref(), after.as_deref())?;
    let written = match before == after {
        true => Ok(()),
        false => put(path, before.as_deref(), after.as_deref()),
    };
    if let Err(error) = written {
        if door::read(path).is_ok_and(|now| now == before) {
            refuse_write(ctx, id, &group, &error.to_string())?;
            return Ok(false);
        }
        return Err(Error::io(path, &error));
    }
    ctx.store.write(|tx| {
        for step in &group.steps {
            store::set_step_status(tx, tick, step.n, "done", "")?;
        }
        routes::set_write(tx, id, "done")
    })?;
    ctx.performed.extend(group.steps);
    Ok(true)
}

/// The same in a dry run: the steps are recorded as done, the bytes go to the overlay.
fn foresee(
    ctx: &mut Context<'_>,
    tick: i64,
    group: Group,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> Result<()> {
    ctx.store.write(|tx| {
        let mut steps = group.steps.iter();
        steps.try_for_each(|step| store::record_step(tx, tick, step, "done", ""))
    })?;
    ctx.originals.entry(group.path.clone()).or_insert(before);
    ctx.overlay.insert(group.path, after);
    ctx.performed.extend(group.steps);
    Ok(())
}

fn take_back_rows(ctx: &mut Context<'_>, tick: i64, undone: &[&StepRecord]) -> Result<()> {
    let (now, by) = (ctx.now(), ctx.tick_id()?);
    let first = match store::tick(ctx.store.reader(), tick)?.undoes {
        Some(original) => store::steps_of(ctx.store.reader(), original)?,
        None => Vec::new(),
    };
    ctx.store.write(|tx| {
        for record in undone.iter().rev() {
            match (&record.planned.step, undone_route(&first, &record.planned)) {
                // An undo is taken back by what it had undone.
                (_, Some(route)) => routes::settle(tx, route, now, "undo undone")?,
                (Step::Route { route, from }, None) => routes::unsettle(tx, route, *from, now)?,
                _ => {}
            }
            let detail = format!("by tick {by}");
            store::set_step_status(tx, tick, record.planned.n, "undone", &detail)?;
        }
        Ok(())
    })
}
