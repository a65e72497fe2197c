//! The file that mirrors the vectors of one project as codes.
//!
//! It only grows: each tick appends what was written since the last one as a segment, so that 20
//! new entries cost 20 rows. Layout, all numbers little-endian:
//!
//! ```text
//! head     magic (18 bytes) · dimensions u32 · BLAKE3 of descriptor and owner (32)
//! segment  rows u32 · last_row i64 · sum (32) · keys i64 × rows · scales f32 × rows · codes
//! ```
//!
//! The sum of a segment covers the sum before it, its own numbers and its rows. So a bit that
//! flipped, a segment that is missing or comes from another file is noticed before anything is
//! used. A file that breaks off between segments is merely older: the rest is read from the store.
//! `last_row` is the place in the store's order of writing up to which the file is complete. Keys
//! and scales are kept; codes are read for their sum a piece at a time and stay in the file.

use super::{Exact, Neighbours};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 18] = b"lifecycle-index-1\n";
const SUM: usize = 32;
/// Numbers before the rows of a segment.
const SEGMENT_HEAD: u64 = 4 + 8 + SUM as u64;
/// Rows of a segment at most.
pub(super) const SEGMENT: usize = 4_096;
/// Bytes of codes that are read at a time for their sum.
const PIECE: usize = 1 << 20;

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
    /// The file, once there is one.
    file: Option<Arc<File>>,
    /// Its length.
    length: u64,
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
        Self { path: path.into(), file: None, length: 0, sum, dimensions, last_row: 0, rows: 0 }
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
        let file = match crate::regular::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((mirror, index));
            }
            Err(error) => return Err(error.into()),
        };
        let file = Arc::new(file);
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(&*file);
        mirror.read_head(&mut reader, length)?;
        mirror.file = Some(Arc::clone(&file));
        while mirror.length < length {
            mirror.read_segment(&mut reader, length, skip, &mut index)?;
        }
        Ok((mirror, index))
    }

    fn read_head(&mut self, reader: &mut impl Read, length: u64) -> Result<(), FileError> {
        let head = self.head();
        self.length = head.len() as u64;
        if length < self.length {
            return Err(FileError::Damaged);
        }
        let mut found = vec![0; head.len()];
        reader.read_exact(&mut found)?;
        if found == head { Ok(()) } else { Err(FileError::Foreign) }
    }

    fn head(&self) -> Vec<u8> {
        let dimensions = u32::try_from(self.dimensions).unwrap_or(u32::MAX);
        [MAGIC.as_slice(), &dimensions.to_le_bytes(), &self.sum].concat()
    }

    fn read_segment(
        &mut self,
        reader: &mut impl Read,
        length: u64,
        skip: usize,
        index: &mut Exact,
    ) -> Result<(), FileError> {
        let left = (length - self.length).checked_sub(SEGMENT_HEAD).ok_or(FileError::Damaged)?;
        let rows = u32::from_le_bytes(read_array(reader)?) as usize;
        let last_row = i64::from_le_bytes(read_array(reader)?);
        let stated: [u8; SUM] = read_array(reader)?;
        if (rows as u64).saturating_mul(12 + self.dimensions as u64) > left {
            return Err(FileError::Damaged);
        }
        let mut sum = segment_sum(&self.sum, rows, last_row);
        let keys = read_summed(reader, &mut sum, rows * 8)?;
        let scales = read_summed(reader, &mut sum, rows * 4)?;
        let mut piece = vec![0; PIECE.min(rows * self.dimensions)];
        let mut unread = rows * self.dimensions;
        while unread > 0 {
            let size = piece.len().min(unread);
            reader.read_exact(&mut piece[..size])?;
            sum.update(&piece[..size]);
            unread -= size;
        }
        let sum = *sum.finalize().as_bytes();
        if sum != stated {
            return Err(FileError::Damaged);
        }
        let keys: Vec<i64> = numbers(&keys, i64::from_le_bytes);
        let scales: Vec<f32> = numbers(&scales, f32::from_le_bytes);
        let offset = self.grown(rows, last_row, sum);
        let skip = skip.saturating_sub(self.rows - rows).min(rows);
        if let Some(file) = &self.file {
            let offset = offset + (skip * self.dimensions) as u64;
            index.extend_filed(&keys[skip..], &scales[skip..], file, offset)?;
        }
        Ok(())
    }

    /// Notes a segment at the end; where its codes lie.
    fn grown(&mut self, rows: usize, last_row: i64, sum: [u8; SUM]) -> u64 {
        let codes = self.length + SEGMENT_HEAD + rows as u64 * 12;
        self.length = codes + (rows * self.dimensions) as u64;
        (self.sum, self.last_row, self.rows) = (sum, last_row, self.rows + rows);
        codes
    }

    /// Appends the rows of `fresh`, notes that the mirror is complete up to `last_row`, and gives
    /// `index` the rows as they lie in the file now.
    pub fn append(
        &mut self,
        fresh: &Exact,
        last_row: i64,
        index: &mut Exact,
    ) -> Result<(), FileError> {
        for start in (0..fresh.len()).step_by(SEGMENT) {
            let range = start..(start + SEGMENT).min(fresh.len());
            // Only the last segment makes the mirror complete.
            let row = if range.end == fresh.len() { last_row } else { self.last_row };
            self.append_segment(fresh, range, row, index)?;
        }
        Ok(())
    }

    fn append_segment(
        &mut self,
        fresh: &Exact,
        range: std::ops::Range<usize>,
        last_row: i64,
        index: &mut Exact,
    ) -> Result<(), FileError> {
        let (keys, scales) = (&fresh.keys()[range.clone()], &fresh.scales()[range.clone()]);
        let body = body(keys, scales, &fresh.codes(range)?);
        let rows = keys.len();
        let mut sum = segment_sum(&self.sum, rows, last_row);
        sum.update(&body);
        let sum = *sum.finalize().as_bytes();
        crate::fault::effect("index", &[&self.path])?;
        let file = self.writable()?;
        let count = u32::try_from(rows).unwrap_or(u32::MAX);
        let bytes = [count.to_le_bytes().as_slice(), &last_row.to_le_bytes(), &sum, &body].concat();
        (&*file).write_all(&bytes)?;
        crate::fault::point("indexed");
        let offset = self.grown(rows, last_row, sum);
        index.extend_filed(keys, scales, &file, offset)?;
        Ok(())
    }

    /// The file, open for appending. A new one takes the place of an old one, whose readers keep
    /// what they have.
    fn writable(&mut self) -> Result<Arc<File>, FileError> {
        let fresh = self.length == 0;
        if fresh && self.path.exists() {
            std::fs::remove_file(&self.path)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = Arc::new(options.open(&self.path)?);
        if fresh {
            let head = self.head();
            (&*file).write_all(&head)?;
            self.length = head.len() as u64;
        }
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }
}

