//! The index of one project, opened from its files.

use super::file::{FileError, Mirror};
use super::{EXACT_LIMIT, Exact, Hnsw, Neighbours};
use std::path::{Path, PathBuf};

/// The vectors of one project under one descriptor.
pub struct ProjectIndex {
    descriptor: String,
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
        let name = file_name(descriptor, project);
        let path = folder.join(format!("{name}.index"));
        let graph_path = folder.join(format!("{name}.hnsw"));
        let mut opened = Self {
            descriptor: descriptor.into(),
            dimensions,
            mirror: Mirror::create(&path, descriptor, dimensions),
            index: Kind::Exact(Exact::new(dimensions)),
            damage: None,
            graph_path,
            limit: EXACT_LIMIT,
        };
        match opened.read(&path, is_current) {
            Ok(()) => {}
            Err(error) => opened.damage = Some(error.to_string()),
        }
        opened
    }

    fn read(
        &mut self,
        path: &Path,
        is_current: impl FnOnce(&Exact, i64) -> bool,
    ) -> Result<(), FileError> {
        let graph = self.load_graph();
        let covered = graph.as_ref().map_or(0, Hnsw::covered);
        let (mirror, rows) = Mirror::open(path, &self.descriptor, self.dimensions, covered)?;
        if mirror.rows < covered || !(mirror.rows == 0 || is_current(&rows, mirror.last_row)) {
            return Err(FileError::Stale);
        }
        self.index = match graph {
            Some(mut graph) => {
                *graph.tail() = rows;
                Kind::Hnsw(Box::new(graph))
            }
            None => Kind::Exact(rows),
        };
        self.mirror = mirror;
        Ok(())
    }

    /// A graph that cannot be used is built again from the mirror.
    fn load_graph(&mut self) -> Option<Hnsw> {
        if !self.graph_path.exists() {
            return None;
        }
        let loaded = Hnsw::load(&self.graph_path, &self.descriptor, self.dimensions);
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
            let _ = std::fs::remove_file(&self.graph_path);
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

    /// The same with another number up to which every vector is compared, vectors times dimensions.
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
        if graph.is_behind() {
            let saved = graph.absorb().and_then(|()| match keep {
                true => graph.save(&self.graph_path, &self.descriptor),
                false => Ok(()),
            });
            if let Err(error) = saved {
                self.damage = Some(error.to_string());
            }
        }
    }
}

/// Names the files of a project: hashes, since a project is a path and a descriptor any text.
fn file_name(descriptor: &str, project: Option<&str>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(descriptor.as_bytes()).update(b"\0");
    hasher.update(project.map_or("", |project| project).as_bytes());
    hasher.finalize().to_hex()[..24].to_string()
}
