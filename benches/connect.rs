//! Speed, memory and recall of connecting: `connect DIR [MORE]`.
//!
//! DIR holds a stream with vectors (`notes.jsonl`, `vectors.bin` of 32-bit or 16-bit floats, and
//! `meta.json`). All but the last MORE notes (20) are connected from empty in chunks of 256, as a
//! tick does: added to their project's index and its file, compared with their neighbours, linked,
//! clustered. Then the last MORE come on top of indexes that are open. Vectors are read from their
//! file when they are needed, as the store would, and not kept. Prints one JSON object.

use lifecycle::index::{Exact, Near, ProjectIndex, nearest};
use lifecycle_phases::EntryId;
use lifecycle_phases::Step;
use lifecycle_phases::cluster::{ClusterSettings, Edge, Graph, Node, group};
use lifecycle_phases::connect::form::Form;
use lifecycle_phases::connect::{
    Compared, LinkSettings, LinkTable, Newcomer, Profile, Scale, decide, lexical::Terms,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

const CHUNK: usize = 256;
const NEIGHBOURS: usize = 64;
/// Queries whose neighbours are compared with a plain scan.
const PROBES: usize = 200;

struct Note {
    project: String,
    text: Option<String>,
}

struct Vectors {
    file: File,
    dimensions: usize,
    bytes: usize,
}

impl Vectors {
    fn get(&self, place: usize) -> Option<Vec<f32>> {
        let width = self.dimensions * self.bytes;
        let mut row = vec![0; width];
        self.file.read_exact_at(&mut row, (place * width) as u64).ok()?;
        Some(match self.bytes {
            4 => {
                row.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            _ => row.chunks_exact(2).map(|b| half(u16::from_le_bytes([b[0], b[1]]))).collect(),
        })
    }
}

/// A finite 16-bit float.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff) / 1024.0);
    match exponent {
        0 => sign * fraction * 2f32.powi(-14),
        _ => sign * (1.0 + fraction) * 2f32.powi(exponent - 15),
    }
}

struct World {
    notes: Vec<Note>,
    vectors: Vectors,
    indexes: BTreeMap<String, ProjectIndex>,
    folder: tempfile::TempDir,
    compared: HashMap<usize, Compared>,
    table: LinkTable,
    links: BTreeMap<(usize, usize), f32>,
    spent: BTreeMap<&'static str, f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let Some(folder) = args.next() else {
        println!("usage: connect DIR [MORE]");
        return Ok(());
    };
    let more: usize = args.next().map_or(Ok(20), |more| more.parse())?;
    let mut world = open(Path::new(&folder))?;
    let (all, first) = (world.notes.len(), world.notes.len().saturating_sub(more));
    let started = Instant::now();
    for start in (0..first).step_by(CHUNK) {
        world.connect(start..(start + CHUNK).min(first))?;
    }
    let from_empty = started.elapsed().as_secs_f64();
    let spent = std::mem::take(&mut world.spent);
    let started = Instant::now();
    world.connect(first..all)?;
    let on_top = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let clusters = world.clusters();
    let kinds: BTreeMap<&String, Value> = world
        .indexes
        .iter()
        .map(|(project, index)| {
            (project, json!([index.neighbours().kind(), index.neighbours().len()]))
        })
        .collect();
    let cluster_seconds = started.elapsed().as_secs_f64();
    let peak = peak_mb();
    let report = json!({
        "notes": all, "dimensions": world.vectors.dimensions, "links": world.links.len(),
        "from_empty_s": from_empty, "of_it": spent, "more": more, "more_on_top_s": on_top,
        "more_of_it": world.spent, "clusters": clusters, "clusters_s": cluster_seconds,
        "peak_mb": peak, "recall": world.recall(), "indexes": kinds,
    });
    println!("{report:#}");
    Ok(())
}

fn open(folder: &Path) -> Result<World, Box<dyn Error>> {
    let meta: Value = serde_json::from_reader(File::open(folder.join("meta.json"))?)?;
    let dimensions = usize::try_from(meta["dim"].as_u64().ok_or("no vectors")?)?;
    let bytes = if meta["vectors"] == "f32" { 4 } else { 2 };
    let mut notes = Vec::new();
    for line in BufReader::new(File::open(folder.join("notes.jsonl"))?).lines() {
        let row: Value = serde_json::from_str(&line?)?;
        notes.push(Note {
            project: row["project"].as_str().unwrap_or_default().into(),
            text: row["text"].as_str().map(Into::into),
        });
    }
    let file = File::open(folder.join("vectors.bin"))?;
    Ok(World {
        notes,
        vectors: Vectors { file, dimensions, bytes },
        indexes: BTreeMap::new(),
        folder: tempfile::tempdir()?,
        compared: HashMap::new(),
        table: LinkTable::default(),
        links: BTreeMap::new(),
        spent: BTreeMap::new(),
    })
}

fn settings() -> LinkSettings {
    LinkSettings {
        descriptor: "bench".into(),
        scale: Scale::IDENTITY,
        link_similarity: 0.75,
        max_links: 16,
    }
}

fn id(place: usize) -> EntryId {
    EntryId(format!("{place:016x}"))
}

fn place(id: &EntryId) -> usize {
    usize::from_str_radix(id.as_str(), 16).unwrap_or(0)
}

impl World {
    fn connect(&mut self, range: std::ops::Range<usize>) -> Result<(), Box<dyn Error>> {
        let mut projects: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        range.for_each(|n| projects.entry(self.notes[n].project.clone()).or_default().push(n));
        for (project, places) in projects {
            let vectors: Vec<Vec<f32>> =
                places.iter().filter_map(|place| self.vectors.get(*place)).collect();
            self.add(&project, &places, &vectors)?;
            let near = self.near(&project, &vectors);
            let started = Instant::now();
            self.link(&project, &places, near);
            *self.spent.entry("links").or_default() += started.elapsed().as_secs_f64();
        }
        Ok(())
    }

