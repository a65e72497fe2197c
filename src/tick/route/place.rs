//! Places proven entries: which file, which section, or why not.

use super::super::{Context, Level, files};
use super::brake::brake;
use super::gather::{self, Loaded};
use super::{confinement, is_wide, short, strength};
use crate::capture::project::OPT_OUT;
use crate::embed::{Role, embed_one};
use crate::error::Result;
use crate::progress::Progress;
use crate::store::{self, StoredEntry, routes};
use crate::targets::{self, Format, LineOp, Targets, discover, door, item_line, value_line};
use lifecycle_phases::route::known::{Standing, standing};
use lifecycle_phases::route::scope::named_files;
use lifecycle_phases::route::{Candidate, Query, Ranked, Ranker, Ranking, Verdict};
use lifecycle_phases::{Phase, PlannedStep, Requirement, Route, RouteOp, Step};
use std::collections::BTreeMap;
use std::path::Path;

/// The next best places that are kept with a route.
const RUNNERS_UP: usize = 5;

/// Places the entries of one project, or those of none.
pub fn run(
    ctx: &mut Context<'_>,
    targets: &Targets,
    project: Option<&str>,
    mut entries: Vec<StoredEntry>,
) -> Result<()> {
    if let Some(root) = project.filter(|root| !Path::new(root).is_dir()) {
        let text = format!("the folder of project {root} is gone; {} entries wait", entries.len());
        ctx.note(Level::Failed, Phase::Route, text);
        return Ok(());
    }
    if project.is_some_and(|root| Path::new(root).join(OPT_OUT).exists()) {
        return Ok(());
    }
    let mut strengths = BTreeMap::new();
    for stored in &entries {
        strengths.insert(stored.seq, strength(ctx, stored)?);
    }
    entries.sort_by_key(|stored| std::cmp::Reverse((strengths[&stored.seq], stored.seq)));
    let mut found = found(ctx, targets, project);
    let mut wide = Vec::new();
    for stored in &entries {
        wide.push(project.is_none() || is_wide(ctx, stored)?);
    }
    if project.is_some() && wide.contains(&true) {
        found.extend(self::found(ctx, targets, None));
    }
    let (loaded, mut candidates): (Vec<Loaded>, Vec<Candidate>) =
        gather::load(ctx, found).into_iter().unzip();
    if loaded.is_empty() {
        let text =
            format!("no file takes the {} proven entries of {}", entries.len(), name(project));
        ctx.note(Level::Waiting, Phase::Route, text);
        return Ok(());
    }
    gather::embed(ctx, &mut candidates)?;
    let steps = plan(ctx, &entries, &wide, &loaded, &candidates)?;
    let steps = brake(ctx, steps);
    files::perform(ctx, steps)
}

fn found(ctx: &Context<'_>, targets: &Targets, project: Option<&str>) -> Vec<targets::Found> {
    let confinement = confinement(ctx, targets, project);
    discover(targets, project.map(Path::new), &ctx.paths.home, &confinement)
}

fn name(project: Option<&str>) -> String {
    project.map_or_else(|| "no project".to_string(), |root| format!("project {root}"))
}

/// What is planned for the files so far.
struct Sheet<'a> {
    loaded: &'a [Loaded],
    ops: BTreeMap<usize, Vec<LineOp>>,
}