fn body(keys: &[i64], scales: &[f32], codes: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(keys.len() * 12 + codes.len());
    keys.iter().for_each(|key| body.extend(key.to_le_bytes()));
    scales.iter().for_each(|scale| body.extend(scale.to_le_bytes()));
    body.extend(codes);
    body
}

fn head_sum(descriptor: &str) -> [u8; SUM] {
    *blake3::hash(descriptor.as_bytes()).as_bytes()
}

/// The sum of a segment before its rows.
fn segment_sum(before: &[u8; SUM], rows: usize, last_row: i64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&(rows as u64).to_le_bytes()).update(&last_row.to_le_bytes());
    hasher
}

fn read_summed(
    reader: &mut impl Read,
    sum: &mut blake3::Hasher,
    size: usize,
) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    reader.read_exact(&mut bytes)?;
    sum.update(&bytes);
    Ok(bytes)
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
    let keys = index.keys();
    let step = (keys.len() / PROBES).max(1);
    let last = keys.len().checked_sub(1);
    let mut probes = (0..keys.len()).step_by(step).chain(last);
    let mut differs = |place: usize| {
        // An entry that was deleted since is no sign of another store.
        stored(keys[place]).is_some_and(|vector| {
            let code = super::quantise(&vector, index.dimensions()).map(|code| code.unsigned());
            code.ok() != index.codes(place..place + 1).ok()
        })
    };
    !probes.any(&mut differs)
}
