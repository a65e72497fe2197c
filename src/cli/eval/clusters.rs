//! `lifecycle eval clusters`: a stream of notes of which some belong to a topic.

use super::links::interval;
use super::metrics::{b_cubed, b_cubed_f1, b_cubed_interval, wilson};
use super::{print_figures, read_rows, write_rows};
use crate::cli::Session;
use crate::embed;
use crate::error::{Error, ExitCode, Result};
use crate::tick::connect::{graph::cluster_settings, offline};
use clap::Args;
use lifecycle_phases::cluster::{Cluster, group};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Options of `eval clusters`.
#[derive(Args)]
pub struct ClustersArgs {
    /// JSON lines: id, ts, project, text
    file: PathBuf,
    /// JSON lines: id, topic (null: alone), noise; default: gold.jsonl beside FILE
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
    /// Write one row a note here: id, cluster
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Note {
    id: String,
    ts: i64,
    project: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct Gold {
    id: String,
    topic: Option<String>,
    #[serde(default)]
    noise: bool,
}

/// Share of a cluster that one topic must have for it to count as pure.
const PURE: f64 = 0.8;

/// Clusters the notes of the file and compares with their topics.
pub fn run(session: &Session, args: &ClustersArgs) -> Result<ExitCode> {
    let mut notes: Vec<Note> = read_rows(&args.file)?;
    notes.sort_by_key(|note| note.ts);
    let path = args.gold.clone().unwrap_or_else(|| args.file.with_file_name("gold.jsonl"));
    let gold = gold(&notes, read_rows(&path)?)?;
    let embedder = embed::open(&session.settings, &session.paths)?;
    let texts: Vec<offline::Note<'_>> = notes
        .iter()
        .map(|note| offline::Note { project: note.project.as_deref(), text: &note.text })
        .collect();
    let graph = offline::graph(&*embedder, &texts, &session.settings)?;
    let settings = cluster_settings(&session.settings);
    let clusters = assignment(&group(&graph, settings).clusters, notes.len());
    if let Some(out) = &args.out {
        let rows = notes.iter().zip(&clusters);
        write_rows(out, rows.map(|(note, cluster)| json!({"id": note.id, "cluster": cluster})))?;
    }
    print_figures(session, &figures(&gold, &clusters, settings.min_cluster))?;
    Ok(ExitCode::Success)
}

fn gold(notes: &[Note], rows: Vec<Gold>) -> Result<Vec<Gold>> {
    let mut rows: HashMap<String, Gold> =
        rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    let missing = |note: &Note| Error::input(format!("no topic row for note {}", note.id));
    notes.iter().map(|note| rows.remove(&note.id).ok_or_else(|| missing(note))).collect()
}

fn assignment(clusters: &[Cluster], notes: usize) -> Vec<Option<usize>> {
    let mut places = vec![None; notes];
    for (number, cluster) in clusters.iter().enumerate() {
        for place in cluster.members.iter().filter_map(offline::place) {
            places[place] = Some(number);
        }
    }
    places
}

/// Every note alone gets a number of its own, beyond those of topics and clusters.
fn numbered<T: Ord + Clone>(values: &[Option<T>]) -> Vec<usize> {
    let mut known: BTreeMap<T, usize> = BTreeMap::new();
    let alone = values.len();
    values
        .iter()
        .enumerate()
        .map(|(place, value)| match value {
            Some(value) => {
                let next = known.len();
                *known.entry(value.clone()).or_insert(next)
            }
            None => alone + place,
        })
        .collect()
}

fn figures(gold: &[Gold], clusters: &[Option<usize>], least: usize) -> Vec<(String, Value)> {
    let topics: Vec<Option<String>> = gold.iter().map(|row| row.topic.clone()).collect();
    let (labels, numbers) = (numbered(&topics), numbered(clusters));
    let items = b_cubed(&labels, &numbers);
    let (precision, recall, f1) = b_cubed_f1(items.iter().copied());
    let (found, topics) = found(&labels, gold, &numbers, least);
    let (pure, large) = pure(&labels, &numbers, least);
    let stays = |wanted: &dyn Fn(&Gold) -> bool| {
        let places: Vec<usize> = (0..gold.len()).filter(|place| wanted(&gold[*place])).collect();
        let in_large = |place: &&usize| count(&numbers, numbers[**place]) < least;
        (places.iter().filter(in_large).count(), places.len())
    };
    let mut figures = vec![
        ("notes".to_string(), json!(gold.len())),
        ("clusters".into(), json!(large)),
        ("b-cubed precision".into(), json!(precision)),
        ("b-cubed recall".into(), json!(recall)),
        ("b-cubed f1".into(), json!(f1)),
        ("b-cubed f1 interval".into(), interval(b_cubed_interval(&labels, &items))),
    ];
    let shares = [
        ("topic_found", (found, topics)),
        ("pure_clusters", (pure, large)),
        ("isolated_ok", stays(&|row| row.topic.is_none())),
        ("noise_ok", stays(&|row| row.noise)),
    ];
    for (name, (hits, of)) in shares {
        figures.push((name.into(), json!(hits as f64 / of.max(1) as f64)));
        figures.push((format!("{name} interval"), interval(wilson(hits, of))));
    }
    figures
}

fn count(numbers: &[usize], wanted: usize) -> usize {
    numbers.iter().filter(|number| **number == wanted).count()
}

/// Topics of at least `least` notes of which as many stand in one pure cluster, and all of them.
fn found(labels: &[usize], gold: &[Gold], numbers: &[usize], least: usize) -> (usize, usize) {
    let (mut found, mut all) = (0, 0);
    for members in groups(labels).values().filter(|members| members.len() >= least) {
        if gold[members[0]].topic.is_none() {
            continue;
        }
        all += 1;
        let inside: Vec<usize> = members.iter().map(|place| numbers[*place]).collect();
        let hit = inside.iter().any(|number| {
            let here = count(&inside, *number);
            here >= least && here as f64 >= PURE * count(numbers, *number) as f64
        });
        found += usize::from(hit);
    }
    (found, all)
}

/// Clusters of at least `least` notes that are of one topic, and all of them.
fn pure(labels: &[usize], numbers: &[usize], least: usize) -> (usize, usize) {
    let groups = groups(numbers);
    let large: Vec<&Vec<usize>> =
        groups.values().filter(|members| members.len() >= least).collect();
    let is_pure = |members: &&&Vec<usize>| {
        let inside: Vec<usize> = members.iter().map(|place| labels[*place]).collect();
        let most = inside.iter().map(|label| count(&inside, *label)).max().unwrap_or(0);
        most as f64 >= PURE * members.len() as f64
    };
    (large.iter().filter(is_pure).count(), large.len())
}

fn groups(numbers: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    numbers.iter().enumerate().for_each(|(place, number)| {
        groups.entry(*number).or_default().push(place);
    });
    groups
}
