//! Which clusters there are to consolidate.

use super::super::Context;
use crate::error::Result;
use crate::store::{self, StoredEntry};
use lifecycle_phases::consolidate::Cluster;
use lifecycle_phases::{Differing, Entry, EntryId, Link, State};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// Connected groups with at least one buffered entry, as clusters of originals.
pub fn clusters(ctx: &Context<'_>) -> Result<Vec<Cluster>> {
    let connection = ctx.store.reader();
    let links = active_links(connection)?;
    let mut groups = components(&links);
    groups.sort();
    let mut found = Vec::new();
    for group in groups {
        let cluster = expand(connection, &group, &links)?;
        let fresh = cluster.members.iter().any(|entry| entry.state == State::Buffered);
        if fresh && cluster.members.len() >= ctx.settings.consolidate.min_cluster {
            found.push(cluster);
        }
    }
    Ok(found)
}

/// The group with each proven entry replaced by the originals it was made of.
pub fn expand(connection: &Connection, group: &[EntryId], links: &[Link]) -> Result<Cluster> {
    let ids: BTreeSet<&EntryId> = group.iter().collect();
    let mut cluster = Cluster {
        links: links.iter().filter(|l| ids.contains(&l.a) || ids.contains(&l.b)).cloned().collect(),
        ..Cluster::default()
    };
    for id in group {
        let Some(stored) = store::entry_by_id(connection, id)? else { continue };
        let originals = originals(connection, &stored)?;
        if originals.is_empty() {
            cluster.members.push(stored.entry);
        } else {
            cluster.members.extend(originals);
            cluster.replaces.push(stored.entry);
        }
    }
    cluster.members.sort_by(|a, b| a.id.cmp(&b.id));
    cluster.members.dedup_by(|a, b| a.id == b.id);
    Ok(cluster)
}

/// The originals that a proven entry was made of.
pub fn originals(connection: &Connection, proven: &StoredEntry) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare_cached(
        "SELECT source FROM provenance WHERE proven = ?1 AND active ORDER BY source",
    )?;
    let rows = statement.query_map(params![proven.seq], |row| row.get::<_, i64>(0))?;
    let mut found = Vec::new();
    for seq in rows.collect::<rusqlite::Result<Vec<i64>>>()? {
        found.extend(store::entry_by_seq(connection, seq)?.map(|stored| stored.entry));
    }
    Ok(found)
}

fn active_links(connection: &Connection) -> Result<Vec<Link>> {
    let mut statement = connection.prepare_cached(
        "SELECT a.id, b.id, similarity, cosine, descriptor, differing
         FROM link, entry a, entry b WHERE link.active AND a.seq = link.a AND b.seq = link.b
         ORDER BY a.seq, b.seq",
    )?;
    let rows = statement.query_map([], |row| {
        let differing: Option<String> = row.get(5)?;
        Ok(Link {
            a: EntryId(row.get(0)?),
            b: EntryId(row.get(1)?),
            similarity: row.get(2)?,
            cosine: row.get(3)?,
            descriptor: row.get(4)?,
            differing: differing.as_deref().and_then(Differing::parse),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn components(links: &[Link]) -> Vec<Vec<EntryId>> {
    let mut graph = petgraph::graphmap::UnGraphMap::<&str, ()>::new();
    for link in links {
        graph.add_edge(link.a.as_str(), link.b.as_str(), ());
    }
    let mut seen: BTreeMap<&str, bool> = BTreeMap::new();
    let mut groups = Vec::new();
    for node in graph.nodes() {
        if seen.contains_key(node) {
            continue;
        }
        let mut walk = petgraph::visit::Bfs::new(&graph, node);
        let mut group = Vec::new();
        while let Some(next) = walk.next(&graph) {
            seen.insert(next, true);
            group.push(EntryId(next.to_string()));
        }
        group.sort();
        groups.push(group);
    }
    groups
}
