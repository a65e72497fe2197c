//! The graph as other phases and commands need it.

use crate::config::Settings;
use crate::error::Result;
use crate::store::{self, StoredEntry, links};
use lifecycle_phases::cluster::{ClusterSettings, Edge, Graph, Node};
use lifecycle_phases::connect::{Templates, repeats};
use lifecycle_phases::{EntryId, Link, State};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Entries and the links between them, with the graph that clusters are found in.
pub struct Components {
    /// The entries, in order of arrival.
    pub entries: Vec<StoredEntry>,
    /// The active links between them.
    pub links: Vec<Link>,
    /// Both as a graph.
    pub graph: Graph,
}

/// What a cluster must be, as the settings say.
pub fn cluster_settings(settings: &Settings) -> ClusterSettings {
    ClusterSettings {
        min_cluster: settings.consolidate.min_cluster,
        similarity: settings.consolidate.cluster_similarity,
    }
}

/// The connected components of `seeds` (keys) under `descriptor`; costs what those components hold.
pub fn load_components(
    connection: &Connection,
    descriptor: &str,
    seeds: &[i64],
) -> Result<Components> {
    let (entries, links) = links::components(connection, descriptor, seeds.iter().copied())?;
    build(connection, entries, links)
}

/// Where clusters may have changed since they were last looked at: the entries whose links changed,
/// and those whose cluster waits for another try. All linked ones where the settings of clusters
/// changed.
pub fn touched(connection: &Connection, descriptor: &str, settings: &Settings) -> Result<Vec<i64>> {
    if store::clustered_with(connection)? != Some(clustered_with(descriptor, settings)) {
        return links::linked_buffered(connection, descriptor);
    }
    let mut seeds = store::touched(connection)?;
    seeds.extend(store::waiting_members(connection)?);
    seeds.sort_unstable();
    seeds.dedup();
    Ok(seeds)
}

/// The settings that clusters depend on, in words.
pub fn clustered_with(descriptor: &str, settings: &Settings) -> String {
    let settings = cluster_settings(settings);
    format!("{} {} {descriptor}", settings.min_cluster, settings.similarity)
}

/// The whole graph under `descriptor`, of one project where `project` is given.
pub fn load_graph(
    connection: &Connection,
    descriptor: &str,
    project: Option<&str>,
) -> Result<Components> {
    let filter = store::Filter { project: project.map(Into::into), ..store::Filter::default() };
    let entries = store::list(connection, &filter)?;
    let links = links::links(connection, descriptor, project)?;
    build(connection, entries, links.into_iter().map(|stored| stored.link).collect())
}

fn build(
    connection: &Connection,
    entries: Vec<StoredEntry>,
    links: Vec<Link>,
) -> Result<Components> {
    let templates = store::templates(connection)?;
    let mut nodes = Vec::with_capacity(entries.len());
    for stored in &entries {
        nodes.push(node(connection, stored, &templates)?);
    }
    let texts: BTreeMap<&EntryId, &str> =
        entries.iter().map(|stored| (&stored.entry.id, stored.entry.text.as_str())).collect();
    let edge = |link: &Link| {
        let ends = texts.get(&link.a).zip(texts.get(&link.b));
        Edge {
            a: link.a.clone(),
            b: link.b.clone(),
            similarity: link.similarity,
            repeats: link.differing.is_none() && ends.is_some_and(|(a, b)| repeats(a, b)),
        }
    };
    let graph = Graph::new(nodes, links.iter().map(edge));
    Ok(Components { entries, links, graph })
}

fn node(connection: &Connection, stored: &StoredEntry, templates: &Templates) -> Result<Node> {
    let entry = &stored.entry;
    let proven = matches!(entry.state, State::Proven | State::Routed);
    let weight = if proven { links::source_count(connection, stored.seq)?.max(1) } else { 1 };
    let form = templates.form(&entry.text);
    Ok(Node {
        id: entry.id.clone(),
        arrival: stored.seq,
        protected: entry.is_protected(),
        proven,
        weight,
        form: form.formal.then_some(form.skeleton),
    })
}
