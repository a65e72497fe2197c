//! Lines planned for files, each within its budget.
//!
//! A full file takes a line only if lines of ours with less behind them give way: weakest first, no
//! more than the new line needs. Their entries are proven as before and wait. A file is never grown
//! beyond its budget, and the user's own lines are never touched.

use super::super::Context;
use super::gather::Loaded;
use super::strength;
use crate::error::Result;
use crate::store::{self, StoredEntry, routes, routes::RouteRow};
use crate::targets::{self, Change, LineOp};
use lifecycle_phases::{Phase, PlannedStep, Route, RouteOp, Step};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines that give way to one line at most: a block of its own takes four.
const MOST: usize = 4;

/// What is planned for the files so far.
pub struct Sheet<'a> {
    /// The files.
    pub loaded: &'a [Loaded],
    ops: BTreeMap<usize, Vec<LineOp>>,
    strengths: BTreeMap<i64, u64>,
}

impl<'a> Sheet<'a> {
    /// Nothing planned yet; `strengths` of the entries to place, by their number.
    pub fn new(loaded: &'a [Loaded], strengths: BTreeMap<i64, u64>) -> Self {
        Self { loaded, ops: BTreeMap::new(), strengths }
    }

    /// Takes one more line into a file if it can be edited and stays within its budget; returns
    /// the steps that make room, or why there is none.
    pub fn take(
        &mut self,
        ctx: &Context<'_>,
        file: usize,
        stored: &StoredEntry,
        section: &[String],
        line: &str,
    ) -> Result<Result<Vec<PlannedStep>, String>> {
        let planned = self.ops.get(&file).cloned().unwrap_or_default();
        let add = op(section, line, Change::Add);
        let alone: Vec<LineOp> = planned.iter().cloned().chain([add.clone()]).collect();
        let full = match self.try_ops(file, alone) {
            Ok(()) => return Ok(Ok(Vec::new())),
            Err(Refusal::Edit(why)) => return Ok(Err(why)),
            Err(Refusal::Full(why)) => why,
        };
        let mut gone: Vec<RouteRow> = Vec::new();
        for weak in self.weaker(ctx, file, stored, &planned)?.into_iter().take(MOST) {
            gone.push(weak);
            let out = gone.iter().map(|row| op(&row.section, &row.line, Change::Withdraw));
            let ops = planned.iter().cloned().chain(out).chain([add.clone()]).collect();
            if self.try_ops(file, ops).is_ok() {
                let steps = gone.iter().map(|row| displace(row, stored, &self.loaded[file]));
                return Ok(Ok(steps.collect()));
            }
        }
        Ok(Err(full))
    }

    fn try_ops(&mut self, file: usize, ops: Vec<LineOp>) -> Result<(), Refusal> {
        let target = &self.loaded[file];
        let before = target.bytes.as_deref().unwrap_or_default();
        let after = targets::render(target.found.format, before, &ops)
            .map_err(|error| Refusal::Edit(error.to_string()))?;
        fits(target, &after, chain_bytes(target, self.loaded)).map_err(Refusal::Full)?;
        self.ops.insert(file, ops);
        Ok(())
    }

    /// Our lines of a file with less behind them than `stored`, the weakest and newest first.
    fn weaker(
        &self,
        ctx: &Context<'_>,
        file: usize,
        stored: &StoredEntry,
        planned: &[LineOp],
    ) -> Result<Vec<RouteRow>> {
        let reader = ctx.store.reader();
        let own = self.strengths.get(&stored.seq).copied().unwrap_or_default();
        let mut found = Vec::new();
        for row in routes::of_path(reader, &self.loaded[file].path.to_string_lossy())? {
            let taken = planned.iter().any(|op| op.line == row.line);
            if row.status != "written" || taken {
                continue;
            }
            let Some(other) = store::entry_by_id(reader, &row.entry)? else { continue };
            let theirs = strength(ctx, &other)?;
            if theirs < own && !other.entry.protected {
                found.push((theirs, std::cmp::Reverse(other.seq), row));
            }
        }
        found.sort_by_key(|(strength, seq, _)| (*strength, *seq));
        Ok(found.into_iter().map(|(.., row)| row).collect())
    }
}

enum Refusal {
    /// The line cannot go there.
    Edit(String),
    /// It could, but for the budget.
    Full(String),
}

fn op(section: &[String], line: &str, change: Change) -> LineOp {
    LineOp { section: section.to_vec(), line: line.to_string(), change }
}

fn displace(row: &RouteRow, by: &StoredEntry, target: &Loaded) -> PlannedStep {
    let route = Route {
        entry: row.entry.clone(),
        path: row.path.clone(),
        section: row.section.clone(),
        line: row.line.clone(),
        op: RouteOp::Displace,
        score: row.score,
        runners_up: row.runners_up.clone(),
    };
    let step = Step::Route { route, from: lifecycle_phases::State::Routed };
    let reason = format!("makes room for {}, which has more behind it", by.entry.id);
    PlannedStep::new(Phase::Route, step, reason).requiring(target.unchanged())
}

fn fits(target: &Loaded, after: &[u8], above: usize) -> Result<(), String> {
    let lines = after.iter().filter(|byte| **byte == b'\n').count();
    if let Some(most) = target.found.spec.max_lines.filter(|most| lines > *most) {
        return Err(format!("is full (budget {most} lines)"));
    }
    match target.found.spec.max_bytes.filter(|most| after.len() + above > *most) {
        Some(most) => Err(format!("is full (budget {most} bytes)")),
        None => Ok(()),
    }
}

/// Bytes of the files of the same name in the folders above, where the budget counts them.
fn chain_bytes(target: &Loaded, all: &[Loaded]) -> usize {
    if !target.found.spec.chain {
        return 0;
    }
    let name = target.path.file_name();
    let above = |other: &&Loaded| {
        other.path != target.path
            && other.path.file_name() == name
            && other.path.parent().is_some_and(|folder: &Path| target.path.starts_with(folder))
    };
    all.iter().filter(above).map(|other| other.bytes.as_ref().map_or(0, Vec::len)).sum()
}
