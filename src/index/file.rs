//! The file that mirrors the vectors of one project as codes.
//!
//! It only grows: each tick appends what was written since the last one as a segment, so that 20
//! new entries cost 20 rows, and a reader need not decode what it already trusts. Layout, all
//! numbers little-endian:
//!
//! ```text
//! head     magic (18 bytes) · dimensions u32 · BLAKE3 of descriptor and owner (32)
//! segment  rows u32 · last_row i64 · sum (32) · keys i64 × rows · scales f32 × rows · codes
//! ```
//!
//! The sum of a segment covers the sum before it, its own numbers and its rows. So a bit that
//! flipped, a segment that is missing or comes from another file is noticed before anything is
//! used. A file that breaks off between segments is merely older: the rest is read from the store.
//! `last_row` is the place in the store's order of writing up to which the file is complete.

use super::{Exact, Neighbours};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 18] = b"lifecycle-index-1\n";
const SUM: usize = 32;

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It was made with another model or by another version.
    #[error("it belongs to another model or version")]
    Foreign,
    /// The store no longer has what it mirrors: an undo, or a restored copy of the store.
    #[error("the store was changed under it, by an undo or a restored copy")]
    Stale,
    /// It breaks off in the middle of a segment, or a sum does not fit.
    #[error("it is damaged")]
    Damaged,
}

/// A mirror that was read, or a new one.
pub struct Mirror {
    path: PathBuf,
    sum: [u8; SUM],
    dimensions: usize,
    /// Place in the store's order of writing up to which it is complete.
    pub last_row: i64,
    /// Rows in the file.
    pub rows: usize,
}

impl Mirror {
    /// A mirror without rows; its file is made by the first [`Mirror::append`].
    pub fn create(path: &Path, descriptor: &str, dimensions: usize) -> Self {
        let sum = head_sum(descriptor);
        Self { path: path.into(), sum, dimensions, last_row: 0, rows: 0 }
    }

