//! Clusters: which linked entries speak of one thing.
//!
//! Links alone are not enough. At one false link in a thousand pairs a store of a thousand entries
//! has hundreds of them, and connected components melt together. So inside each component entries
//! are joined by average linkage ([`linkage`]): two groups become one while the mean evidence
//! between *all* their members stays above the cluster line. A chain or a hub that bridges two
//! subjects has too few links for its size and is cut where it is weakest.
//!
//! Every entry ends in exactly one place ([`Standing`]): in a cluster to consolidate, in a noise
//! cluster (copies of one form), in a linked group that waits, or isolated; each with its reason.
//! The result depends on the set of nodes and links only, not on their order, and a component's
//! result on that component alone, so that a tick computes just the components it touched.

mod graph;
mod linkage;
mod standing;

pub use graph::{Edge, Graph, Node};
pub use standing::{Standing, standing};

use crate::entry::EntryId;
use serde::{Deserialize, Serialize};

/// What a cluster must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterSettings {
    /// Entries it needs; a proven entry counts as many as it was made from, spellings of one
    /// sentence count once.
    pub min_cluster: usize,
    /// Mean similarity that its members must have, nearness of arrival aside.
    pub similarity: f32,
}

/// Entries that speak of one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The members, sorted.
    pub members: Vec<EntryId>,
    /// Those of them that are proven: a new merge starts from what *they* were made from.
    pub proven: Vec<EntryId>,
    /// The member most similar to the others; the smallest id among equals.
    pub center: EntryId,
    /// Mean similarity over all pairs of members; a pair without a link counts as
    /// [`UNLINKED`].
    pub cohesion: f32,
}

/// Copies of one form that say nothing: all but one may fade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseCluster {
    /// The members, sorted.
    pub members: Vec<EntryId>,
    /// The one that is kept: the newest, the smallest id among equals.
    pub representative: EntryId,
    /// A member is protected: the whole cluster stays as it is.
    pub protected: bool,
}

impl NoiseCluster {
    /// The members that may expire: none where one of them is protected.
    pub fn expiring(&self) -> impl Iterator<Item = &EntryId> {
        let all = if self.protected { &[] } else { self.members.as_slice() };
        all.iter().filter(|member| **member != self.representative)
    }
}

/// Linked entries that form no cluster yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingGroup {
    /// The members, sorted.
    pub members: Vec<EntryId>,
    /// Why they wait, in words.
    pub reason: String,
}

/// Where every entry of a graph stands; each list sorted by its first member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grouping {
    /// To consolidate.
    pub clusters: Vec<Cluster>,
    /// Copies of one form.
    pub noise: Vec<NoiseCluster>,
    /// Linked, but too few or too loosely.
    pub waiting: Vec<WaitingGroup>,
    /// Without a link.
    pub isolated: Vec<EntryId>,
}

/// Similarity that a pair without a link counts as.
pub const UNLINKED: f32 = 0.60;

/// The clusters of `graph`.
pub fn clusters(graph: &Graph, settings: ClusterSettings) -> Vec<Cluster> {
    group(graph, settings).clusters
}

/// Where every entry of `graph` stands.
pub fn group(graph: &Graph, settings: ClusterSettings) -> Grouping {
    let mut grouping = Grouping::default();
    for component in graph.components() {
        if let [alone] = component.as_slice() {
            grouping.isolated.push(graph.node(*alone).id.clone());
        } else {
            group_component(graph, component, settings, &mut grouping);
        }
    }
    grouping.clusters.sort_by(|x, y| x.members.cmp(&y.members));
    grouping.noise.sort_by(|x, y| x.members.cmp(&y.members));
    grouping.waiting.sort_by(|x, y| x.members.cmp(&y.members));
    grouping.isolated.sort();
    grouping
}

fn group_component(
    graph: &Graph,
    component: Vec<usize>,
    settings: ClusterSettings,
    grouping: &mut Grouping,
) {
    let (formal, speaking): (Vec<usize>, Vec<usize>) =
        component.into_iter().partition(|node| graph.node(*node).form.is_some());
    for copies in graph.by_form(&formal) {
        if copies.len() >= settings.min_cluster {
            grouping.noise.push(noise(graph, &copies));
        } else {
            grouping.waiting.push(waiting(graph, &copies, "records of a fixed form".into()));
        }
    }
    let mut rest = Vec::new();
    for members in linkage::join(graph, &speaking, settings.similarity) {
        if members.len() > 1 && graph.size(&members) >= settings.min_cluster {
            grouping.clusters.push(cluster(graph, &members));
        } else if members.len() > 1 {
            // Part of a chain that is too loose as a whole: what belongs together waits together.
            let reason = waiting_reason(members.len(), graph.size(&members), settings);
            grouping.waiting.push(waiting(graph, &members, reason));
        } else {
            rest.extend(members);
        }
    }
    for group in graph.components_of(&rest) {
        let reason = waiting_reason(group.len(), graph.size(&group), settings);
        grouping.waiting.push(waiting(graph, &group, reason));
    }
}

fn waiting_reason(members: usize, size: usize, settings: ClusterSettings) -> String {
    let needed = settings.min_cluster;
    match members {
        1 => "linked to a group, but too loosely to belong to it".into(),
        _ if members >= needed && size < needed => {
            format!("{members} linked entries repeat {size}, a cluster needs {needed}")
        }
        _ if members < needed => format!("{members} linked entries, a cluster needs {needed}"),
        _ => format!("linked too loosely: mean similarity below {:.2}", settings.similarity),
    }
}

fn ids(graph: &Graph, nodes: &[usize]) -> Vec<EntryId> {
    let mut ids: Vec<EntryId> = nodes.iter().map(|node| graph.node(*node).id.clone()).collect();
    ids.sort();
    ids
}

fn waiting(graph: &Graph, nodes: &[usize], reason: String) -> WaitingGroup {
    WaitingGroup { members: ids(graph, nodes), reason }
}

fn noise(graph: &Graph, nodes: &[usize]) -> NoiseCluster {
    let newest = nodes
        .iter()
        .map(|node| graph.node(*node))
        .min_by_key(|node| (std::cmp::Reverse(node.arrival), &node.id))
        .expect("a noise cluster has members");
    NoiseCluster {
        members: ids(graph, nodes),
        representative: newest.id.clone(),
        protected: nodes.iter().any(|node| graph.node(*node).protected),
    }
}

fn cluster(graph: &Graph, nodes: &[usize]) -> Cluster {
    let closeness = |node: usize| -> f64 {
        let others = nodes.iter().filter(|other| **other != node);
        others.map(|other| f64::from(graph.similarity(node, *other).unwrap_or(UNLINKED))).sum()
    };
    let sums: Vec<(f64, usize)> = nodes.iter().map(|node| (closeness(*node), *node)).collect();
    let center = sums
        .iter()
        .max_by(|x, y| x.0.total_cmp(&y.0).then(graph.node(y.1).id.cmp(&graph.node(x.1).id)))
        .map_or(nodes[0], |(_, node)| *node);
    let pairs = (nodes.len() * (nodes.len() - 1)).max(1) as f64;
    let proven: Vec<usize> =
        nodes.iter().copied().filter(|node| graph.node(*node).proven).collect();
    Cluster {
        members: ids(graph, nodes),
        proven: ids(graph, &proven),
        center: graph.node(center).id.clone(),
        cohesion: (sums.iter().map(|(sum, _)| sum).sum::<f64>() / pairs) as f32,
    }
}

#[cfg(test)]
mod tests;
