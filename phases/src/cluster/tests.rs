//! Properties of clusters.

use super::*;
use proptest::prelude::*;

const SETTINGS: ClusterSettings = ClusterSettings { min_cluster: 3, similarity: 0.87 };

fn id(n: usize) -> EntryId {
    EntryId(format!("{n:016x}"))
}

/// Far apart in arrival, so that nearness plays no part.
fn node(n: usize) -> Node {
    Node::new(id(n), n as i64 * 10_000)
}

fn graph(nodes: usize, links: &[(usize, usize, f32)]) -> Graph {
    Graph::new((0..nodes).map(node), links.iter().map(edge))
}

fn edge((a, b, similarity): &(usize, usize, f32)) -> Edge {
    Edge::new(id(*a), id(*b), *similarity)
}

fn clique(members: &[usize], similarity: f32) -> Vec<(usize, usize, f32)> {
    let pairs = members.iter().enumerate();
    pairs.flat_map(|(i, a)| members[i + 1..].iter().map(move |b| (*a, *b, similarity))).collect()
}

fn members(cluster: &Cluster) -> Vec<usize> {
    let parse = |id: &EntryId| usize::from_str_radix(id.as_str(), 16).unwrap_or(usize::MAX);
    cluster.members.iter().map(parse).collect()
}

#[test]
fn three_alike_are_a_cluster_and_two_wait() {
    let mut links = clique(&[0, 1, 2], 0.95);
    links.push((3, 4, 0.95));
    let grouping = group(&graph(6, &links), SETTINGS);
    assert_eq!(grouping.clusters.iter().map(members).collect::<Vec<_>>(), [[0, 1, 2]]);
    assert_eq!(grouping.waiting[0].members, [id(3), id(4)]);
    assert_eq!(grouping.waiting[0].reason, "2 linked entries, a cluster needs 3");
    assert_eq!(grouping.isolated, [id(5)]);
}

#[test]
fn a_bridge_does_not_join_two_subjects() {
    let mut links = clique(&[0, 1, 2, 3], 0.95);
    links.extend(clique(&[4, 5, 6, 7], 0.95));
    links.push((3, 4, 0.90));
    let found: Vec<Vec<usize>> =
        clusters(&graph(8, &links), SETTINGS).iter().map(members).collect();
    assert_eq!(found, [[0, 1, 2, 3], [4, 5, 6, 7]]);
}

#[test]
fn a_hub_does_not_pull_strangers_together() {
    let links: Vec<_> = (1..10).map(|n| (0, n, 0.85)).collect();
    let grouping = group(&graph(10, &links), SETTINGS);
    assert!(grouping.clusters.is_empty());
    assert_eq!(grouping.waiting.len(), 1);
}

#[test]
fn a_long_chain_is_cut() {
    let links: Vec<_> = (0..319).map(|n| (n, n + 1, 0.97)).collect();
    let grouping = group(&graph(320, &links), SETTINGS);
    let placed: usize = grouping.clusters.iter().map(|cluster| cluster.members.len()).sum();
    let waiting: usize = grouping.waiting.iter().map(|group| group.members.len()).sum();
    assert_eq!(placed + waiting, 320);
    assert!(grouping.clusters.iter().all(|cluster| cluster.members.len() < 10));
    assert!(grouping.waiting.iter().all(|group| group.members.len() < 10));
}

#[test]
fn a_newcomer_forms_a_cluster_with_a_proven_entry() {
    let mut proven = node(0);
    proven.proven = true;
    proven.weight = 3;
    let graph = Graph::new([proven, node(1)], [edge(&(0, 1, 0.95))]);
    let found = clusters(&graph, SETTINGS);
    assert_eq!(found[0].proven, [id(0)]);
    assert_eq!(members(&found[0]), [0, 1]);
}

#[test]
fn nearness_of_arrival_tips_the_scale() {
    let near = |n: usize| Node::new(id(n), n as i64);
    let links = clique(&[0, 1, 2], 0.80);
    let links = || links.iter().map(edge);
    assert_eq!(clusters(&Graph::new((0..3).map(near), links()), SETTINGS).len(), 1);
    assert_eq!(clusters(&Graph::new((0..3).map(node), links()), SETTINGS).len(), 0);
}

#[test]
fn one_sentence_in_three_spellings_is_no_cluster() {
    let spellings = clique(&[0, 1, 2], 0.99);
    let repeating = spellings.iter().map(|link| Edge { repeats: true, ..edge(link) });
    let grouping = group(&Graph::new((0..3).map(node), repeating), SETTINGS);
    assert!(grouping.clusters.is_empty());
    assert_eq!(grouping.waiting[0].reason, "3 linked entries repeat 1, a cluster needs 3");
}

