//! What users did to our lines, and knowledge that is withdrawn.

use super::super::{Context, Level, files};
use super::brake::brake;
use super::{line_for, short};
use crate::error::Result;
use crate::store::{self, routes, routes::RouteRow};
use crate::targets::{self, Format, Item, Section, door};
use lifecycle_phases::route::blocks;
use lifecycle_phases::route::known::{Standing, alike, standing};
use lifecycle_phases::{
    Actor, Channel, Entry, Kind, Phase, PlannedStep, Requirement, Route, RouteOp, Source, State,
    Step,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Compares every file that holds lines of ours with what we know of it.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let mut by_path: BTreeMap<String, Vec<RouteRow>> = BTreeMap::new();
    for row in routes::written(ctx.store.reader())? {
        by_path.entry(row.path.clone()).or_default().push(row);
    }
    let (mut settled, mut rewrites) = (Vec::new(), Vec::new());
    for (path, rows) in by_path {
        match file(ctx, Path::new(&path), &rows)? {
            Ok(found) => {
                settled.extend(found.settled);
                rewrites.extend(found.rewrites);
            }
            Err(why) => {
                ctx.note(Level::Failed, Phase::Route, format!("{path} is left alone: {why}"));
            }
        }
    }
    // The brake counts the lines of all files together.
    let rewrites = brake(ctx, rewrites);
    files::perform(ctx, settled.into_iter().chain(rewrites).collect())
}

/// What is to be done about one file.
struct Found {
    /// Rows that follow what the user did.
    settled: Vec<PlannedStep>,
    /// Lines of ours that stand there and are to leave, or to be replaced.
    rewrites: Vec<PlannedStep>,
}

/// The outer error is the store's, the inner one a reason to leave this file alone.
fn file(ctx: &mut Context<'_>, path: &Path, rows: &[RouteRow]) -> Result<Result<Found, String>> {
    let bytes = match files::current(ctx, path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) if path.parent().is_some_and(Path::is_dir) => Vec::new(),
        Ok(None) => return Ok(Ok(Found { settled: Vec::new(), rewrites: Vec::new() })),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let format = files::format_of(ctx, path);
    let key = rows.first().map_or_else(Vec::new, |row| row.section.clone());
    let sections = match targets::survey(format, &bytes, &key) {
        Ok(sections) => sections,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let items: Vec<&Item> = sections.iter().flat_map(|section| &section.items).collect();
    let surplus: Vec<&Item> = sections.iter().flat_map(|section| &section.surplus).collect();
    let (standing, missing): (Vec<&RouteRow>, Vec<&RouteRow>) =
        rows.iter().partition(|row| items.iter().any(|item| item.text == row.line));
    let mut unknown = match format {
        Format::Markdown => unknown(ctx, path, items.iter().chain(&surplus).copied())?,
        _ => Vec::new(),
    };
    let (mut settled, mut rewrites) = (Vec::new(), Vec::new());
    for row in missing {
        settled.push(lost(ctx, row, &sections, &bytes, &mut unknown)?);
    }
    let admitted = admit(ctx, path, rows, &unknown)?;
    for row in standing {
        if routes::is_withdrawn(ctx.store.reader(), row)? {
            rewrites.push(withdraw(ctx, row, &bytes)?);
        }
    }
    ctx.perform(admitted)?;
    Ok(Ok(Found { settled, rewrites }))
}

/// Lines in our block that we never wrote.
fn unknown<'a>(
    ctx: &Context<'_>,
    path: &Path,
    items: impl Iterator<Item = &'a Item>,
) -> Result<Vec<String>> {
    let ours = routes::of_path(ctx.store.reader(), &path.to_string_lossy())?;
    let mut found: Vec<String> = items
        .filter(|item| !ours.iter().any(|row| row.line == item.text))
        .map(|item| item.text.clone())
        .collect();
    found.dedup();
    Ok(found)
}

/// A line of ours that is not in our block any more: moved if the user's own text states it now,
/// edited if a line like it stands in the block, else deleted. In each case it is the user's word,
/// and it is not written again.
fn lost(
    ctx: &mut Context<'_>,
    row: &RouteRow,
    sections: &[Section],
    bytes: &[u8],
    unknown: &mut [String],
) -> Result<PlannedStep> {
    if let Some((section, line_number)) = moved(row, sections) {
        let reason = format!("you moved the line; line {line_number} states it now");
        ctx.note(Level::Info, Phase::Route, format!("{}: {reason}", row.path));
        let op = RouteOp::AlreadyKnown { line_number };
        let mut step = row_step(ctx, row, bytes, op, reason)?;
        if let Step::Route { route, .. } = &mut step.step {
            route.section = section;
        }
        return Ok(step);
    }
    let edited = unknown.iter().find(|line| alike(&row.line, line));
    let reason = match edited {
        Some(line) => format!("you edited the line; it stays as “{}”", short(line)),
        None => "you deleted the line; it is not written again".to_string(),
    };
    ctx.note(Level::Info, Phase::Route, format!("{}: {reason}", row.path));
    withdraw_step(ctx, row, bytes, reason)
}

