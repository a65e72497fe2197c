//! `lifecycle eval links`: pairs of notes with a label each.

use super::metrics::{auc, f1, wilson};
use super::{FileArgs, print_figures, read_rows, write_rows};
use crate::cli::Session;
use crate::embed;
use crate::error::{Error, ExitCode, Result};
use crate::tick::connect::offline;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// What a pair can be labelled.
const LABELS: [&str; 4] = ["same-fact", "same-topic", "structural-noise", "unrelated"];

#[derive(Deserialize)]
struct Pair {
    id: String,
    a: String,
    b: String,
    label: String,
}

impl Pair {
    fn is_link(&self) -> bool {
        matches!(self.label.as_str(), "same-fact" | "same-topic")
    }
}

/// Scores the pairs of the file and compares with their labels.
pub fn run(session: &Session, args: &FileArgs) -> Result<ExitCode> {
    let pairs: Vec<Pair> = read_rows(&args.file)?;
    check_labels(&args.file, &pairs)?;
    let embedder = embed::open(&session.settings, &session.paths)?;
    let texts: Vec<(&str, &str)> =
        pairs.iter().map(|pair| (pair.a.as_str(), pair.b.as_str())).collect();
    let scores = offline::similarities(&*embedder, &texts, &session.settings)?;
    if let Some(out) = &args.out {
        let rows = pairs.iter().zip(&scores);
        write_rows(out, rows.map(|(pair, score)| json!({"id": pair.id, "score": score})))?;
    }
    let line = session.settings.connect.link_similarity;
    print_figures(session, &figures(&pairs, &scores, line))?;
    Ok(ExitCode::Success)
}

fn check_labels(file: &Path, pairs: &[Pair]) -> Result<()> {
    match pairs.iter().find(|pair| !LABELS.contains(&pair.label.as_str())) {
        None => Ok(()),
        Some(Pair { id, label, .. }) => {
            let what = format!("{}: pair {id} has the unknown label `{label}`", file.display());
            Err(Error::input(what).hint(format!("the labels are {}", LABELS.join(", "))))
        }
    }
}

fn figures(pairs: &[Pair], scores: &[f32], line: f32) -> Vec<(String, Value)> {
    let of = |wanted: &dyn Fn(&Pair) -> bool| -> Vec<f32> {
        let rows = pairs.iter().zip(scores).filter(|(pair, _)| wanted(pair));
        rows.map(|(_, score)| *score).collect()
    };
    let linked = |scores: &[f32]| scores.iter().filter(|score| **score >= line).count();
    let (positive, negative) = (of(&Pair::is_link), of(&|pair| !pair.is_link()));
    let (fact, other) = (of(&|p| p.label == "same-fact"), of(&|p| p.label != "same-fact"));
    let (hits, false_links) = (linked(&positive), linked(&negative));
    let precision = hits as f64 / (hits + false_links).max(1) as f64;
    let recall = hits as f64 / positive.len().max(1) as f64;
    let mut figures = vec![
        ("pairs".to_string(), json!(pairs.len())),
        ("link line".into(), json!(f64::from(line))),
        ("precision".into(), json!(precision)),
        ("precision interval".into(), interval(wilson(hits, hits + false_links))),
        ("recall".into(), json!(recall)),
        ("recall interval".into(), interval(wilson(hits, positive.len()))),
        ("f1".into(), json!(f1(precision, recall))),
        ("auc link".into(), json!(auc(&positive, &negative))),
        ("auc strict".into(), json!(auc(&fact, &other))),
    ];
    for label in labels(pairs) {
        let scores = of(&|pair| pair.label == label);
        let share = linked(&scores) as f64 / scores.len().max(1) as f64;
        figures.push((format!("linked {label}"), json!(share)));
        let range = wilson(linked(&scores), scores.len());
        figures.push((format!("linked {label} interval"), interval(range)));
    }
    figures
}

fn labels(pairs: &[Pair]) -> Vec<&str> {
    let mut labels: Vec<&str> = pairs.iter().map(|pair| pair.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

pub(super) fn interval((low, high): (f64, f64)) -> Value {
    json!([low, high])
}
