//! `lifecycle eval routes`: held-out bullets of repositories, and the files they belong to.

use super::{print_figures, read_rows, write_rows};
use crate::cli::Session;
use crate::embed;
use crate::error::{ExitCode, Result};
use crate::tick::route::offline::{self, Ranked};
use clap::Args;
use lifecycle_phases::route::Candidate;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `eval routes`.
#[derive(Args)]
pub struct RoutesArgs {
    /// Items as JSON lines: id, repo, text, gold_path, gold_section
    file: PathBuf,
    /// Files of the repositories as JSON lines: repo, path, text [default: corpus.jsonl beside FILE]
    #[arg(long, value_name = "FILE")]
    corpus: Option<PathBuf>,
    /// Write one ranking a line here: id, ranking, section, score
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    repo: String,
    text: String,
    gold_path: String,
    #[serde(default)]
    gold_section: String,
}

#[derive(Deserialize)]
struct File {
    repo: String,
    path: String,
    text: String,
}

/// How one system placed one item.
struct Row {
    id: String,
    /// 1-based rank of the right file; 0: not among the files.
    rank: usize,
    /// 0-based rank of the right heading in the right file; `None` where either is missed.
    section_rank: Option<usize>,
    score: f32,
    ranking: Vec<String>,
    section: Option<String>,
}

/// Ranks every item and compares with the file it was taken from.
pub fn run(session: &Session, args: &RoutesArgs) -> Result<ExitCode> {
    let items: Vec<Item> = read_rows(&args.file)?;
    let corpus = args.corpus.clone().unwrap_or_else(|| args.file.with_file_name("corpus.jsonl"));
    let mut files: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in read_rows::<File>(&corpus)? {
        files.entry(file.repo).or_default().push((file.path, file.text));
    }
    let embedder = embed::open(&session.settings, &session.paths)?;
    let mut systems: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for (repo, files) in &files {
        let own: Vec<&Item> = items.iter().filter(|item| &item.repo == repo).collect();
        let texts: Vec<String> = own.iter().map(|item| item.text.clone()).collect();
        let (candidates, ranked) = offline::rank(&*embedder, files, &texts)?;
        for (item, ranked) in own.iter().zip(&ranked) {
            systems.entry("lifecycle").or_default().push(row(item, &candidates, ranked));
            for (name, place, order) in &ranked.baselines {
                let paths = order.iter().map(|file| candidates[*file].relative.clone()).collect();
                let mut row = bare_row(item, paths);
                let places = place.iter().map(|place| (order[0], *place));
                row.section_rank =
                    section_rank(item, &candidates, places).filter(|_| row.rank == 1);
                systems.entry(name).or_default().push(row);
            }
        }
    }
    if let Some(out) = &args.out {
        let rows = systems.get("lifecycle").into_iter().flatten();
        write_rows(out, rows.map(|row| {
            json!({"id": row.id, "ranking": row.ranking, "section": row.section, "score": row.score})
        }))?;
    }
    print_figures(session, &figures(&systems, session.settings.route.floor))?;
    Ok(ExitCode::Success)
}

fn row(item: &Item, candidates: &[Candidate], ranked: &Ranked) -> Row {
    let files = &ranked.ranking.files;
    let paths = files.iter().map(|file| candidates[file.file].relative.clone()).collect();
    let best = files.first();
    let section =
        best.and_then(|best| candidates[best.file].places.get(best.place)?.path.last().cloned());
    let mut row = bare_row(item, paths);
    row.score = best.map_or(0.0, |best| best.score);
    let first = best.map(|best| best.file);
    let own = ranked.ranking.sections.iter().copied().filter(|(file, _)| Some(*file) == first);
    row.section_rank = section_rank(item, candidates, own).filter(|_| row.rank == 1);
    row.section = section;
    row
}

fn bare_row(item: &Item, ranking: Vec<String>) -> Row {
    let rank = ranking.iter().position(|path| *path == item.gold_path).map_or(0, |at| at + 1);
    Row { id: item.id.clone(), rank, section_rank: None, score: 0.0, ranking, section: None }
}

/// The place of the right heading among `places`.
fn section_rank(
    item: &Item,
    candidates: &[Candidate],
    mut places: impl Iterator<Item = (usize, usize)>,
) -> Option<usize> {
    places.position(|(file, place)| {
        let heading = candidates[file].places.get(place).and_then(|place| place.path.last());
        plain(heading.map_or("", String::as_str)) == plain(&item.gold_section)
    })
}

/// A heading as it is compared: its words alone.
fn plain(heading: &str) -> String {
    let kept = heading.chars().map(|ch| if ch.is_alphanumeric() || ch == '_' { ch } else { ' ' });
    kept.collect::<String>().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn figures(systems: &BTreeMap<&str, Vec<Row>>, floor: f32) -> Vec<(String, Value)> {
    let mut figures = Vec::new();
    for (name, rows) in systems {
        let share = |hit: &dyn Fn(&Row) -> bool| {
            json!(rows.iter().filter(|row| hit(row)).count() as f64 / rows.len().max(1) as f64)
        };
        let mrr: f64 =
            rows.iter().filter(|row| row.rank > 0).map(|row| 1.0 / row.rank as f64).sum();
        figures.push((format!("{name}: items"), json!(rows.len())));
        figures.push((format!("{name}: top-1"), share(&|row| row.rank == 1)));
        figures.push((format!("{name}: top-3"), share(&|row| (1..=3).contains(&row.rank))));
        figures.push((format!("{name}: MRR"), json!(mrr / rows.len().max(1) as f64)));
        let section = share(&|row| row.section_rank == Some(0));
        figures.push((format!("{name}: section"), section));
    }
    let Some(rows) = systems.get("lifecycle") else { return figures };
    let right = rows.iter().filter(|row| row.section_rank.is_some_and(|rank| rank < 3)).count();
    let share = right as f64 / rows.len().max(1) as f64;
    figures.push(("lifecycle: section among three".into(), json!(share)));
    let written: Vec<&Row> = rows.iter().filter(|row| row.score >= floor).collect();
    figures.push(("floor".into(), json!(f64::from(floor))));
    figures.push((
        "coverage at the floor".into(),
        json!(written.len() as f64 / rows.len().max(1) as f64),
    ));
    figures.push(("precision at the floor".into(), precision(&written)));
    let mut by_score: Vec<&Row> = rows.iter().collect();
    by_score.sort_by(|one, other| other.score.total_cmp(&one.score));
    let most = by_score.len() * 4 / 5;
    figures.push(("precision at 80 % coverage".into(), precision(&by_score[..most])));
    if let Some(last) = by_score[..most].last() {
        figures.push(("score at 80 % coverage".into(), json!(f64::from(last.score))));
    }
    figures
}

fn precision(rows: &[&Row]) -> Value {
    let right = rows.iter().filter(|row| row.rank == 1).count();
    json!(right as f64 / rows.len().max(1) as f64)
}
