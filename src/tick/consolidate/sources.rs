//! Which clusters there are to consolidate.

use super::super::Context;
use super::super::connect::graph;
use crate::error::Result;
use crate::store::{self, StoredEntry, links};
use lifecycle_phases::cluster;
use lifecycle_phases::consolidate::Cluster;
use lifecycle_phases::{Entry, EntryId, Kind, Link};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// The clusters that hold at least one buffered entry, as clusters of originals. Costs what the
/// components of linked buffered entries hold.
pub fn clusters(ctx: &Context<'_>) -> Result<Vec<Cluster>> {
    let descriptor = ctx.embedder()?.descriptor().id();
    let seeds = links::linked_buffered(ctx.store.reader(), &descriptor)?;
    clusters_of(ctx, &descriptor, &seeds)
}

/// Those of them that may have changed since they were last looked at.
pub fn touched(ctx: &Context<'_>) -> Result<Vec<Cluster>> {
    let descriptor = ctx.embedder()?.descriptor().id();
    let seeds = graph::touched(ctx.store.reader(), &descriptor, ctx.settings)?;
    clusters_of(ctx, &descriptor, &seeds)
}

/// Notes that every cluster was looked at with the settings in force, where that is new and there
/// was something to look at.
pub fn looked_at(ctx: &mut Context<'_>) -> Result<()> {
    let descriptor = ctx.embedder()?.descriptor().id();
    let settings = graph::clustered_with(&descriptor, ctx.settings);
    let known = store::clustered_with(ctx.store.reader())?;
    if known.as_deref() == Some(&settings) || store::touched(ctx.store.reader())?.is_empty() {
        return Ok(());
    }
    ctx.store.write(|tx| store::set_clustered_with(tx, &settings))
}

/// The next run looks at every cluster: some that were found now were neither merged nor recorded.
pub fn look_again(ctx: &mut Context<'_>) -> Result<()> {
    let known = store::clustered_with(ctx.store.reader())?;
    if known.is_none_or(|known| known.is_empty()) {
        return Ok(());
    }
    ctx.store.write(|tx| store::set_clustered_with(tx, ""))
}

fn clusters_of(ctx: &Context<'_>, descriptor: &str, seeds: &[i64]) -> Result<Vec<Cluster>> {
    let connection = ctx.store.reader();
    let components = graph::load_components(connection, descriptor, seeds)?;
    let mut found = Vec::new();
    for group in cluster::clusters(&components.graph, graph::cluster_settings(ctx.settings)) {
        let cluster = expand(connection, &group.members, &components.links)?;
        if cluster.is_fresh() && cluster.members.len() >= ctx.settings.consolidate.min_cluster {
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
            let ids = originals.iter().map(|entry| entry.id.clone()).collect();
            cluster.origins.insert(stored.entry.id.clone(), ids);
            cluster.members.extend(originals);
            cluster.replaces.push(stored.entry);
        }
    }
    // A thought is the user's own and no fact, the record of a session is about the session: both
    // stay as they are and go into no file.
    cluster.members.retain(|entry| !matches!(entry.kind, Kind::Thought | Kind::Session));
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

/// What was merged without a model, as clusters of its originals, oldest first.
pub fn extractive(ctx: &Context<'_>) -> Result<Vec<Cluster>> {
    let connection = ctx.store.reader();
    let mut statement = connection.prepare_cached(
        "SELECT id FROM entry
         WHERE generated_by = 'extractive' AND state IN ('proven', 'routed') ORDER BY seq",
    )?;
    let ids = statement
        .query_map([], |row| Ok(EntryId(row.get(0)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    ids.iter().map(|id| expand(connection, std::slice::from_ref(id), &[])).collect()
}
