//! The index of one project, opened from its files.

use super::file::{FileError, Mirror, make_way};
use super::{EXACT_LIMIT, Exact, Hnsw, Neighbours};
use std::path::{Path, PathBuf};

/// The vectors of one project under one descriptor.
pub struct ProjectIndex {
    dimensions: usize,
    graph_path: PathBuf,
    mirror: Mirror,
    index: Kind,
    damage: Option<String>,
    /// Numbers up to which every vector is compared.
    limit: usize,
}

enum Kind {
    Exact(Exact),
    Hnsw(Box<Hnsw>),
}

impl ProjectIndex {
    /// Opens the files of `project` in `folder`. `is_current` is given the rows that were read and
    /// the place of the last one, and says whether the store still has them; what is damaged or
    /// not current is left out, and [`Self::damage`] says so. Never fails: at worst it is empty.
    pub fn open(
        folder: &Path,
        descriptor: &str,
        project: Option<&str>,
        dimensions: usize,
        is_current: impl FnOnce(&Exact, i64) -> bool,
    ) -> Self {
        let owner = format!("{descriptor}\0{}", project.unwrap_or_default());
        let name = file_name(&owner);
        let path = folder.join(format!("{name}.index"));
        let mut opened = Self {
            dimensions,
            mirror: Mirror::create(&path, &owner, dimensions),
            index: Kind::Exact(Exact::new(dimensions)),
            damage: None,
            graph_path: folder.join(format!("{name}.hnsw")),
            limit: EXACT_LIMIT,
        };
        if let Err(error) = opened.read(&path, &owner, is_current) {
            opened.damage = Some(error.to_string());
        }
        opened
    }

    fn read(
        &mut self,
        path: &Path,
        owner: &str,
        is_current: impl FnOnce(&Exact, i64) -> bool,
    ) -> Result<(), FileError> {
        let (mirror, rows) = Mirror::open(path, owner, self.dimensions)?;
        if mirror.rows > 0 && !is_current(&rows, mirror.last_row) {
            return Err(FileError::Stale);
        }
        self.mirror = mirror;
        self.index = match self.load_graph(&rows) {
            Some(graph) => Kind::Hnsw(Box::new(graph)),
            None => Kind::Exact(rows),
        };
        Ok(())
    }

    /// A graph that cannot be used is built again from the mirror.
    fn load_graph(&mut self, rows: &Exact) -> Option<Hnsw> {
        self.graph_path.symlink_metadata().ok()?;
        let loaded = Hnsw::load(&self.graph_path, &self.mirror, rows);
        loaded.map_err(|error| self.damage = Some(error.to_string())).ok()
    }

    /// What was wrong with the files, if anything was; they are written anew by the next
    /// [`Self::refresh`] that keeps.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Place in the store's order of writing up to which the index is complete.
    pub fn last_row(&self) -> i64 {
        self.mirror.last_row
    }

    /// Takes in rows that the store wrote since, the last of them at `last_row`. With `keep` the
    /// files follow; a file that cannot be written costs time in the next run and nothing else.
    pub fn refresh(&mut self, fresh: &Exact, last_row: i64, keep: bool) {
        if keep && self.mirror.rows == 0 {
            // A graph over rows of a mirror that is gone must not meet the new one.
            let _ = make_way(&self.graph_path);
        }
        if !fresh.is_empty() {
            let index = match &mut self.index {
                Kind::Exact(index) => index,
                Kind::Hnsw(graph) => graph.tail(),
            };
            let before = index.len();
            if keep && self.mirror.append(fresh, last_row, index).is_err() {
                self.damage = Some("its file cannot be written".into());
            }
            let done = index.len() - before;
            if let Ok(codes) = fresh.codes(done..fresh.len()) {
                index.extend(&fresh.keys()[done..], &fresh.scales()[done..], &codes);
            }
        }
        self.switch(keep);
    }

    /// The same with another number up to which every vector is compared: vectors times dimensions.
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Adds a vector that the store does not have yet; the files get it with the next refresh.
    pub fn add(&mut self, key: i64, vector: &[f32]) -> Result<(), super::VectorError> {
        match &mut self.index {
            Kind::Exact(index) => index.add(key, vector),
            Kind::Hnsw(index) => index.add(key, vector),
        }
    }

    /// The neighbours, by whichever index serves.
    pub fn neighbours(&self) -> &dyn Neighbours {
        match &self.index {
            Kind::Exact(index) => index,
            Kind::Hnsw(index) => &**index,
        }
    }

    /// Builds the graph once the project is large, and lets it catch up once it lies behind.
    fn switch(&mut self, keep: bool) {
        if let Kind::Exact(rows) = &mut self.index
            && rows.len().saturating_mul(self.dimensions) > self.limit
            && let Ok(mut graph) = Hnsw::new(self.dimensions)
        {
            *graph.tail() = std::mem::replace(rows, Exact::new(self.dimensions));
            self.index = Kind::Hnsw(Box::new(graph));
        }
        let Kind::Hnsw(graph) = &mut self.index else { return };
        if graph.is_behind(self.limit / self.dimensions.max(1)) {
            let saved = graph.absorb().and_then(|()| {
                // Rows that the mirror could not take would be missed by the next run.
                let keep = keep && self.mirror.rows == graph.covered();
                if keep { graph.save(&self.graph_path, &self.mirror) } else { Ok(()) }
            });
            if let Err(error) = saved {
                self.damage = Some(error.to_string());
            }
        }
    }
}

/// Names the files of a project: a hash, since a project is a path and a descriptor any text.
fn file_name(owner: &str) -> String {
    blake3::hash(owner.as_bytes()).to_hex()[..24].to_string()
}
