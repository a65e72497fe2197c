//! A graph that is walked, for projects too large to scan.
//!
//! The graph (usearch's HNSW over codes) covers the first rows of the project's mirror; rows that
//! came later are scanned, until they are many enough to be added ([`Hnsw::is_behind`]). A graph
//! that is only searched is mapped from its file and takes no memory of its own; it is read into
//! memory to be added to. Building is single-threaded, so that the same rows give the same graph.
//! The library reads its own files
//! without checking them, and a flipped bit there ends the process: the sum beside the file is
//! compared before every load. It covers the rows of the mirror that the graph stands for, too, so that
//! a graph never meets rows of another project, model or store.

use super::exact::Exact;
use super::file::{FileError, Mirror, is_file, make_way};
use super::quantise::quantise;
use super::{Near, Neighbours, VectorError, by_nearness};
use std::fmt::Display;
use std::io::Error;
use std::path::{Path, PathBuf};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

/// Links of a node.
const CONNECTIVITY: usize = 16;
/// Nodes looked at while adding one.
const EXPANSION_ADD: usize = 128;
/// Nodes looked at by a search.
const EXPANSION_SEARCH: usize = 256;
/// Rows that are read at a time while adding.
const BLOCK: usize = 1_024;
/// Rows beyond the graph that are scanned rather than added, at least.
const TAIL: usize = 8_192;

/// A graph over the first rows, a scan over the rest.
pub struct Hnsw {
    graph: Index,
    tail: Exact,
    /// Where the graph is mapped from.
    mapped: Option<PathBuf>,
}

fn failed(error: impl Display) -> FileError {
    FileError::Io(Error::other(error.to_string()))
}

impl Hnsw {
    /// A graph without rows.
    pub fn new(dimensions: usize) -> Result<Self, FileError> {
        Ok(Self { graph: empty(dimensions)?, tail: Exact::new(dimensions), mapped: None })
    }

    /// Rows that the graph itself covers.
    pub fn covered(&self) -> usize {
        self.graph.size()
    }

    /// The rows beside the graph, which are scanned.
    pub(super) fn tail(&mut self) -> &mut Exact {
        &mut self.tail
    }

    /// Whether so many rows lie beside the graph that adding them pays; `limit` is the number of rows up to which all are scanned.
    pub fn is_behind(&self, limit: usize) -> bool {
        self.tail.len() > TAIL.min(limit / 8).max(self.covered() / 8)
    }

    /// Adds the rows beside the graph to it.
    pub fn absorb(&mut self) -> Result<(), FileError> {
        if let Some(path) = self.mapped.take() {
            self.graph = empty(self.tail.dimensions())?;
            self.graph.load(utf8(&path)?).map_err(failed)?;
        }
        self.graph.reserve_capacity_and_threads(self.len(), 1).map_err(failed)?;
        let (keys, dimensions) = (self.tail.keys(), self.tail.dimensions());
        for start in (0..keys.len()).step_by(BLOCK) {
            let end = (start + BLOCK).min(keys.len());
            let codes = self.tail.codes(start..end)?;
            for (key, code) in keys[start..end].iter().zip(codes.chunks_exact(dimensions)) {
                let code: Vec<i8> = code.iter().map(|byte| byte.cast_signed()).collect();
                self.graph.add(key.cast_unsigned(), &code).map_err(failed)?;
            }
        }
        self.tail = Exact::new(dimensions);
        Ok(())
    }

    /// Writes the graph and its sum. It covers all rows of `mirror`.
    pub fn save(&self, path: &Path, mirror: &Mirror) -> Result<(), FileError> {
        let fresh = path.with_extension("hnsw.new");
        make_way(&fresh)?;
        self.graph.save(utf8(&fresh)?).map_err(failed)?;
        #[cfg(unix)]
        std::fs::set_permissions(&fresh, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let stated = format!("{} {}", self.covered(), sum(&fresh, mirror, self.covered())?);
        make_way(&sum_path(path))?;
        // Between the two the sum does not fit, and the graph is built anew.
        let file =
            crate::durable::private().create(true).truncate(true).write(true).open(sum_path(path));
        std::io::Write::write_all(&mut file?, stated.as_bytes())?;
        make_way(path)?;
        std::fs::rename(&fresh, path)?;
        Ok(())
    }

    /// The graph at `path` over the first of the `rows` of `mirror`, where its sum fits.
    pub fn load(path: &Path, mirror: &Mirror, rows: &Exact) -> Result<Self, FileError> {
        if !(is_file(path)? && is_file(&sum_path(path))?) {
            return Err(FileError::Damaged);
        }
        let stated = std::fs::read(sum_path(path))?;
        let stated = String::from_utf8_lossy(&stated);
        let (covered, stated) = stated.split_once(' ').ok_or(FileError::Damaged)?;
        let covered: usize = covered.parse().map_err(|_| FileError::Damaged)?;
        if stated != sum(path, mirror, covered)? {
            return Err(FileError::Damaged);
        }
        let mut index = Self::new(rows.dimensions())?;
        index.graph.view(utf8(path)?).map_err(failed)?;
        if index.graph.dimensions() != rows.dimensions() || index.covered() != covered {
            return Err(FileError::Foreign);
        }
        index.graph.change_expansion_search(EXPANSION_SEARCH);
        index.mapped = Some(path.into());
        index.tail = rows.after(covered);
        Ok(index)
    }

    fn walk(&self, query: &[f32], count: usize, floor: f32) -> Vec<Near> {
        let Ok(code) = quantise(query, self.tail.dimensions()) else { return Vec::new() };
        // A failed search finds nothing; what cannot be searched was refused when it was added.
        let Ok(found) = self.graph.search(&code.bytes, count) else { return Vec::new() };
        found
            .keys
            .iter()
            .zip(&found.distances)
            .map(|(key, distance)| Near { key: key.cast_signed(), cosine: 1.0 - distance })
            .filter(|near| near.cosine >= floor)
            .collect()
    }
}

impl Neighbours for Hnsw {
    fn len(&self) -> usize {
        self.covered() + self.tail.len()
    }

    fn kind(&self) -> &'static str {
        "hnsw"
    }

    fn add(&mut self, key: i64, vector: &[f32]) -> Result<(), VectorError> {
        self.tail.add(key, vector)
    }

    fn candidates(&self, queries: &[&[f32]], count: usize, floor: f32) -> Vec<Vec<Near>> {
        let beside = self.tail.candidates(queries, count, floor);
        let merged = queries.iter().zip(beside).map(|(query, mut near)| {
            near.extend(self.walk(query, count, floor));
            near.sort_by(by_nearness);
            near.truncate(count);
            near
        });
        merged.collect()
    }
}

fn empty(dimensions: usize) -> Result<Index, FileError> {
    let options = IndexOptions {
        dimensions,
        metric: MetricKind::Cos,
        quantization: ScalarKind::I8,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: true,
    };
    Index::new(&options).map_err(failed)
}

fn utf8(path: &Path) -> Result<&str, FileError> {
    path.to_str().ok_or_else(|| failed("the path of the index is not Unicode"))
}

fn sum_path(path: &Path) -> PathBuf {
    path.with_extension("hnsw.sum")
}

/// The sum over the first `covered` rows of the mirror and the file of the graph.
fn sum(path: &Path, mirror: &Mirror, covered: usize) -> Result<String, FileError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&mirror.sum_at(covered).ok_or(FileError::Stale)?);
    hasher.update_reader(crate::regular::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
