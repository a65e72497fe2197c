//! The indexes, links and clusters of a stream, as a tick would make them.

use super::Result;
use super::stream::Stream;
use lifecycle::index::{Exact, Near, Neighbours, ProjectIndex, nearest};
use lifecycle_phases::cluster::{ClusterSettings, Edge, Graph, Node, group};
use lifecycle_phases::connect::{
    Compared, LinkSettings, LinkTable, Newcomer, Profile, Scale, Templates, decide, learn,
    reconsider,
};
use lifecycle_phases::{EntryId, Link, PlannedStep, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

const NEIGHBOURS: usize = 64;
/// Queries whose neighbours are compared with a plain scan.
const PROBES: usize = 200;
/// Entries that are remembered at most, as in a tick.
const REMEMBERED: usize = 50_000;
const CLUSTERS: ClusterSettings = ClusterSettings { min_cluster: 3, similarity: 0.89 };

/// A link from one end: the other end, similarity, cosine.
type Half = (u32, f32, f32);

/// What is connected so far.
pub struct World {
    /// The notes.
    pub stream: Stream,
    folder: PathBuf,
    /// Numbers up to which all vectors are compared.
    limit: Option<usize>,
    indexes: BTreeMap<u16, ProjectIndex>,
    compared: HashMap<usize, Compared>,
    table: LinkTable,
    templates: Templates,
    links: Vec<Vec<Half>>,
    /// Seconds by part.
    pub spent: BTreeMap<&'static str, f64>,
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

fn key(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

impl World {
    /// Nothing is connected yet.
    pub fn new(stream: Stream, folder: &Path, graph: bool) -> Self {
        let links = vec![Vec::new(); stream.len()];
        Self {
            stream,
            folder: folder.to_path_buf(),
            limit: graph.then_some(0),
            indexes: BTreeMap::new(),
            compared: HashMap::new(),
            table: LinkTable::default(),
            templates: Templates::default(),
            links,
            spent: BTreeMap::new(),
        }
    }

    fn spend(&mut self, part: &'static str, since: Instant) {
        *self.spent.entry(part).or_default() += since.elapsed().as_secs_f64();
    }

    fn by_project(&self, range: std::ops::Range<usize>) -> BTreeMap<u16, Vec<usize>> {
        let mut projects: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        range.for_each(|n| projects.entry(self.stream.project(n)).or_default().push(n));
        projects
    }

    fn open_index(&self, project: u16) -> ProjectIndex {
        let name = &self.stream.names[usize::from(project)];
        let dimensions = self.stream.dimensions;
        let index = ProjectIndex::open(&self.folder, "bench", Some(name), dimensions, |_, _| true);
        match self.limit {
            Some(limit) => index.with_limit(limit),
            None => index,
        }
    }

    /// Adds the notes to the indexes of their projects and to the files.
    pub fn index(&mut self, range: std::ops::Range<usize>) -> Result<()> {
        for (project, places) in self.by_project(range) {
            let vectors: Vec<Vec<f32>> =
                places.iter().filter_map(|place| self.stream.vector(*place)).collect();
            let started = Instant::now();
            let mut fresh = Exact::new(self.stream.dimensions);
            for (place, vector) in places.iter().zip(&vectors) {
                fresh.add(key(*place), vector)?;
            }
            if !self.indexes.contains_key(&project) {
                self.indexes.insert(project, self.open_index(project));
            }
            let last = places.last().map_or(0, |place| key(*place) + 1);
            if let Some(index) = self.indexes.get_mut(&project) {
                index.refresh(&fresh, last, true);
            }
            self.spend("index", started);
        }
        Ok(())
    }

    /// Opens every index from its files.
    pub fn reopen(&mut self) {
        let projects: Vec<u16> = self.indexes.keys().copied().collect();
        self.indexes.clear();
        for project in projects {
            self.indexes.insert(project, self.open_index(project));
        }
    }

    /// Links the notes, which are in the indexes.
    pub fn connect(&mut self, range: std::ops::Range<usize>) -> Result<()> {
        if self.compared.len() > REMEMBERED {
            (self.compared, self.table) = (HashMap::new(), LinkTable::default());
        }
        for (project, places) in self.by_project(range) {
            let vectors: Vec<Vec<f32>> =
                places.iter().filter_map(|place| self.stream.vector(*place)).collect();
            let started = Instant::now();
            let near = self.near(project, &vectors);
            self.spend("neighbours", started);
            self.link(&places, &near);
        }
        Ok(())
    }

    fn near(&self, project: u16, vectors: &[Vec<f32>]) -> Vec<Vec<Near>> {
        let queries: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let stored = |key: i64| self.stream.vector(usize::try_from(key).ok()?);
        let index = self.indexes[&project].neighbours();
        nearest(index, &queries, NEIGHBOURS + 1, Scale::IDENTITY.candidate_cosine(), stored)
    }

    fn link(&mut self, places: &[usize], near: &[Vec<Near>]) {
        let started = Instant::now();
        self.look_at(places, near);
        self.spend("profiles", started);
        let started = Instant::now();
        let mut templates = self.templates.clone();
        let learned = learn(&newcomers(&self.compared, places, near), &mut templates);
        let mut steps = Vec::new();
        if !learned.is_empty() {
            self.templates = templates;
            self.compared.clear();
            self.look_at(places, near);
            let entries: Vec<&Compared> = self.compared.values().collect();
            steps = reconsider(&entries, &mut self.table, &settings());
        }
        self.spend("templates", started);
        let started = Instant::now();
        let newcomers = newcomers(&self.compared, places, near);
        steps.extend(decide(&newcomers, &mut self.table, &settings()));
        steps.into_iter().for_each(|planned| self.perform(planned));
        self.spend("links", started);
    }

    fn perform(&mut self, planned: PlannedStep) {
        let (link, add) = match planned.step {
            Step::Link { link } => (link, true),
            Step::Unlink { link } => (link, false),
            _ => return,
        };
        let (a, b) = (place(&link.a), place(&link.b));
        for (from, to) in [(a, b), (b, a)] {
            let to = u32::try_from(to).unwrap_or(u32::MAX);
            self.links[from].retain(|half| half.0 != to);
            if add {
                self.links[from].push((to, link.similarity, link.cosine));
            }
        }
    }

    fn look_at(&mut self, places: &[usize], near: &[Vec<Near>]) {
        let others = near.iter().flatten().filter_map(|near| usize::try_from(near.key).ok());
        for place in others.chain(places.iter().copied()) {
            if self.compared.contains_key(&place) {
                continue;
            }
            let text = self.stream.text(place);
            let name = &self.stream.names[usize::from(self.stream.project(place))];
            let profile = Profile::with(&text, &self.templates);
            self.compared.insert(place, Compared::of(id(place), &text, Some(name), profile));
            let known = self.links[place].iter().map(|half| link(place, *half));
            self.table.extend(known.collect::<Vec<_>>());
        }
    }

    /// Clusters of the components that hold `seeds`.
    pub fn clusters(&self, seeds: std::ops::Range<usize>) -> Value {
        let mut seen = vec![false; self.stream.len()];
        let (mut clusters, mut entries) = (0, 0);
        for seed in seeds {
            let component = self.component(seed, &mut seen);
            if component.len() > 1 {
                entries += component.len();
                let nodes = component.iter().map(|place| Node::new(id(*place), key(*place)));
                let edges = component.iter().flat_map(|place| {
                    self.links[*place]
                        .iter()
                        .map(|half| Edge::new(id(*place), id(half.0 as usize), half.1))
                });
                clusters += group(&Graph::new(nodes, edges), CLUSTERS).clusters.len();
            }
        }
        json!({"clusters": clusters, "entries": entries})
    }

    fn component(&self, seed: usize, seen: &mut [bool]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut waiting = vec![seed];
        while let Some(place) = waiting.pop() {
            if !std::mem::replace(&mut seen[place], true) {
                found.push(place);
                waiting.extend(self.links[place].iter().map(|half| half.0 as usize));
            }
        }
        found
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// Templates that the stream taught.
    pub fn templates(&self) -> Vec<&str> {
        self.templates.texts().collect()
    }

    /// Kind and size of each index.
    pub fn kinds(&self) -> BTreeMap<&str, Value> {
        let row = |(project, index): (&u16, &ProjectIndex)| {
            let neighbours = index.neighbours();
            let name = self.stream.names[usize::from(*project)].as_str();
            (name, json!([neighbours.kind(), neighbours.len()]))
        };
        self.indexes.iter().map(row).collect()
    }

    /// Size of the index files.
    pub fn file_mb(&self) -> Result<f64> {
        let mut bytes = 0;
        for file in std::fs::read_dir(&self.folder)? {
            bytes += file?.metadata()?.len();
        }
        Ok(bytes as f64 / f64::from(1 << 20))
    }

    /// Share of the neighbours above the link line that are found, by a plain scan of the stored
    /// vectors.
    pub fn recall(&self) -> f64 {
        let step = (self.stream.len() / PROBES).max(1);
        let probes: Vec<(usize, Vec<f32>)> = (0..self.stream.len())
            .step_by(step)
            .filter_map(|place| Some((place, self.stream.vector(place)?)))
            .collect();
        let mut truth: Vec<Vec<Near>> = vec![Vec::new(); probes.len()];
        for place in 0..self.stream.len() {
            let project = self.stream.project(place);
            let Some(vector) = self.stream.vector(place) else { continue };
            for (n, (probe, query)) in probes.iter().enumerate() {
                if *probe != place && self.stream.project(*probe) == project {
                    let cosine = dot(query, &vector);
                    if cosine >= 0.75 {
                        truth[n].push(Near { key: key(place), cosine });
                    }
                }
            }
        }
        let (mut hits, mut wanted) = (0usize, 0usize);
        for ((probe, query), mut truth) in probes.iter().zip(truth) {
            let stored = |key: i64| self.stream.vector(usize::try_from(key).ok()?);
            let index = self.indexes[&self.stream.project(*probe)].neighbours();
            let found = nearest(index, &[query], NEIGHBOURS + 1, 0.75, stored);
            truth.sort_by(|x, y| y.cosine.total_cmp(&x.cosine).then(x.key.cmp(&y.key)));
            truth.truncate(NEIGHBOURS);
            wanted += truth.len();
            hits += truth.iter().filter(|t| found[0].iter().any(|f| f.key == t.key)).count();
        }
        hits as f64 / wanted.max(1) as f64
    }
}

fn link(from: usize, (to, similarity, cosine): Half) -> Link {
    let (a, b) = Link::pair(id(from), id(to as usize));
    Link { a, b, similarity, cosine, descriptor: "bench".into(), differing: None }
}

fn newcomers<'a>(
    compared: &'a HashMap<usize, Compared>,
    places: &[usize],
    near: &[Vec<Near>],
) -> Vec<Newcomer<'a>> {
    let newcomer = |(place, near): (&usize, &Vec<Near>)| Newcomer {
        entry: &compared[place],
        neighbours: near
            .iter()
            .filter_map(|near| Some((usize::try_from(near.key).ok()?, near.cosine)))
            .map(|(other, cosine)| (&compared[&other], cosine))
            .collect(),
    };
    places.iter().zip(near).map(newcomer).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 16];
    for (x, y) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for lane in 0..16 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest = a.len() / 16 * 16;
    sums.iter().sum::<f32>() + a[rest..].iter().zip(&b[rest..]).map(|(x, y)| x * y).sum::<f32>()
}

/// Shapes of a linked group that clustering is timed on.
const SHAPES: &[&str] = &["chain", "chain at once", "ring of 16", "hub"];

/// Repetitions, of which the fastest counts: another process may have had the processor.
const TRIES: usize = 5;

/// How long linked groups of these sizes take to cluster, by shape: a chain whose entries arrive far
/// apart, one whose entries arrive together (nearness joins what it can), each entry linked to the 16
/// before it at falling similarity, and each linked to the first.
pub fn shapes(sizes: &[usize]) -> Value {
    let rows = SHAPES.iter().map(|shape| {
        let timed = sizes.iter().map(|size| (size.to_string(), json!(fastest(shape, *size))));
        (shape.to_string(), Value::Object(timed.collect()))
    });
    Value::Object(rows.collect())
}

fn fastest(shape: &str, size: usize) -> f64 {
    let apart = if shape == "chain" { 10_000 } else { 1 };
    let edges: Vec<(usize, usize, f32)> = (1..size)
        .flat_map(|n| -> Vec<(usize, usize, f32)> {
            match shape {
                "ring of 16" => {
                    (1..=16.min(n)).map(|back| (n - back, n, 0.99 - back as f32 / 100.0)).collect()
                }
                "hub" => vec![(0, n, 0.97)],
                _ => vec![(n - 1, n, 0.97)],
            }
        })
        .collect();
    let time = || {
        let nodes = (0..size).map(|n| Node::new(id(n), key(n) * apart));
        let edges = edges.iter().map(|(a, b, similarity)| Edge::new(id(*a), id(*b), *similarity));
        let graph = Graph::new(nodes, edges);
        let started = Instant::now();
        let grouping = group(&graph, CLUSTERS);
        std::hint::black_box(&grouping);
        started.elapsed().as_secs_f64()
    };
    (0..TRIES).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// How a chain of `length` entries, each linked to the next, is clustered, and in what time; and
/// one of twice the length, to show how that grows.
pub fn chain(length: usize) -> Value {
    let run = |length: usize| {
        let nodes = (0..length).map(|n| Node::new(id(n), key(n) * 10_000));
        let edges = (1..length).map(|n| Edge::new(id(n - 1), id(n), 0.97));
        let started = Instant::now();
        let grouping = group(&Graph::new(nodes, edges), CLUSTERS);
        let largest = grouping.clusters.iter().map(|cluster| cluster.members.len()).max();
        (started.elapsed().as_secs_f64(), grouping.clusters.len(), largest.unwrap_or(0))
    };
    let (seconds, clusters, largest) = run(length);
    json!({"seconds": seconds, "clusters": clusters, "largest": largest,
        "twice_as_long": run(2 * length).0 / seconds})
}