/// Where the user's own text states a line, outside our blocks.
fn moved(row: &RouteRow, sections: &[Section]) -> Option<(Vec<String>, usize)> {
    sections.iter().find_map(|section| {
        let states = |(_, text): &(usize, String)| standing(&row.line, text) == Standing::States;
        let (offset, _) = blocks(&section.body).into_iter().find(states)?;
        Some((section.path.clone(), section.first_line + offset))
    })
}

/// When the user last wrote into a file, as the file system tells: not later than now.
fn written(path: &Path, now: i64) -> i64 {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).map_or(now, |at| at.min(now))
}

/// Lines of the user's come in as entries of theirs, said when the file was written: what came in
/// since then is newer.
fn admit(
    ctx: &Context<'_>,
    path: &Path,
    rows: &[RouteRow],
    unknown: &[String],
) -> Result<Vec<PlannedStep>> {
    let reader = ctx.store.reader();
    let mut project = None;
    for row in rows {
        project = project
            .or(store::entry_by_id(reader, &row.entry)?.and_then(|stored| stored.entry.project));
    }
    let mut steps = Vec::new();
    let said = written(path, ctx.now());
    for line in unknown {
        let mut source = Source::new(Channel::Scan, Actor::User);
        source.path = Some(path.to_string_lossy().into_owned());
        let entry = Entry::new(line, Kind::Insight, project.clone(), said, source);
        if store::entry_by_id(reader, &entry.id)?.is_none() {
            let step = Step::Admit { entry: Box::new(entry) };
            steps.push(PlannedStep::new(Phase::Route, step, "you wrote it into our block"));
        }
    }
    Ok(steps)
}

/// The line of an entry that is gone or lives on elsewhere: replaced by its successor's, or out.
fn withdraw(ctx: &Context<'_>, row: &RouteRow, bytes: &[u8]) -> Result<PlannedStep> {
    let reader = ctx.store.reader();
    let next = routes::successor(reader, &row.entry)?;
    let next = next.map(|id| store::entry_by_id(reader, &id)).transpose()?.flatten();
    if let Some(next) = next.filter(|next| next.entry.state == State::Proven) {
        let route = Route {
            entry: next.entry.id.clone(),
            path: row.path.clone(),
            section: row.section.clone(),
            line: line_for(files::format_of(ctx, Path::new(&row.path)), &next.entry.text),
            op: RouteOp::Replace { old_line: row.line.clone() },
            score: row.score,
            runners_up: row.runners_up.clone(),
        };
        let step = Step::Route { route, from: next.entry.state };
        let reason = format!("replaces the line of {}", row.entry);
        return Ok(PlannedStep::new(Phase::Route, step, reason).requiring(requirement(row, bytes)));
    }
    withdraw_step(ctx, row, bytes, "the entry was withdrawn".to_string())
}

/// The step that takes a line out of its file.
pub fn withdraw_step(
    ctx: &Context<'_>,
    row: &RouteRow,
    bytes: &[u8],
    reason: String,
) -> Result<PlannedStep> {
    row_step(ctx, row, bytes, RouteOp::Withdraw, reason)
}

fn row_step(
    ctx: &Context<'_>,
    row: &RouteRow,
    bytes: &[u8],
    op: RouteOp,
    reason: String,
) -> Result<PlannedStep> {
    let stored = store::entry_by_id(ctx.store.reader(), &row.entry)?;
    let from = stored.as_ref().map_or(State::Expired, |stored| stored.entry.state);
    let route = Route {
        entry: row.entry.clone(),
        path: row.path.clone(),
        section: row.section.clone(),
        line: row.line.clone(),
        op,
        score: row.score,
        runners_up: row.runners_up.clone(),
    };
    let mut step = PlannedStep::new(Phase::Route, Step::Route { route, from }, reason);
    if stored.is_none() {
        // A forgotten entry has no state to require; its line still has to go.
        step.requirements.clear();
    }
    Ok(step.requiring(requirement(row, bytes)))
}

fn requirement(row: &RouteRow, bytes: &[u8]) -> Requirement {
    let path = PathBuf::from(&row.path);
    let exists = path.exists() || !bytes.is_empty();
    Requirement::File { path: row.path.clone(), hash: exists.then(|| door::hash(bytes)) }
}