fn plan(
    ctx: &mut Context<'_>,
    entries: &[StoredEntry],
    wide: &[bool],
    loaded: &[Loaded],
    candidates: &[Candidate],
) -> Result<Vec<PlannedStep>> {
    let ranker = Ranker::new(candidates);
    let mut sheet = Sheet { loaded, ops: BTreeMap::new() };
    let mut steps = Vec::new();
    let progress = Progress::of("placing", entries.len());
    for (stored, wide) in entries.iter().zip(wide) {
        progress.add(1);
        let query = query(ctx, stored)?;
        let mut ranking = ranker.rank(&query);
        ranking.files.retain(|ranked| *wide || !gather::is_user(&loaded[ranked.file].found));
        if let Some(step) = known(ctx, stored, &ranking, loaded, candidates) {
            steps.extend(step);
            continue;
        }
        match choose(ctx, &ranking, loaded) {
            Ok(order) => steps.extend(write(ctx, &mut sheet, stored, &order, &ranking, candidates)),
            Err(why) => {
                let text = format!(
                    "“{}” waits: {why}{}",
                    short(&stored.entry.text),
                    near(&ranking, candidates)
                );
                ctx.note(Level::Waiting, Phase::Route, text);
            }
        }
    }
    Ok(steps)
}

fn query(ctx: &mut Context<'_>, stored: &StoredEntry) -> Result<Query> {
    let embedder = ctx.embedder()?;
    let descriptor = embedder.descriptor().id();
    let entry = &stored.entry;
    let vector = match routes::entry_vector(ctx.store.reader(), &descriptor, &entry.id)? {
        Some(vector) => vector,
        None => embed_one(&*embedder, &entry.text, Role::Document)?,
    };
    let mut files = entry.source.files.clone();
    files.extend(named_files(&entry.text));
    Ok(Query { text: entry.text.clone(), files, vector })
}

/// The candidates in the order in which they are tried, or why there is none.
fn choose(
    ctx: &Context<'_>,
    ranking: &Ranking,
    loaded: &[Loaded],
) -> Result<Vec<Ranked>, &'static str> {
    let route = &ctx.settings.route;
    let general = |ranked: &&Ranked| {
        let found = &loaded[ranked.file].found;
        found.spec.general && (route.general && !gather::is_user(found))
    };
    let similarity =
        ctx.embedder().map_or(1.0, |embedder| embedder.descriptor().similarity(ranking.nearest));
    let verdict = match ranking.verdict(route.floor, route.margin) {
        Verdict::Place(best) if similarity < route.near && !welcomes(&best, loaded) => {
            Verdict::NoTarget
        }
        verdict => verdict,
    };
    let mut order: Vec<Ranked> = match verdict {
        Verdict::Place(best) => {
            let close = ranking
                .files
                .iter()
                .filter(|other| other.file != best.file && other.score >= route.floor);
            std::iter::once(best).chain(close.copied()).collect()
        }
        Verdict::NoTarget | Verdict::TooClose => Vec::new(),
    };
    let fallback: Vec<Ranked> = ranking.files.iter().filter(general).copied().collect();
    order.extend(
        fallback
            .into_iter()
            .filter(|ranked| !order.iter().any(|other| other.file == ranked.file))
            .collect::<Vec<_>>(),
    );
    match (order.is_empty(), verdict) {
        (false, _) => Ok(order),
        (true, Verdict::TooClose) => Err("several files are equally near"),
        (true, _) => Err("no file is near enough"),
    }
}

/// Whether a file takes an entry that is near to nothing in it.
fn welcomes(ranked: &Ranked, loaded: &[Loaded]) -> bool {
    ranked.scoped || loaded[ranked.file].found.spec.general
}

fn near(ranking: &Ranking, candidates: &[Candidate]) -> String {
    let best: Vec<String> = ranking
        .files
        .iter()
        .take(3)
        .map(|ranked| format!("{} {:.2}", candidates[ranked.file].relative, ranked.score))
        .collect();
    if best.is_empty() { String::new() } else { format!(" (nearest: {})", best.join(", ")) }
}

