//! The report of a tick: what it did or would do, what it did not and why.
//!
//! One structure for a dry run, a live run and `report TICK` later, made from the steps; [`text`]
//! shows it to people, its serialised form goes to programs.

mod calls;
mod diff;
mod entry;
mod html;
mod layout;
mod markdown;
mod paint;
mod picture;
mod terminal;
mod text;

pub use calls::CallLine;
pub use diff::unified;
pub use entry::{entry_json, relations_json};
pub use html::render as render_html;
pub use markdown::render as render_markdown;
pub use paint::paint;
pub use picture::Picture;
pub use terminal::{
    COLUMNS, broken, escape_json, escape_terminal, fold, fold_diff, one_line, width,
};
pub use text::render;

use crate::clock::format_time;
use crate::config::Settings;
use crate::error::Result;
use crate::store;
use crate::tick::{Context, Level, Mode, Note, Similarities};
use lifecycle_phases::{EntryId, Phase, PlannedStep, Route, RouteOp, Step};
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A tick as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Number of the tick; none where nothing was to do, or in a dry run.
    pub tick: Option<i64>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// When the tick began, UTC.
    pub time: String,
    /// What started it.
    pub trigger: String,
    /// The phases that ran.
    pub phases: Vec<Phase>,
    /// How often each kind of step occurs.
    pub counts: BTreeMap<&'static str, usize>,
    /// The steps in order.
    pub steps: Vec<StepLine>,
    /// The files as they change.
    pub files: Vec<FileChange>,
    /// What did not happen, and why; the gravest first.
    pub notes: Vec<Note>,
    /// Model requests, summed up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallLine>,
    /// What the HTML form draws.
    #[serde(skip)]
    pub picture: Option<Picture>,
}

/// One step as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepLine {
    /// Its number, as `apply --skip` takes it.
    pub n: usize,
    /// The phase.
    pub phase: Phase,
    /// The kind of step.
    pub step: &'static str,
    /// The entry it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The file it writes to, if it is a route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it does, in words.
    pub summary: String,
    /// The texts of the two entries, if it is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// The texts a proven entry is made from, if it is a merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Why.
    pub reason: String,
    /// `done`, `refused`, `undone`; a dry run's are `planned`.
    pub status: String,
}

/// One file as it changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// Unified diff from before to after.
    pub diff: String,
}

impl Report {
    /// The report of the run that `ctx` has just ended.
    pub fn of(ctx: &Context<'_>) -> Result<Self> {
        let dry_run = ctx.mode == Mode::DryRun;
        let status = if dry_run { "planned" } else { "done" };
        let reader = ctx.store.reader();
        let steps = lines(reader, ctx.performed.iter().map(|step| (step, status)))?;
        let files = ctx
            .originals
            .iter()
            .filter_map(|(path, before)| {
                let after = ctx.overlay.get(path)?;
                change(path, before.as_deref(), after.as_deref())
            })
            .collect();
        Ok(Self {
            tick: if dry_run { None } else { ctx.tick },
            dry_run,
            time: format_time(began(ctx)?),
            trigger: ctx.trigger.to_string(),
            phases: ctx.phases.clone(),
            counts: count(&ctx.performed),
            steps,
            files,
            notes: gravest_first(ctx.notes.clone()),
            calls: ctx.tick.map_or(Ok(Vec::new()), |id| calls::calls_of(reader, id))?,
            picture: Some(Picture::of(reader, &ctx.performed, ctx.settings, ctx.nearest.clone())?),
        })
    }

    /// The report of a tick of the past, from the journal.
    pub fn of_tick(connection: &Connection, id: i64) -> Result<Self> {
        let tick = store::tick(connection, id)?;
        let records = store::steps_of(connection, id)?;
        let planned: Vec<PlannedStep> =
            records.iter().map(|record| record.planned.clone()).collect();
        let steps = lines(
            connection,
            records.iter().map(|record| (&record.planned, record.status.as_str())),
        )?;
        Ok(Self {
            tick: Some(id),
            dry_run: false,
            time: format_time(tick.started),
            trigger: tick.trigger,
            phases: Phase::ALL.to_vec(),
            counts: count(&planned),
            steps,
            files: recorded_changes(connection, id)?,
            notes: gravest_first(serde_json::from_str(&tick.notes).unwrap_or_default()),
            calls: calls::calls_of(connection, id)?,
            picture: None,
        })
    }

    /// The report of a plan that was kept; `connection` knows the texts of stored entries.
    pub fn of_plan(connection: &Connection, plan: &lifecycle_phases::Plan) -> Result<Self> {
        let steps = lines(connection, plan.steps.iter().map(|step| (step, "planned")))?;
        Ok(Self {
            tick: None,
            dry_run: true,
            time: format_time(plan.now),
            trigger: "plan".into(),
            phases: Phase::ALL.to_vec(),
            counts: count(&plan.steps),
            steps,
            files: Vec::new(),
            notes: Vec::new(),
            calls: Vec::new(),
            picture: None,
        })
    }

    /// Adds what the HTML form draws.
    pub fn with_picture(mut self, connection: &Connection, settings: &Settings) -> Result<Self> {
        if let Some(id) = self.tick {
            let steps: Vec<PlannedStep> =
                store::steps_of(connection, id)?.into_iter().map(|record| record.planned).collect();
            let nearest = Similarities::from_text(&store::nearest_of(connection, id)?);
            self.picture = Some(Picture::of(connection, &steps, settings, nearest)?);
        }
        Ok(self)
    }

