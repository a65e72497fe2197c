//! `lifecycle model calibrate`: the scale of the serving model, measured on the user's entries.
//!
//! Unrelated pairs need no labels: entries of different projects, or of one project that are both
//! older than a month. Their mean is similarity 0, the cosine that one in a thousand exceeds the
//! link line, one in ten thousand the cluster line. Labelled pairs that ship with the product
//! check the result.

use crate::cli::{Session, print_json, print_text};
use crate::embed::{CHUNK, Calibration, Descriptor, Embedder, Measured, Role, cosine};
use crate::error::Result;
use crate::progress::Progress;
use crate::store::{self, PlacedVector, Store};
use crate::tick::connect::rescale::{Rescaled, rescale};
use crate::tick::{TickLock, serving};
use clap::Args;
use serde::{Deserialize, Serialize};

/// Options of `calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// Only print what was measured; keep the scale in use
    #[arg(long)]
    dry_run: bool,
}

/// Below this number of entries the shipped constants hold.
const FEWEST_ENTRIES: usize = 200;
/// Entries that are compared with each other at most.
const MOST_ENTRIES: usize = 3000;
/// With one project only, entries are taken for unrelated when older than this (milliseconds).
const MONTH: i64 = 30 * 24 * 3600 * 1000;
const PAIRS: &str = include_str!("../../../config/calibration/pairs.jsonl");

#[derive(Deserialize)]
struct Labelled {
    same: bool,
    a: String,
    b: String,
}

/// How the link line does on the labelled pairs.
#[derive(Debug, Serialize)]
struct Check {
    precision: Share,
    recall: Share,
}