/// A step that links the entry to a line that states it, an empty list where a line of the user's
/// contradicts it, `None` where the files say nothing on it.
fn known(
    ctx: &mut Context<'_>,
    stored: &StoredEntry,
    ranking: &Ranking,
    loaded: &[Loaded],
    candidates: &[Candidate],
) -> Option<Vec<PlannedStep>> {
    let allowed = |file: usize| ranking.files.iter().any(|ranked| ranked.file == file);
    let near = ranking.blocks.iter().filter(|(file, _)| allowed(*file));
    let mut contradiction = None;
    for (file, block) in near {
        let (target, candidate) = (&loaded[*file], &candidates[*file]);
        let text = &candidate.blocks[*block].text;
        match standing(&stored.entry.text, text) {
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
    PlannedStep::new(Phase::Route, step, "brings our line up to date")
        .requiring(file_requirement(target))
}

fn line_for(format: Format, text: &str) -> String {
    match format {
        Format::Markdown => item_line(text),
        _ => value_line(text),
    }
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
        .requiring(file_requirement(target))
}

fn file_requirement(target: &Loaded) -> Requirement {
    Requirement::File {
        path: target.path.to_string_lossy().into_owned(),
        hash: target.bytes.as_deref().map(door::hash),
    }
}

/// The step that writes the entry to the first file of `order` that has room for it.
fn write(
    ctx: &mut Context<'_>,
    sheet: &mut Sheet<'_>,
    stored: &StoredEntry,
    order: &[Ranked],
    ranking: &Ranking,
    candidates: &[Candidate],
) -> Option<PlannedStep> {
    let mut problem = None;
    for ranked in order {
        let target = &sheet.loaded[ranked.file];
        let candidate = &candidates[ranked.file];
        let section = candidate.places.get(ranked.place).map(|place| place.path.clone());
        let section = section.unwrap_or_else(|| target.found.spec.key.clone());
        let line = line_for(target.found.format, &stored.entry.text);
        match sheet.take(ranked.file, &section, &line) {
            Ok(()) => {
                return Some(add_step(stored, target, section, line, ranked, ranking, candidates));
            }
            Err(why) => {
                problem.get_or_insert(format!("{}: {why}", target.path.display()));
            }
        }
    }
    let text = format!("“{}” waits: {}", short(&stored.entry.text), problem.unwrap_or_default());
    ctx.note(Level::Waiting, Phase::Route, text);
    None
}

impl Sheet<'_> {
    /// Takes one more line into a file if it can be edited and stays within its budget.
    fn take(&mut self, file: usize, section: &[String], line: &str) -> Result<(), String> {
        let target = &self.loaded[file];
        let ops = self.ops.entry(file).or_default();
        ops.push(LineOp {
            section: section.to_vec(),
            line: line.to_string(),
            change: targets::Change::Add,
        });
        let before = target.bytes.as_deref().unwrap_or_default();
        let outcome = targets::render(target.found.format, before, ops)
            .map_err(|error| error.to_string())
            .and_then(|after| fits(target, &after, chain_bytes(target, self.loaded)));
        if outcome.is_err() {
            ops.pop();
        }
        outcome
    }
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

fn add_step(
    stored: &StoredEntry,
    target: &Loaded,
    section: Vec<String>,
    line: String,
    ranked: &Ranked,
    ranking: &Ranking,
    candidates: &[Candidate],
) -> PlannedStep {
    let others = ranking.files.iter().filter(|other| other.file != ranked.file).take(RUNNERS_UP);
    let route = Route {
        entry: stored.entry.id.clone(),
        path: target.path.to_string_lossy().into_owned(),
        section,
        line,
        op: RouteOp::Add,
        score: ranked.score,
        runners_up: others
            .map(|other| {
                let candidate = &candidates[other.file];
                let heading = candidate.places.get(other.place).and_then(|place| place.path.last());
                let place = heading.map_or_else(String::new, |heading| format!(" › {heading}"));
                (format!("{}{place}", candidate.relative), other.score)
            })
            .collect(),
    };
    let reason = match target.bytes {
        None => "the project has no instruction file yet".to_string(),
        Some(_) => format!("nearest place, score {:.2}", ranked.score),
    };
    let step = Step::Route { route, from: stored.entry.state };
    PlannedStep::new(Phase::Route, step, reason).requiring(file_requirement(target))
}