    /// Whether there was nothing to do and nothing to say.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.notes.is_empty()
    }
}

/// The time by which every list names this tick.
fn began(ctx: &Context<'_>) -> Result<i64> {
    Ok(match ctx.tick {
        Some(id) if ctx.mode == Mode::Live => store::tick(ctx.store.reader(), id)?.started,
        _ => ctx.now(),
    })
}

fn gravest_first(mut notes: Vec<Note>) -> Vec<Note> {
    notes.sort_by_key(|note| std::cmp::Reverse(note.level));
    notes
}

fn count(steps: &[PlannedStep]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for step in steps {
        *counts.entry(step.step.name()).or_insert(0) += 1;
    }
    counts
}

fn change(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<FileChange> {
    (before != after).then(|| FileChange {
        path: path.display().to_string(),
        diff: unified(path, before, after),
    })
}

fn recorded_changes(connection: &Connection, tick: i64) -> Result<Vec<FileChange>> {
    let mut statement = connection
        .prepare("SELECT path, before, after FROM file_write WHERE tick = ?1 ORDER BY id")?;
    let rows = statement.query_map([tick], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, Option<Vec<u8>>>(1)?,
            row.get::<_, Option<Vec<u8>>>(2)?,
        ))
    })?;
    let mut changes = Vec::new();
    for row in rows {
        let (path, before, after) = row?;
        changes.extend(change(Path::new(&path), before.as_deref(), after.as_deref()));
    }
    Ok(changes)
}

fn lines<'a>(
    connection: &Connection,
    steps: impl Iterator<Item = (&'a PlannedStep, &'a str)>,
) -> Result<Vec<StepLine>> {
    steps
        .map(|(planned, status)| {
            Ok(StepLine {
                n: planned.n,
                phase: planned.phase,
                step: planned.step.name(),
                entry: planned.step.entry().cloned(),
                file: match &planned.step {
                    Step::Route { route, .. } => Some(route.path.clone()),
                    _ => None,
                },
                summary: summary(connection, &planned.step)?,
                between: between(connection, &planned.step)?,
                sources: sources(connection, &planned.step)?,
                reason: planned.reason.clone(),
                status: status.to_string(),
            })
        })
        .collect()
}

fn between(connection: &Connection, step: &Step) -> Result<Option<[String; 2]>> {
    Ok(match step {
        Step::Link { link } | Step::Unlink { link } => {
            Some([text_of(connection, &link.a)?, text_of(connection, &link.b)?])
        }
        _ => None,
    })
}

fn sources(connection: &Connection, step: &Step) -> Result<Vec<String>> {
    match step {
        Step::Merge { sources, .. } => {
            sources.iter().map(|source| text_of(connection, &source.entry)).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// What a step does, in words; the texts of entries are looked up.
fn summary(connection: &Connection, step: &Step) -> Result<String> {
    Ok(match step {
        Step::Admit { entry } | Step::Withdraw { entry } => entry.text.clone(),
        Step::Recall { entry, from, to } => {
            format!("{} (seen {from} → {to} times again)", text_of(connection, entry)?)
        }
        Step::Attest { entry, from, to } => {
            format!("origin {from} → {to}: {}", text_of(connection, entry)?)
        }
        Step::SetState { entry, from, to } => {
            format!("{from} → {to}: {}", text_of(connection, entry)?)
        }
        Step::Protect { entry, to, .. } => {
            format!("protected = {to}: {}", text_of(connection, entry)?)
        }
        Step::Embed { descriptor, .. } => format!("vector by {descriptor}"),
        Step::Link { link } | Step::Unlink { link } => format!(
            "{:.2}  {}  ~  {}{}",
            link.similarity,
            text_of(connection, &link.a)?,
            text_of(connection, &link.b)?,
            link.differing.map(|kind| format!("  [differs: {kind}]")).unwrap_or_default(),
        ),
        Step::Merge { proven, sources, .. } => format!(
            "{} ← {} entries: {}",
            proven.title.as_deref().unwrap_or("proven"),
            sources.len(),
            proven.text
        ),
        Step::Unmerge { merge } => summary(connection, merge)?,
        Step::RejectCluster { members, outcome, reason, .. } => {
            format!("{} entries {outcome}: {reason}", members.len())
        }
        Step::Route { route, .. } => route_summary(route),
        Step::Reprieve { entry, to, .. } => {
            format!("reprieve {to}: {}", text_of(connection, entry)?)
        }
        Step::Expire { entry, .. } => text_of(connection, entry)?,
    })
}

/// What happens to a line, so that a withdrawal does not read like a new line.
fn route_summary(route: &Route) -> String {
    let section = route.section.last().map_or("(top)", String::as_str);
    let place = format!("{} › {section}", route.path);
    let line = &route.line;
    match &route.op {
        RouteOp::Add => format!("{place}: {line}"),
        RouteOp::Replace { old_line } => format!("{place}: {line} — instead of: {old_line}"),
        RouteOp::Withdraw | RouteOp::Displace => format!("take out of {place}: {line}"),
        RouteOp::AlreadyKnown { line_number } => {
            format!("{}:{line_number} states it: {line}", route.path)
        }
    }
}

fn text_of(connection: &Connection, id: &EntryId) -> Result<String> {
    Ok(store::entry_by_id(connection, id)?
        .map_or_else(|| id.to_string(), |stored| stored.entry.text))
}

/// The word for a level in reports.
pub fn level_word(level: Level) -> &'static str {
    match level {
        Level::Failed => "failed",
        Level::Waiting => "waits",
        Level::Info => "note",
    }
}