/// A share with its 95 % interval (Wilson).
#[derive(Debug, Serialize)]
struct Share {
    hits: usize,
    of: usize,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct Outcome {
    descriptor: String,
    entries: usize,
    pairs: usize,
    in_use: Calibration,
    measured: Option<Calibration>,
    check_in_use: Check,
    check_measured: Option<Check>,
    saved: bool,
    links: Option<Rescaled>,
}

/// Measures, checks, and stores the scale.
pub fn run(session: &Session, args: &CalibrateArgs) -> Result<()> {
    let store = Store::open(&session.paths, &session.settings)?;
    let embedder = serving::open(store.reader(), &session.settings, &session.paths)?;
    let id = embedder.descriptor().id();
    let vectors = store::placed_vectors(store.reader(), &id, MOST_ENTRIES)?;
    let (mut cosines, highest) = unrelated(&vectors, session.clock.now() - MONTH);
    let enough = vectors.len() >= FEWEST_ENTRIES;
    let measured = Calibration::measure(&mut cosines).filter(|_| enough);
    let labelled = labelled(&*embedder)?;
    let save = measured.filter(|_| !args.dry_run);
    let mut links = None;
    if let Some(calibration) = save {
        let (entries, pairs) = (vectors.len() as u64, cosines.len() as u64);
        let at = session.clock.now();
        let measured = Measured { calibration, highest, entries, pairs, at };
        links = put_in_use(session, store, embedder.descriptor(), measured)?;
    }
    let in_use = embedder.descriptor().calibration;
    let outcome = Outcome {
        descriptor: id,
        entries: vectors.len(),
        pairs: cosines.len(),
        in_use,
        measured,
        check_in_use: check(&labelled, in_use.link),
        check_measured: measured.map(|scale| check(&labelled, scale.link)),
        saved: save.is_some(),
        links,
    };
    show(session, &outcome)
}

/// Keeps the scale and brings the links to it. No tick may run meanwhile. Killed in between, the next
/// tick does the rest.
fn put_in_use(
    session: &Session,
    mut store: Store,
    descriptor: &Descriptor,
    measured: Measured,
) -> Result<Option<Rescaled>> {
    let _lock = TickLock::take(&session.paths)?;
    measured.save(&session.paths, &descriptor.id())?;
    let descriptor = Descriptor { calibration: measured.calibration, ..descriptor.clone() };
    rescale(&mut store, &descriptor, session.settings.connect.link_similarity)
}

/// Cosines of the pairs taken for unrelated, and the highest of any pair.
fn unrelated(vectors: &[PlacedVector], before: i64) -> (Vec<f32>, f32) {
    let first = vectors.first().and_then(|vector| vector.project.as_ref());
    let one_project = vectors.iter().all(|vector| vector.project.as_ref() == first);
    let mut cosines = Vec::new();
    let mut highest = -1.0f32;
    let progress = Progress::of("comparing pairs", vectors.len());
    for (at, a) in vectors.iter().enumerate() {
        progress.add(1);
        for b in &vectors[at + 1..] {
            let cosine = cosine(&a.vector, &b.vector);
            highest = highest.max(cosine);
            let apart = match one_project {
                true => a.created < before && b.created < before,
                false => a.project != b.project,
            };
            if apart {
                cosines.push(cosine);
            }
        }
    }
    (cosines, highest)
}

/// Cosine and label of each shipped pair.
fn labelled(embedder: &dyn Embedder) -> Result<Vec<(f32, bool)>> {
    let pairs: Vec<Labelled> =
        PAIRS.lines().map(serde_json::from_str).collect::<Result<_, serde_json::Error>>()?;
    let texts: Vec<String> =
        pairs.iter().flat_map(|pair| [pair.a.clone(), pair.b.clone()]).collect();
    let mut vectors = Vec::with_capacity(texts.len());
    let progress = Progress::of("embedding pairs", texts.len());
    for chunk in texts.chunks(CHUNK) {
        progress.add(chunk.len());
        for result in embedder.embed(chunk, Role::Document) {
            vectors.push(result?);
        }
    }
    let cosines = vectors.chunks_exact(2).map(|pair| cosine(&pair[0], &pair[1]));
    Ok(cosines.zip(pairs).map(|(cosine, pair)| (cosine, pair.same)).collect())
}

fn check(labelled: &[(f32, bool)], link: f32) -> Check {
    let linked: Vec<bool> =
        labelled.iter().filter(|(cosine, _)| *cosine >= link).map(|(_, same)| *same).collect();
    let hits = linked.iter().filter(|same| **same).count();
    let same = labelled.iter().filter(|(_, same)| *same).count();
    Check { precision: Share::new(hits, linked.len()), recall: Share::new(hits, same) }
}

impl Share {
    /// Wilson's score interval with z = 1.96.
    fn new(hits: usize, of: usize) -> Self {
        let (n, z) = (of as f64, 1.96f64);
        if of == 0 {
            return Self { hits, of, low: 0.0, high: 1.0 };
        }
        let share = hits as f64 / n;
        let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half =
            z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        Self { hits, of, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
    }

    fn text(&self) -> String {
        let share = self.hits as f64 / self.of.max(1) as f64;
        format!("{share:.2} [{:.2}, {:.2}]", self.low, self.high)
    }
}

fn show(session: &Session, outcome: &Outcome) -> Result<()> {
    if session.global.json {
        return print_json(outcome);
    }
    let mut text = format!(
        "{}: {} entries, {} unrelated pairs\n",
        outcome.descriptor, outcome.entries, outcome.pairs
    );
    text += &line("in use", outcome.in_use, &outcome.check_in_use);
    match (&outcome.measured, &outcome.check_measured) {
        (Some(scale), Some(check)) => text += &line("measured", *scale, check),
        _ => {
            text += &format!(
                "nothing was measured: it takes {FEWEST_ENTRIES} embedded entries of several projects, \
             or of one project and older than a month; the constants in use hold\n"
            )
        }
    }
    if outcome.saved {
        let links = outcome.links.map(|links| format!("; {links}")).unwrap_or_default();
        text += &format!("the measured scale is in use from now on{links}\n");
    }
    print_text(&text);
    Ok(())
}

fn line(name: &str, scale: Calibration, check: &Check) -> String {
    format!(
        "{name:9} mean {:.3}  link {:.3}  cluster {:.3}   labelled pairs: precision {}, recall {}\n",
        scale.mean,
        scale.link,
        scale.cluster,
        check.precision.text(),
        check.recall.text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(project: &str, created: i64, vector: [f32; 2]) -> PlacedVector {
        PlacedVector { project: Some(project.into()), created, vector: vector.into() }
    }

    #[test]
    fn pairs_of_different_projects_are_taken_for_unrelated() {
        let vectors =
            [placed("a", 0, [1.0, 0.0]), placed("a", 0, [1.0, 0.0]), placed("b", 0, [0.0, 1.0])];
        assert_eq!(unrelated(&vectors, 0), (vec![0.0, 0.0], 1.0));
    }

    #[test]
    fn within_one_project_only_old_entries_are() {
        let vectors =
            [placed("a", 1, [1.0, 0.0]), placed("a", 2, [0.0, 1.0]), placed("a", 9, [1.0, 0.0])];
        assert_eq!(unrelated(&vectors, 5), (vec![0.0], 1.0));
    }

    #[test]
    fn shares_have_intervals() {
        let share = Share::new(95, 100);
        assert!((share.low - 0.888).abs() < 0.001 && (share.high - 0.978).abs() < 0.001);
        assert_eq!((Share::new(0, 0).low, Share::new(0, 0).high), (0.0, 1.0));
    }
}
