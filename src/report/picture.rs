//! What a tick looks like: the entries it touched with their links, how near each new one was, and
//! which entries are next to be judged by ageing. Bounded, so that a report of a large store stays
//! a page.

use super::layout::{self, Point};
use crate::config::Settings;
use crate::error::Result;
use crate::tick::Similarities;
use lifecycle_phases::{EntryId, PlannedStep, Step};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// Entries shown at most.
const MAX_NODES: usize = 240;
/// Entries of the forecast shown at most.
const MAX_FORECAST: usize = 25;

/// What a report draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// The entries.
    pub nodes: Vec<Node>,
    /// Their links.
    pub edges: Vec<Edge>,
    /// How near the new entries are to what was there.
    pub nearest: Similarities,
    /// The link line.
    pub line: f32,
    /// Newer entries after which an isolated one is looked at.
    pub newer_entries: u64,
    /// Who is next to be judged, the nearest first.
    pub forecast: Vec<Forecast>,
    /// Entries that did not fit.
    pub left_out: usize,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its state after the tick.
    pub state: String,
    /// Its project.
    pub project: String,
    /// Number of the cluster it belongs to.
    pub cluster: Option<usize>,
    /// Place in a field of 1 × 1.
    pub at: Point,
}

/// One link.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Index of one end.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Calibrated similarity.
    pub similarity: f32,
    /// Whether this tick made it.
    pub is_new: bool,
    /// Whether it is not a link, but leads from a source to the entry made from it.
    pub is_merge: bool,
}

/// An isolated entry and how far it is from being judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Newer entries of its project.
    pub newer: u64,
    /// Reprieves so far.
    pub reprieves: u32,
}

impl Picture {
    /// The picture of `steps` on a store that holds their outcome.
    pub fn of(
        connection: &Connection,
        steps: &[PlannedStep],
        settings: &Settings,
        nearest: Similarities,
    ) -> Result<Self> {
        let fresh = new_links(steps);
        let touched = touched(steps);
        let links = links_of(connection, &touched)?;
        let mut ids: Vec<EntryId> = touched.into_iter().collect();
        for (a, b, _) in &links {
            ids.extend([a.clone(), b.clone()]);
        }
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        let clusters = clusters(steps);
        let mut nodes = Vec::new();
        for id in ids.iter().take(MAX_NODES) {
            nodes.extend(node(connection, id, clusters.get(id).copied())?);
        }
        let mut edges = edges(&nodes, &links, &fresh);
        edges.extend(merges(&nodes, steps));
        place(&mut nodes, &edges);
        Ok(Self {
            nearest,
            forecast: forecast(connection)?,
            left_out: ids.len().saturating_sub(MAX_NODES),
            nodes,
            edges,
            line: settings.connect.link_similarity,
            newer_entries: settings.age.newer_entries,
        })
    }
}

fn new_links(steps: &[PlannedStep]) -> BTreeSet<(EntryId, EntryId)> {
    let pair = |step: &PlannedStep| match &step.step {
        Step::Link { link } => Some((link.a.clone(), link.b.clone())),
        _ => None,
    };
    steps.iter().filter_map(pair).collect()
}

fn touched(steps: &[PlannedStep]) -> BTreeSet<EntryId> {
    let mut ids = BTreeSet::new();
    for step in steps {
        match &step.step {
            Step::Embed { .. } => {}
            Step::Link { link } | Step::Unlink { link } => {
                ids.extend([link.a.clone(), link.b.clone()]);
            }
            Step::Merge { proven, sources, .. } => {
                ids.insert(proven.id.clone());
                ids.extend(sources.iter().map(|source| source.entry.clone()));
            }
            Step::RejectCluster { members, .. } => ids.extend(members.iter().cloned()),
            other => ids.extend(other.entry().cloned()),
        }
    }
    ids
}

/// The number of the cluster of each entry: those that were merged, then those that wait.
fn clusters(steps: &[PlannedStep]) -> BTreeMap<EntryId, usize> {
    let mut of = BTreeMap::new();
    let mut next = 0;
    for step in steps {
        let members: Vec<EntryId> = match &step.step {
            Step::Merge { proven, sources, .. } => {
                let sources = sources.iter().map(|source| source.entry.clone());
                std::iter::once(proven.id.clone()).chain(sources).collect()
            }
            Step::RejectCluster { members, .. } => members.clone(),
            _ => continue,
        };
        for id in members {
            of.entry(id).or_insert(next);
        }
        next += 1;
    }
    of
}

type StoredLink = (EntryId, EntryId, f32);

