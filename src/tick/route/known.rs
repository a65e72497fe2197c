//! What the files say already: an entry that a line states, an older line of ours that it brings up
//! to date, a line of the user's that it contradicts.

use super::super::{Context, Level};
use super::gather::Loaded;
use super::{line_for, short};
use crate::store::{self, StoredEntry, routes};
use crate::targets::value_line;
use lifecycle_phases::route::known::{Standing, standing};
use lifecycle_phases::route::{Candidate, Ranking, brief};
use lifecycle_phases::{Phase, PlannedStep, Route, RouteOp, Step};

/// A step that links the entry to a line that states it, an empty list where a line of the user's
/// contradicts it, `None` where the files say nothing on it.
pub fn known(
    ctx: &mut Context<'_>,
    stored: &StoredEntry,
    ranking: &Ranking,
    loaded: &[Loaded],
    candidates: &[Candidate],
) -> Option<Vec<PlannedStep>> {
    let allowed = |file: usize| ranking.files.iter().any(|ranked| ranked.file == file);
    let near = ranking.blocks.iter().filter(|(file, _)| allowed(*file));
    let mut contradiction = None;
    let fact = brief(&stored.entry.text);
    for (file, block) in near {
        let (target, candidate) = (&loaded[*file], &candidates[*file]);
        let text = &candidate.blocks[*block].text;
        match standing(&fact, text) {
            Standing::States => {
                let line_number = target.lines[*block];
                let section = candidate.places[candidate.blocks[*block].place].path.clone();
                let step =
                    known_step(stored, target, section, text, line_number, ranking, candidates);
                return Some(vec![step]);
            }
            Standing::Contradicts if is_older_of_ours(ctx, stored, target, text) => {
                return Some(vec![replace_step(stored, target, candidate, *block, ranking)]);
            }
            Standing::Contradicts => {
                contradiction.get_or_insert_with(|| {
                    format!(
                        "{}:{} says “{}”",
                        target.path.display(),
                        target.lines[*block],
                        short(text)
                    )
                });
            }
            Standing::Other => {}
        }
    }
    let contradiction = contradiction?;
    let text = format!("“{}” waits: {contradiction}; settle it by hand", short(&stored.entry.text));
    ctx.note(Level::Waiting, Phase::Route, text);
    Some(Vec::new())
}

/// Whether a line of a file is one that we wrote, for an entry that is not newer than `stored`.
fn is_older_of_ours(ctx: &Context<'_>, stored: &StoredEntry, target: &Loaded, line: &str) -> bool {
    let reader = ctx.store.reader();
    let rows = routes::of_path(reader, &target.path.to_string_lossy()).unwrap_or_default();
    let row = rows.iter().find(|row| row.status == "written" && row.line == line);
    let old = row.and_then(|row| store::entry_by_id(reader, &row.entry).ok().flatten());
    old.is_some_and(|old| (old.entry.created, old.seq) < (stored.entry.created, stored.seq))
}

/// The entry says of the same thing something else than an older line of ours.
fn replace_step(
    stored: &StoredEntry,
    target: &Loaded,
    candidate: &Candidate,
    block: usize,
    ranking: &Ranking,
) -> PlannedStep {
    let old = &candidate.blocks[block];
    let route = Route {
        entry: stored.entry.id.clone(),
        path: target.path.to_string_lossy().into_owned(),
        section: candidate.places[old.place].path.clone(),
        line: line_for(target.found.format, &stored.entry.text),
        op: RouteOp::Replace { old_line: old.text.clone() },
        score: ranking.files.first().map_or(0.0, |best| best.score),
        runners_up: Vec::new(),
    };
    let step = Step::Route { route, from: stored.entry.state };
    PlannedStep::new(Phase::Route, step, "brings our line up to date").requiring(target.unchanged())
}

fn known_step(
    stored: &StoredEntry,
    target: &Loaded,
    section: Vec<String>,
    line: &str,
    line_number: usize,
    ranking: &Ranking,
    candidates: &[Candidate],
) -> PlannedStep {
    let score = ranking
        .files
        .iter()
        .find(|ranked| candidates[ranked.file].relative == target.found.relative);
    let route = Route {
        entry: stored.entry.id.clone(),
        path: target.path.to_string_lossy().into_owned(),
        section,
        line: value_line(line),
        op: RouteOp::AlreadyKnown { line_number },
        score: score.map_or(0.0, |ranked| ranked.score),
        runners_up: Vec::new(),
    };
    let step = Step::Route { route, from: stored.entry.state };
    PlannedStep::new(Phase::Route, step, format!("line {line_number} states it already"))
        .requiring(target.unchanged())
}