    fn add(
        &mut self,
        project: &str,
        places: &[usize],
        vectors: &[Vec<f32>],
    ) -> Result<(), Box<dyn Error>> {
        let started = Instant::now();
        let (path, dimensions) = (self.folder.path().to_path_buf(), self.vectors.dimensions);
        let index = self.indexes.entry(project.to_string()).or_insert_with(|| {
            ProjectIndex::open(&path, "bench", Some(project), dimensions, |_, _| true)
        });
        let mut fresh = Exact::new(dimensions);
        for (place, vector) in places.iter().zip(vectors) {
            lifecycle::index::Neighbours::add(&mut fresh, i64::try_from(*place)?, vector)?;
        }
        let last = i64::try_from(*places.last().unwrap_or(&0))?;
        index.refresh(&fresh, last, true);
        *self.spent.entry("index").or_default() += started.elapsed().as_secs_f64();
        Ok(())
    }

    fn near(&mut self, project: &str, vectors: &[Vec<f32>]) -> Vec<Vec<Near>> {
        let started = Instant::now();
        let queries: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let floor = Scale::IDENTITY.candidate_cosine();
        let stored = |key: i64| self.vectors.get(usize::try_from(key).ok()?);
        let index = self.indexes[project].neighbours();
        let near = nearest(index, &queries, NEIGHBOURS + 1, floor, stored);
        *self.spent.entry("neighbours").or_default() += started.elapsed().as_secs_f64();
        near
    }

    fn link(&mut self, project: &str, places: &[usize], near: Vec<Vec<Near>>) {
        if self.compared.len() > 50_000 {
            // What the engine forgets it reads again; here all links are at hand.
            self.compared.clear();
        }
        let keys = near.iter().flatten().filter_map(|near| usize::try_from(near.key).ok());
        for place in keys.chain(places.iter().copied()) {
            if !self.compared.contains_key(&place) {
                let compared = self.compared(place, project);
                self.compared.insert(place, compared);
            }
        }
        let compared = &self.compared;
        let newcomers: Vec<Newcomer<'_>> = places
            .iter()
            .zip(near)
            .map(|(place, near)| Newcomer {
                entry: &compared[place],
                neighbours: near
                    .iter()
                    .filter_map(|near| Some((usize::try_from(near.key).ok()?, near.cosine)))
                    .map(|(other, cosine)| (&compared[&other], cosine))
                    .collect(),
            })
            .collect();
        for planned in decide(&newcomers, &mut self.table, &settings()) {
            match planned.step {
                Step::Link { link } => {
                    self.links.insert((place(&link.a), place(&link.b)), link.similarity);
                }
                Step::Unlink { link } => {
                    self.links.remove(&(place(&link.a), place(&link.b)));
                }
                _ => {}
            }
        }
    }

    fn compared(&self, place: usize, project: &str) -> Compared {
        let text = self.notes[place].text.clone().unwrap_or_default();
        let profile = match text.as_str() {
            "" => Profile { terms: Terms::default(), form: Form::of("") },
            text => Profile::of(text),
        };
        Compared::of(id(place), &text, Some(project), profile)
    }

    fn clusters(&self) -> usize {
        let nodes = (0..self.notes.len())
            .map(|place| Node::new(id(place), i64::try_from(place).unwrap_or(i64::MAX)));
        let edges = self.links.iter().map(|((a, b), s)| Edge::new(id(*a), id(*b), *s));
        let settings = ClusterSettings { min_cluster: 3, similarity: 0.89 };
        group(&Graph::new(nodes, edges), settings).clusters.len()
    }

    /// Share of the neighbours above the link line that are found, by a plain scan of the
    /// stored vectors.
    fn recall(&self) -> f64 {
        let step = (self.notes.len() / PROBES).max(1);
        let (mut hits, mut wanted) = (0usize, 0usize);
        let probes: Vec<usize> = (0..self.notes.len()).step_by(step).collect();
        let queries: Vec<Vec<f32>> =
            probes.iter().filter_map(|place| self.vectors.get(*place)).collect();
        let mut truth: Vec<Vec<Near>> = vec![Vec::new(); queries.len()];
        for place in 0..self.notes.len() {
            let Some(vector) = self.vectors.get(place) else { continue };
            for (n, query) in queries.iter().enumerate() {
                if self.notes[probes[n]].project == self.notes[place].project {
                    let cosine: f32 = query.iter().zip(&vector).map(|(x, y)| x * y).sum();
                    if cosine >= 0.75 && probes[n] != place {
                        truth[n].push(Near { key: i64::try_from(place).unwrap_or(-1), cosine });
                    }
                }
            }
        }
        for (n, query) in queries.iter().enumerate() {
            let stored = |key: i64| self.vectors.get(usize::try_from(key).ok()?);
            let index = self.indexes[&self.notes[probes[n]].project].neighbours();
            let found = nearest(index, &[query], NEIGHBOURS + 1, 0.75, stored);
            truth[n].sort_by(|x, y| y.cosine.total_cmp(&x.cosine).then(x.key.cmp(&y.key)));
            truth[n].truncate(NEIGHBOURS);
            wanted += truth[n].len();
            hits += truth[n].iter().filter(|t| found[0].iter().any(|f| f.key == t.key)).count();
        }
        hits as f64 / wanted.max(1) as f64
    }
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kb.unwrap_or(f64::NAN) / 1024.0
}
