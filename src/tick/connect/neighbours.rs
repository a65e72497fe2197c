//! The index of each project that a tick touches.
//!
//! An index is opened from its files, compared with the store, and completed with the rows that
//! were written since. A dry run does the same and keeps no file.

use super::vectors::Embedded;
use super::{Found, LinkSettings};
use crate::error::{Error, Result};
use crate::index::{Exact, Near, Neighbours, ProjectIndex, agrees, nearest};
use crate::paths::create_private;
use crate::store::{StoredEntry, entry_by_seq, vectors as stored};
use rusqlite::Connection;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Vectors up to which a second search counts how near the nearest of all is.
const COUNTED: usize = 65_536;

/// Vectors that are read from the store at a time.
const AT_ONCE: usize = 4_096;

/// Indexes opened so far, by project.
pub struct Indexes {
    descriptor: String,
    folder: PathBuf,
    keep: bool,
    /// Numbers up to which every vector of a project is compared.
    limit: usize,
    open: BTreeMap<Option<String>, ProjectIndex>,
    /// What was wrong with index files.
    pub warnings: Vec<String>,
}

impl Indexes {
    /// No index yet. With `keep` the files in `folder` follow the store; up to `limit` numbers
    /// every vector of a project is compared.
    pub fn new(descriptor: &str, folder: PathBuf, keep: bool, limit: usize) -> Self {
        let open = BTreeMap::new();
        Self { descriptor: descriptor.into(), folder, keep, limit, open, warnings: Vec::new() }
    }

    /// The index of `project`, complete as far as the store is.
    pub fn of(
        &mut self,
        connection: &Connection,
        project: Option<&str>,
        dimensions: usize,
    ) -> Result<&mut ProjectIndex> {
        let key = project.map(str::to_string);
        if !self.open.contains_key(&key) {
            let index = self.load(connection, project, dimensions)?;
            self.open.insert(key.clone(), index);
        }
        Ok(self.open.get_mut(&key).expect("it was just put there"))
    }

    fn load(
        &mut self,
        connection: &Connection,
        project: Option<&str>,
        dimensions: usize,
    ) -> Result<ProjectIndex> {
        if self.keep
            && let Err(error) = create_private(&self.folder)
        {
            self.keep = false;
            self.warnings.push(format!("no index is kept: {}", error.message));
        }
        let is_current = |rows: &Exact, last_row: i64| {
            is_current(connection, &self.descriptor, rows, last_row).unwrap_or(false)
        };
        let mut index =
            ProjectIndex::open(&self.folder, &self.descriptor, project, dimensions, is_current)
                .with_limit(self.limit);
        if let Some(damage) = index.damage() {
            let of = project.unwrap_or("entries without a project");
            self.warnings.push(format!("the index of {of} was built anew: {damage}"));
        }
        // A few thousand at a time, so that a store of any size is taken in with the same memory.
        let (mut fresh, mut last_row) = (Exact::new(dimensions), index.last_row());
        stored::each_vector(connection, &self.descriptor, project, last_row, |row| {
            // A stored vector that is none is found by nobody.
            if fresh.add(row.seq, &row.vector).is_ok() {
                last_row = row.rowid;
            }
            if fresh.len() >= AT_ONCE {
                index.refresh(&fresh, last_row, self.keep);
                fresh = Exact::new(dimensions);
            }
        })?;
        index.refresh(&fresh, last_row, self.keep);
        Ok(index)
    }
}

/// Whether the store still has the rows of an index file: the last one where it was, and some of
/// them with the same numbers.
fn is_current(
    connection: &Connection,
    descriptor: &str,
    rows: &Exact,
    last_row: i64,
) -> Result<bool> {
    let Some(last) = rows.keys().last() else { return Ok(true) };
    let found = stored::key_at(connection, descriptor, last_row)?;
    let vector = |key| stored::vector(connection, descriptor, key).ok().flatten();
    Ok(found == Some(*last) && agrees(rows, vector))
}

/// Puts `newcomers` into `index` and finds the nearest active entries of each, itself left out.
pub fn near(
    connection: &Connection,
    index: &mut ProjectIndex,
    newcomers: &[&Embedded],
    settings: &LinkSettings,
    count: usize,
) -> Result<Vec<Found>> {
    for new in newcomers.iter().filter(|new| !new.own) {
        let useless = |error| Error::input(format!("entry {}: {error}", new.stored.entry.id));
        index.add(new.stored.seq, &new.vector).map_err(useless)?;
    }
    let queries: Vec<&[f32]> = newcomers.iter().map(|new| new.vector.as_slice()).collect();
    let fresh: HashMap<i64, &Embedded> =
        newcomers.iter().map(|new| (new.stored.seq, *new)).collect();
    let vector = |key: i64| match fresh.get(&key) {
        Some(new) => Some(new.vector.clone()),
        None => stored::active_vector(connection, &settings.descriptor, key).ok().flatten(),
    };
    let floor = settings.scale.candidate_cosine();
    let near = nearest(index.neighbours(), &queries, count + 1, floor, vector);
    let mut entries = HashMap::new();
    newcomers
        .iter()
        .zip(near)
        .map(|(new, near)| found(connection, &mut entries, new.stored.seq, near))
        .collect()
}

/// For each newcomer without a neighbour worth comparing the approximate cosine of the nearest one
/// there is: only counted, never linked.
pub fn nearest_below(index: &ProjectIndex, newcomers: &[&Embedded], found: &[Found]) -> Vec<f32> {
    let alone: Vec<&Embedded> = newcomers
        .iter()
        .zip(found)
        .filter(|(_, near)| near.is_empty())
        .map(|(new, _)| *new)
        .collect();
    if alone.is_empty() || index.neighbours().len() > COUNTED {
        return Vec::new();
    }
    let queries: Vec<&[f32]> = alone.iter().map(|new| new.vector.as_slice()).collect();
    // Itself, twice where it was written anew, and the one that counts.
    let near = index.neighbours().candidates(&queries, 3, -1.0);
    let other = |(new, near): (&&Embedded, Vec<Near>)| {
        near.into_iter().find(|near| near.key != new.stored.seq).map(|near| near.cosine)
    };
    alone.iter().zip(near).filter_map(other).collect()
}

fn found(
    connection: &Connection,
    entries: &mut HashMap<i64, Option<StoredEntry>>,
    own: i64,
    near: Vec<Near>,
) -> Result<Found> {
    let mut found = Vec::new();
    for Near { key, cosine } in near.into_iter().filter(|near| near.key != own) {
        let entry = match entries.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let stored = entry_by_seq(connection, key)?;
                place.insert(stored.filter(|stored| stored.entry.state.is_active()))
            }
        };
        found.extend(entry.clone().map(|entry| (entry, cosine)));
    }
    Ok(found)
}