    /// Reads the file at `path`; the rows beyond the first `skip` come back as an index. No file
    /// is a mirror without rows.
    pub fn open(
        path: &Path,
        descriptor: &str,
        dimensions: usize,
        skip: usize,
    ) -> Result<(Self, Exact), FileError> {
        let mut mirror = Self::create(path, descriptor, dimensions);
        let mut index = Exact::new(dimensions);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((mirror, index));
            }
            Err(error) => return Err(error.into()),
        };
        let mut left = file.metadata()?.len();
        let mut reader = BufReader::new(file);
        left = mirror.read_head(&mut reader, left)?;
        while left > 0 {
            left = mirror.read_segment(&mut reader, left, skip, &mut index)?;
        }
        Ok((mirror, index))
    }

    fn read_head(&self, reader: &mut impl Read, left: u64) -> Result<u64, FileError> {
        let head = self.head();
        let left = left.checked_sub(head.len() as u64).ok_or(FileError::Damaged)?;
        let mut found = vec![0; head.len()];
        reader.read_exact(&mut found)?;
        if found == head { Ok(left) } else { Err(FileError::Foreign) }
    }

    fn head(&self) -> Vec<u8> {
        let dimensions = u32::try_from(self.dimensions).unwrap_or(u32::MAX);
        [MAGIC.as_slice(), &dimensions.to_le_bytes(), &self.sum].concat()
    }

    fn read_segment(
        &mut self,
        reader: &mut impl Read,
        left: u64,
        skip: usize,
        index: &mut Exact,
    ) -> Result<u64, FileError> {
        const HEAD: u64 = 4 + 8 + SUM as u64;
        let left = left.checked_sub(HEAD).ok_or(FileError::Damaged)?;
        let rows = u32::from_le_bytes(read_array(reader)?) as usize;
        let last_row = i64::from_le_bytes(read_array(reader)?);
        let sum: [u8; SUM] = read_array(reader)?;
        let size = (rows * (8 + 4 + self.dimensions)) as u64;
        let left = left.checked_sub(size).ok_or(FileError::Damaged)?;
        let mut body = vec![0; rows * (8 + 4 + self.dimensions)];
        reader.read_exact(&mut body)?;
        if segment_sum(&self.sum, rows, last_row, &body) != sum {
            return Err(FileError::Damaged);
        }
        self.take(rows, &body, skip, index);
        (self.sum, self.last_row, self.rows) = (sum, last_row, self.rows + rows);
        Ok(left)
    }

    fn take(&self, rows: usize, body: &[u8], skip: usize, index: &mut Exact) {
        let skip = skip.saturating_sub(self.rows).min(rows);
        let (keys, rest) = body.split_at(rows * 8);
        let (scales, codes) = rest.split_at(rows * 4);
        let keys: Vec<i64> = numbers(&keys[skip * 8..], i64::from_le_bytes);
        let scales: Vec<f32> = numbers(&scales[skip * 4..], f32::from_le_bytes);
        let codes: Vec<i8> =
            codes[skip * self.dimensions..].iter().map(|byte| byte.cast_signed()).collect();
        index.extend(&keys, &scales, &codes);
    }

    /// Appends the rows of `fresh` and notes that the mirror is complete up to `last_row`.
    pub fn append(&mut self, fresh: &Exact, last_row: i64) -> Result<(), FileError> {
        let rows = fresh.len();
        let body = body(fresh);
        let sum = segment_sum(&self.sum, rows, last_row, &body);
        let count = u32::try_from(rows).unwrap_or(u32::MAX);
        let mut bytes = if self.rows == 0 && self.last_row == 0 { self.head() } else { Vec::new() };
        bytes.extend(count.to_le_bytes());
        bytes.extend(last_row.to_le_bytes());
        bytes.extend(sum);
        bytes.extend(body);
        let fresh_file = self.rows == 0 && self.last_row == 0;
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(fresh_file).append(!fresh_file);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        crate::fault::effect("index", &[&self.path])?;
        options.open(&self.path)?.write_all(&bytes)?;
        crate::fault::point("indexed");
        (self.sum, self.last_row, self.rows) = (sum, last_row, self.rows + rows);
        Ok(())
    }
}

fn body(index: &Exact) -> Vec<u8> {
    let (keys, scales, codes) = index.parts();
    let mut body = Vec::with_capacity(keys.len() * 12 + codes.len());
    keys.iter().for_each(|key| body.extend(key.to_le_bytes()));
    scales.iter().for_each(|scale| body.extend(scale.to_le_bytes()));
    body.extend(codes.iter().map(|code| code.cast_unsigned()));
    body
}

fn head_sum(descriptor: &str) -> [u8; SUM] {
    *blake3::hash(descriptor.as_bytes()).as_bytes()
}

fn segment_sum(before: &[u8; SUM], rows: usize, last_row: i64, body: &[u8]) -> [u8; SUM] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&(rows as u64).to_le_bytes()).update(&last_row.to_le_bytes());
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

fn read_array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], FileError> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .chunks_exact(N)
        .map(|chunk| number(chunk.try_into().expect("chunks have N bytes")))
        .collect()
}

/// Whether the codes of some rows still are those of the stored vectors: a mirror of another store
/// has other ones. `stored` gives the vector of a key.
pub fn agrees(index: &Exact, mut stored: impl FnMut(i64) -> Option<Vec<f32>>) -> bool {
    const PROBES: usize = 8;
    let (keys, _, codes) = index.parts();
    let step = (keys.len() / PROBES).max(1);
    let last = keys.len().checked_sub(1);
    let mut probes = (0..keys.len()).step_by(step).chain(last);
    let mut differs = |place: usize| {
        let code = &codes[place * index.dimensions()..(place + 1) * index.dimensions()];
        // An entry that was deleted since is no sign of another store.
        stored(keys[place]).is_some_and(|vector| {
            super::quantise(&vector, index.dimensions()).map_or(true, |found| found.bytes != code)
        })
    };
    !probes.any(&mut differs)
}