/// Links of the entries, those that a merge put to rest among them.
fn links_of(connection: &Connection, ids: &BTreeSet<EntryId>) -> Result<Vec<StoredLink>> {
    let mut statement = connection.prepare_cached(
        "SELECT x.id, y.id, max(link.similarity) FROM link
         JOIN entry x ON x.seq = link.a JOIN entry y ON y.seq = link.b
         WHERE link.a = (SELECT seq FROM entry WHERE id = ?1)
            OR link.b = (SELECT seq FROM entry WHERE id = ?1)
         GROUP BY x.id, y.id ORDER BY x.id, y.id",
    )?;
    let mut found = BTreeMap::new();
    for id in ids.iter().take(MAX_NODES) {
        let rows = statement.query_map([id.as_str()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, f64>(2)?))
        })?;
        for row in rows {
            let (a, b, similarity) = row?;
            found.insert((EntryId(a), EntryId(b)), similarity as f32);
        }
    }
    Ok(found.into_iter().map(|((a, b), similarity)| (a, b, similarity)).collect())
}

fn node(connection: &Connection, id: &EntryId, cluster: Option<usize>) -> Result<Option<Node>> {
    let sql = "SELECT text, state, coalesce(project, '') FROM entry WHERE id = ?1";
    let read = connection.prepare_cached(sql)?.query_row([id.as_str()], |row| {
        Ok(Node {
            id: id.to_string(),
            text: row.get(0)?,
            state: row.get(1)?,
            project: row.get(2)?,
            cluster,
            at: Point::default(),
        })
    });
    Ok(read.optional()?)
}

fn edges(nodes: &[Node], links: &[StoredLink], fresh: &BTreeSet<(EntryId, EntryId)>) -> Vec<Edge> {
    let index: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(n, node)| (node.id.as_str(), n)).collect();
    let is_new = |a: &EntryId, b: &EntryId| {
        fresh.contains(&(a.clone(), b.clone())) || fresh.contains(&(b.clone(), a.clone()))
    };
    links
        .iter()
        .filter_map(|(a, b, similarity)| {
            Some(Edge {
                a: *index.get(a.as_str())?,
                b: *index.get(b.as_str())?,
                similarity: *similarity,
                is_new: is_new(a, b),
                is_merge: false,
            })
        })
        .collect()
}

/// From each source to the entry that was made from it.
fn merges(nodes: &[Node], steps: &[PlannedStep]) -> Vec<Edge> {
    let index = |id: &EntryId| nodes.iter().position(|node| node.id == id.as_str());
    let mut found = Vec::new();
    for step in steps {
        let Step::Merge { proven, sources, .. } = &step.step else { continue };
        let Some(b) = index(&proven.id) else { continue };
        found.extend(sources.iter().filter_map(|source| {
            let a = index(&source.entry)?;
            Some(Edge { a, b, similarity: 1.0, is_new: false, is_merge: true })
        }));
    }
    found
}

fn place(nodes: &mut [Node], edges: &[Edge]) {
    let pulls: Vec<(usize, usize, f32)> =
        edges.iter().map(|edge| (edge.a, edge.b, edge.similarity)).collect();
    let places = layout::place(nodes.len(), &pulls);
    for (node, at) in nodes.iter_mut().zip(places) {
        node.at = at;
    }
}

/// The isolated entries with the most newer ones after them.
fn forecast(connection: &Connection) -> Result<Vec<Forecast>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, text, reprieves,
                (SELECT count(*) FROM entry n WHERE n.project IS e.project AND n.channel <> 'tick'
                   AND n.seq > max(e.seq, e.reprieved_seq)) AS newer
         FROM entry e
         WHERE state = 'buffered' AND NOT protected AND kind NOT IN ('decision', 'thought')
           AND NOT EXISTS (SELECT 1 FROM link WHERE a = e.seq AND active)
           AND NOT EXISTS (SELECT 1 FROM link WHERE b = e.seq AND active)
         ORDER BY seq LIMIT ?1",
    )?;
    let rows = statement.query_map(params![MAX_FORECAST as i64 * 8], |row| {
        Ok(Forecast {
            id: row.get(0)?,
            text: row.get(1)?,
            reprieves: row.get(2)?,
            newer: row.get::<_, i64>(3)?.unsigned_abs(),
        })
    })?;
    let mut all = rows.collect::<Result<Vec<_>, _>>()?;
    all.sort_by_key(|entry| std::cmp::Reverse(entry.newer));
    all.truncate(MAX_FORECAST);
    Ok(all)
}
