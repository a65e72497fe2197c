//! A cluster that exceeds the context of a model, in two parts.
//!
//! Nothing is cut: each part holds whole notes, and is consolidated like a cluster of its own. What
//! a proven entry was made of stays together, since a merge that replaces it must hold all of it.

use super::note::{Cluster, notes};
use crate::entry::{Entry, EntryId};
use std::collections::{BTreeMap, BTreeSet};

/// Two parts of about the same length, each with at least `min_cluster` notes, the older first;
/// `None` where there is no such cut.
pub fn split(cluster: &Cluster, min_cluster: usize) -> Option<[Cluster; 2]> {
    let units = units(cluster);
    let sizes: Vec<usize> = units.iter().map(|unit| bytes(unit)).collect();
    let all: usize = sizes.iter().sum();
    let members = |units: &[Vec<Entry>]| units.iter().map(Vec::len).sum::<usize>();
    let cut = (1..units.len())
        .filter(|&at| members(&units[..at]) >= min_cluster && members(&units[at..]) >= min_cluster)
        .min_by_key(|&at| sizes[..at].iter().sum::<usize>().abs_diff(all / 2))?;
    Some([part(cluster, &units[..cut]), part(cluster, &units[cut..])])
}

fn bytes(unit: &[Entry]) -> usize {
    unit.iter().map(|entry| entry.text.len()).sum()
}

/// What must stay together, in the order of time.
fn units(cluster: &Cluster) -> Vec<Vec<Entry>> {
    let mut place: BTreeMap<&EntryId, usize> = BTreeMap::new();
    for (n, proven) in cluster.replaces.iter().enumerate() {
        for id in cluster.origins.get(&proven.id).into_iter().flatten() {
            place.entry(id).or_insert(n);
        }
    }
    let mut units: Vec<Vec<Entry>> = Vec::new();
    let mut of_proven: BTreeMap<usize, usize> = BTreeMap::new();
    for note in notes(cluster) {
        match place.get(note.id()) {
            Some(n) => {
                let at = *of_proven.entry(*n).or_insert_with(|| {
                    units.push(Vec::new());
                    units.len() - 1
                });
                units[at].push(note.entry);
            }
            None => units.push(vec![note.entry]),
        }
    }
    units
}

fn part(cluster: &Cluster, units: &[Vec<Entry>]) -> Cluster {
    let members: Vec<Entry> = units.iter().flatten().cloned().collect();
    let ids: BTreeSet<&EntryId> = members.iter().map(|entry| &entry.id).collect();
    let origins = |proven: &Entry| cluster.origins.get(&proven.id).into_iter().flatten();
    let replaces: Vec<Entry> = cluster
        .replaces
        .iter()
        .filter(|proven| origins(proven).any(|id| ids.contains(id)))
        .cloned()
        .collect();
    let ends: BTreeSet<&EntryId> =
        ids.iter().copied().chain(replaces.iter().map(|proven| &proven.id)).collect();
    let links = cluster.links.iter().filter(|l| ends.contains(&l.a) || ends.contains(&l.b));
    let kept = cluster.origins.iter().filter(|(id, _)| ends.contains(id));
    Cluster {
        links: links.cloned().collect(),
        origins: kept.map(|(id, of)| (id.clone(), of.clone())).collect(),
        members,
        replaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Actor, Channel, Kind, Source};

    fn entry(text: &str, created: i64) -> Entry {
        let source = Source::new(Channel::Cli, Actor::Tool);
        Entry::new(text, Kind::Insight, None, created, source)
    }

    fn cluster(count: i64) -> Cluster {
        let members = (0..count).map(|i| entry(&format!("note {i} of some length"), i)).collect();
        Cluster { members, ..Cluster::default() }
    }

    #[test]
    fn c5_every_note_is_in_one_part_and_no_part_is_too_small() {
        assert!(split(&cluster(5), 3).is_none());
        let whole = cluster(9);
        let [older, newer] = split(&whole, 3).expect("nine notes can be cut");
        assert_eq!(older.members.len() + newer.members.len(), 9);
        assert!(older.members.len() >= 3 && newer.members.len() >= 3);
        assert!(older.members.iter().all(|a| newer.members.iter().all(|b| a.created < b.created)));
    }

    #[test]
    fn c5_what_a_proven_entry_was_made_of_stays_together() {
        let mut whole = cluster(8);
        let proven = entry("proven", 99);
        let of = [0, 2, 7].map(|n: usize| whole.members[n].id.clone()).to_vec();
        whole.origins.insert(proven.id.clone(), of.clone());
        whole.replaces.push(proven);
        let parts = split(&whole, 3).expect("it can be cut");
        let with: Vec<&Cluster> = parts.iter().filter(|part| !part.replaces.is_empty()).collect();
        assert_eq!(with.len(), 1);
        assert!(of.iter().all(|id| with[0].members.iter().any(|entry| entry.id == *id)));
    }
}
