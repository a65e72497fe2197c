//! The index of each project that a tick touches.

use super::vectors::Embedded;
use super::{Found, LinkSettings};
use crate::error::{Error, Result};
use crate::index::{Exact, Near, Neighbours, nearest};
use crate::store::{StoredEntry, entry_by_seq, vectors as stored};
use rusqlite::Connection;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Indexes opened so far, by project.
pub struct Indexes {
    descriptor: String,
    open: BTreeMap<Option<String>, ProjectIndex>,
}

/// The vectors of one project.
pub struct ProjectIndex {
    descriptor: String,
    index: Exact,
    keys: HashSet<i64>,
}

impl Indexes {
    /// No index yet.
    pub fn new(descriptor: &str) -> Self {
        Self { descriptor: descriptor.into(), open: BTreeMap::new() }
    }

    /// The index of `project` with `newcomers` in it.
    pub fn of(
        &mut self,
        connection: &Connection,
        project: Option<&str>,
        newcomers: &[&Embedded],
    ) -> Result<&ProjectIndex> {
        let dimensions = newcomers.first().map_or(0, |new| new.vector.len());
        let key = project.map(str::to_string);
        if !self.open.contains_key(&key) {
            let index = ProjectIndex::load(connection, &self.descriptor, project, dimensions)?;
            self.open.insert(key.clone(), index);
        }
        let index = self.open.get_mut(&key).expect("it was just put there");
        for new in newcomers {
            index.add(new.stored.seq, &new.vector)?;
        }
        Ok(index)
    }
}

impl ProjectIndex {
    fn load(
        connection: &Connection,
        descriptor: &str,
        project: Option<&str>,
        dimensions: usize,
    ) -> Result<Self> {
        let (mut index, mut keys) = (Exact::new(dimensions), HashSet::new());
        stored::each_vector(connection, descriptor, project, 0, |row| {
            if index.add(row.seq, &row.vector).is_ok() {
                keys.insert(row.seq);
            }
        })?;
        Ok(Self { descriptor: descriptor.into(), index, keys })
    }

    fn add(&mut self, key: i64, vector: &[f32]) -> Result<()> {
        if self.keys.insert(key) {
            let useless = |error| Error::input(format!("entry {key}: {error}"));
            self.index.add(key, vector).map_err(useless)?;
        }
        Ok(())
    }

    /// The nearest active entries of each newcomer, itself left out.
    pub fn near(
        &self,
        connection: &Connection,
        newcomers: &[&Embedded],
        settings: &LinkSettings,
        count: usize,
    ) -> Result<Vec<Found>> {
        let queries: Vec<&[f32]> = newcomers.iter().map(|new| new.vector.as_slice()).collect();
        let fresh: HashMap<i64, &Embedded> =
            newcomers.iter().map(|new| (new.stored.seq, *new)).collect();
        let vector = |key: i64| match fresh.get(&key) {
            Some(new) => Some(new.vector.clone()),
            None => stored::vector(connection, &self.descriptor, key).ok().flatten(),
        };
        let floor = settings.scale.candidate_cosine();
        let near = nearest(&self.index, &queries, count + 1, floor, vector);
        let mut entries = HashMap::new();
        newcomers
            .iter()
            .zip(near)
            .map(|(new, near)| found(connection, &mut entries, new.stored.seq, near))
            .collect()
    }
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