fn formal(n: usize, protected: bool) -> Node {
    Node { form: Some("bump from to".into()), protected, ..node(n) }
}

#[test]
fn copies_of_a_form_are_noise_and_the_newest_stays() {
    let links: Vec<_> = clique(&[0, 1, 2], 0.95);
    let nodes = (0..3).map(|n| formal(n, false));
    let grouping = group(&Graph::new(nodes, links.iter().map(edge)), SETTINGS);
    assert!(grouping.clusters.is_empty());
    assert_eq!(grouping.noise[0].representative, id(2));
    assert_eq!(grouping.noise[0].expiring().collect::<Vec<_>>(), [&id(0), &id(1)]);
}

fn any_graph() -> impl Strategy<Value = (Vec<Node>, Vec<Edge>)> {
    let flags = prop::collection::vec((any::<bool>(), 0u8..4, 0i64..200), 2..24);
    let links = prop::collection::vec((0usize..24, 0usize..24, 0.75f32..1.0, any::<bool>()), 0..80);
    (flags, links).prop_map(|(flags, links)| {
        let node = |(n, (protected, kind, arrival)): (usize, &(bool, u8, i64))| {
            let form = (*kind == 0).then(|| "form".to_string());
            Node { protected: *protected, form, ..Node::new(id(n), *arrival) }
        };
        let nodes = flags.iter().enumerate().map(node).collect();
        let edge = |(a, b, s, repeats)| Edge { repeats, ..edge(&(a, b, s)) };
        (nodes, links.into_iter().map(edge).collect())
    })
}

proptest! {
    #[test]
    fn the_order_of_nodes_and_links_does_not_matter((nodes, links) in any_graph(), seed in any::<u64>()) {
        let first = group(&Graph::new(nodes.clone(), links.clone()), SETTINGS);
        let (mut nodes, mut links) = (nodes, links);
        let shuffle = |n: usize| crate::entry::hex(format!("{seed}{n}").as_bytes(), 16);
        let mut place = 0;
        nodes.sort_by_cached_key(|_| { place += 1; shuffle(place) });
        links.sort_by_cached_key(|_| { place += 1; shuffle(place) });
        let links = links.into_iter().map(|edge| Edge { a: edge.b, b: edge.a, ..edge });
        prop_assert_eq!(group(&Graph::new(nodes, links), SETTINGS), first);
    }

    #[test]
    fn every_entry_has_exactly_one_place((nodes, links) in any_graph()) {
        let grouping = group(&Graph::new(nodes.clone(), links), SETTINGS);
        let mut placed: Vec<EntryId> = grouping.isolated.clone();
        placed.extend(grouping.clusters.iter().flat_map(|cluster| cluster.members.clone()));
        placed.extend(grouping.noise.iter().flat_map(|noise| noise.members.clone()));
        placed.extend(grouping.waiting.iter().flat_map(|group| group.members.clone()));
        placed.sort();
        let mut all: Vec<EntryId> = nodes.iter().map(|node| node.id.clone()).collect();
        all.sort();
        prop_assert_eq!(placed, all);
        for node in &nodes {
            prop_assert!(standing(&grouping, &node.id).is_some());
        }
    }

    #[test]
    fn nothing_expires_from_a_noise_cluster_with_a_protected_entry((nodes, links) in any_graph()) {
        let grouping = group(&Graph::new(nodes.clone(), links), SETTINGS);
        let protected: Vec<&EntryId> =
            nodes.iter().filter(|node| node.protected).map(|node| &node.id).collect();
        for noise in &grouping.noise {
            let expiring: Vec<&EntryId> = noise.expiring().collect();
            prop_assert!(expiring.len() < noise.members.len());
            if noise.members.iter().any(|member| protected.contains(&member)) {
                prop_assert!(expiring.is_empty());
            }
        }
    }

    #[test]
    fn a_component_has_the_same_clusters_alone((nodes, links) in any_graph()) {
        let whole = Graph::new(nodes.clone(), links.clone());
        let all = group(&whole, SETTINGS);
        let mut parts = Vec::new();
        for component in whole.components() {
            let inside = component.iter().map(|place| whole.node(*place).clone());
            parts.extend(clusters(&Graph::new(inside, links.clone()), SETTINGS));
        }
        parts.sort_by(|x, y| x.members.cmp(&y.members));
        prop_assert_eq!(parts, all.clusters);
    }
}
