//! Places proven entries: which file, which section, or why not.

use super::super::{Context, Level, files};
use super::brake::brake;
use super::budget::Sheet;
use super::gather::{self, Loaded};
use super::known::known;
use super::wide::Elsewhere;
use super::{confinement, line_for, short, strength};
use crate::capture::project::OPT_OUT;
use crate::embed::{Role, embed_one};
use crate::error::Result;
use crate::progress::Progress;
use crate::store::{StoredEntry, routes};
use crate::targets::{self, Moved, Targets, discover, excludes};
use lifecycle_phases::route::scope::named_files;
use lifecycle_phases::route::{Candidate, Query, Ranked, Ranker, Ranking, Verdict};
use lifecycle_phases::{Phase, PlannedStep, Route, RouteOp, Step};
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
    let elsewhere = Elsewhere::load(ctx)?;
    let mut wide = Vec::new();
    for stored in &entries {
        wide.push(project.is_none() || elsewhere.state(stored));
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
    let mut sheet = Sheet::new(&loaded, strengths);
    let steps = plan(ctx, &entries, &wide, &mut sheet, &candidates)?;
    let steps = brake(ctx, steps);
    files::perform(ctx, steps)
}

fn found(ctx: &Context<'_>, targets: &Targets, project: Option<&str>) -> Vec<targets::Found> {
    let confinement = confinement(ctx, targets, project);
    let (root, home) = (project.map(Path::new), &ctx.paths.home);
    let hidden = excludes(&Moved::from_env().claude(home), root);
    discover(targets, root, home, &confinement, &hidden)
}

fn name(project: Option<&str>) -> String {
    project.map_or_else(|| "no project".to_string(), |root| format!("project {root}"))
}

fn plan(
    ctx: &mut Context<'_>,
    entries: &[StoredEntry],
    wide: &[bool],
    sheet: &mut Sheet<'_>,
    candidates: &[Candidate],
) -> Result<Vec<PlannedStep>> {
    let (ranker, loaded) = (Ranker::new(candidates), sheet.loaded);
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
            Ok(order) => steps.extend(write(ctx, sheet, stored, &order, &ranking, candidates)?),
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

/// The steps that write the entry to the first file of `order` that has room for it, or has lines
/// of weaker entries to give way.
fn write(
    ctx: &mut Context<'_>,
    sheet: &mut Sheet<'_>,
    stored: &StoredEntry,
    order: &[Ranked],
    ranking: &Ranking,
    candidates: &[Candidate],
) -> Result<Vec<PlannedStep>> {
    let mut problem = None;
    for ranked in order {
        let target = &sheet.loaded[ranked.file];
        let candidate = &candidates[ranked.file];
        let section = candidate.places.get(ranked.place).map(|place| place.path.clone());
        let section = section.unwrap_or_else(|| target.found.spec.key.clone());
        let line = line_for(target.found.format, &stored.entry.text);
        match sheet.take(ctx, ranked.file, stored, &section, &line)? {
            Ok(mut steps) => {
                let add =
                    add_step(stored, sheet.loaded, section, line, ranked, ranking, candidates);
                steps.push(add);
                return Ok(steps);
            }
            Err(why) => {
                problem.get_or_insert(format!("{}: {why}", target.path.display()));
            }
        }
    }
    let text = format!("“{}” waits: {}", short(&stored.entry.text), problem.unwrap_or_default());
    ctx.note(Level::Waiting, Phase::Route, text);
    Ok(Vec::new())
}

fn add_step(
    stored: &StoredEntry,
    loaded: &[Loaded],
    section: Vec<String>,
    line: String,
    ranked: &Ranked,
    ranking: &Ranking,
    candidates: &[Candidate],
) -> PlannedStep {
    let target = &loaded[ranked.file];
    // A file that is not there is no place a reader could go to.
    let others = ranking
        .files
        .iter()
        .filter(|other| other.file != ranked.file && loaded[other.file].bytes.is_some())
        .take(RUNNERS_UP);
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
    PlannedStep::new(Phase::Route, step, reason).requiring(target.unchanged())
}
