//! The graph that clusters are found in.

use crate::entry::EntryId;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use std::collections::BTreeMap;

/// An entry as a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The entry.
    pub id: EntryId,
    /// Place in the order of arrival.
    pub arrival: i64,
    /// Never expires.
    pub protected: bool,
    /// Proven or routed: made from other entries.
    pub proven: bool,
    /// Entries it stands for: 1, for a proven entry the number it was made from.
    pub weight: usize,
    /// Skeleton of the form, where the text is a record of a fixed form that states nothing.
    pub form: Option<String>,
}

impl Node {
    /// An ordinary buffered entry.
    pub fn new(id: EntryId, arrival: i64) -> Self {
        Self { id, arrival, protected: false, proven: false, weight: 1, form: None }
    }
}

/// A link as an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// One end.
    pub a: EntryId,
    /// The other end.
    pub b: EntryId,
    /// Their similarity.
    pub similarity: f32,
    /// One is the other in another spelling: together they count as one statement.
    pub repeats: bool,
}

impl Edge {
    /// An edge between two statements.
    pub fn new(a: EntryId, b: EntryId, similarity: f32) -> Self {
        Self { a, b, similarity, repeats: false }
    }
}

/// What is known of a linked pair.
#[derive(Clone, Copy, Debug)]
struct Bond {
    similarity: f32,
    repeats: bool,
}

/// Nodes in the order of their ids, and the similarity of each linked pair.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    inner: UnGraph<Node, Bond>,
}

impl Graph {
    /// A graph of `nodes` and of those `edges` whose ends are both among them. Order and repetition
    /// of either do not matter; of a repeated edge the highest similarity counts.
    pub fn new(
        nodes: impl IntoIterator<Item = Node>,
        edges: impl IntoIterator<Item = Edge>,
    ) -> Self {
        let nodes: BTreeMap<EntryId, Node> =
            nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
        let places: BTreeMap<&EntryId, usize> =
            nodes.keys().enumerate().map(|(place, id)| (id, place)).collect();
        let mut pairs: BTreeMap<(usize, usize), Bond> = BTreeMap::new();
        for Edge { a, b, similarity, repeats } in edges {
            let (Some(&a), Some(&b)) = (places.get(&a), places.get(&b)) else { continue };
            if a != b && similarity.is_finite() {
                let known =
                    pairs.entry((a.min(b), a.max(b))).or_insert(Bond { similarity, repeats });
                known.similarity = known.similarity.max(similarity);
                known.repeats |= repeats;
            }
        }
        let mut inner = UnGraph::with_capacity(nodes.len(), pairs.len());
        for node in nodes.into_values() {
            inner.add_node(node);
        }
        for ((a, b), bond) in pairs {
            inner.add_edge(NodeIndex::new(a), NodeIndex::new(b), bond);
        }
        Self { inner }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.inner.node_count()
    }

    /// Whether it has no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node at `place`; places follow the order of the ids.
    pub fn node(&self, place: usize) -> &Node {
        &self.inner[NodeIndex::new(place)]
    }

    /// Similarity of a linked pair.
    pub fn similarity(&self, a: usize, b: usize) -> Option<f32> {
        let edge = self.inner.find_edge(NodeIndex::new(a), NodeIndex::new(b))?;
        self.inner.edge_weight(edge).map(|bond| bond.similarity)
    }

    /// Linked nodes of `place` with their similarity.
    pub fn linked(&self, place: usize) -> impl Iterator<Item = (usize, f32)> {
        self.bonds(place).map(|(to, bond)| (to, bond.similarity))
    }

    fn bonds(&self, place: usize) -> impl Iterator<Item = (usize, Bond)> {
        let from = NodeIndex::new(place);
        self.inner.edges(from).map(move |edge| {
            let to = if edge.source() == from { edge.target() } else { edge.source() };
            (to.index(), *edge.weight())
        })
    }

    /// Connected components, each sorted, in the order of their first node.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        self.components_of(&(0..self.len()).collect::<Vec<_>>())
    }

    /// Connected components of the part of the graph that `nodes` span.
    pub(super) fn components_of(&self, nodes: &[usize]) -> Vec<Vec<usize>> {
        self.parts(nodes, |_| true)
    }

    /// Entries that `nodes` stand for: of those that repeat each other the one that stands for
    /// most counts.
    pub(super) fn size(&self, nodes: &[usize]) -> usize {
        let weight = |part: &Vec<usize>| part.iter().map(|node| self.node(*node).weight).max();
        self.parts(nodes, |bond| bond.repeats).iter().filter_map(weight).sum()
    }

    /// The parts of `nodes` that hang together by bonds that are `wanted`.
    fn parts(&self, nodes: &[usize], wanted: impl Fn(Bond) -> bool) -> Vec<Vec<usize>> {
        let local: BTreeMap<usize, usize> =
            nodes.iter().enumerate().map(|(index, node)| (*node, index)).collect();
        let mut sets: UnionFind<usize> = UnionFind::new(nodes.len());
        for (node, index) in &local {
            for (other, bond) in self.bonds(*node) {
                if let (true, Some(other)) = (wanted(bond), local.get(&other)) {
                    sets.union(*index, *other);
                }
            }
        }
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (node, index) in &local {
            found.entry(sets.find_mut(*index)).or_default().push(*node);
        }
        let mut found: Vec<Vec<usize>> = found.into_values().collect();
        found.sort();
        found
    }

    /// `nodes` by the form they are copies of.
    pub(super) fn by_form(&self, nodes: &[usize]) -> Vec<Vec<usize>> {
        let mut found: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for node in nodes {
            found.entry(self.node(*node).form.as_deref()).or_default().push(*node);
        }
        found.into_values().collect()
    }
}
