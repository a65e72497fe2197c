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
//! used. The owner is the project: a file under another project's name is not used either. A file that
//! breaks off between segments is merely older: the rest is read from the store.
//! `last_row` is the place in the store's order of writing up to which the file is complete. Keys
//! and scales are kept; codes are read for their sum a piece at a time and stay in the file.

use super::{Exact, Neighbours};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
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
    /// A folder, a pipe or a link that leads nowhere.
    #[error("something else is in its place")]
    NoFile,
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
    /// The sum up to each segment, by the rows there are up to its end.
    sums: Vec<(usize, [u8; SUM])>,
    sum: [u8; SUM],
    dimensions: usize,
    /// Place in the store's order of writing up to which it is complete.
    pub last_row: i64,
    /// Rows in the file.
    pub rows: usize,
}

impl Mirror {
    /// A mirror without rows; its file is made by the first [`Mirror::append`].
    pub fn create(path: &Path, owner: &str, dimensions: usize) -> Self {
        let sum = head_sum(owner);
        let (path, sums) = (path.into(), vec![(0, sum)]);
        Self { path, file: None, length: 0, sums, sum, dimensions, last_row: 0, rows: 0 }
    }

    /// The sum over whose the mirror is and its first `rows`, where a segment ends there.
    pub(super) fn sum_at(&self, rows: usize) -> Option<[u8; SUM]> {
        let place = self.sums.binary_search_by_key(&rows, |known| known.0).ok()?;
        Some(self.sums[place].1)
    }

    /// Reads the file at `path`; its rows come back as an index. No file is a mirror without rows.
    pub fn open(path: &Path, owner: &str, dimensions: usize) -> Result<(Self, Exact), FileError> {
        let mut mirror = Self::create(path, owner, dimensions);
        let mut index = Exact::new(dimensions);
        if !is_file(path)? {
            return Ok((mirror, index));
        }
        let file = Arc::new(crate::regular::open(path)?);
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(&*file);
        mirror.read_head(&mut reader, length)?;
        mirror.file = Some(Arc::clone(&file));
        while mirror.length < length {
            mirror.read_segment(&mut reader, length, &mut index)?;
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
        if let Some(file) = &self.file {
            index.extend_filed(&keys, &scales, file, offset)?;
        }
        Ok(())
    }

    /// Notes a segment at the end; where its codes lie.
    fn grown(&mut self, rows: usize, last_row: i64, sum: [u8; SUM]) -> u64 {
        let codes = self.length + SEGMENT_HEAD + rows as u64 * 12;
        self.length = codes + (rows * self.dimensions) as u64;
        (self.sum, self.last_row, self.rows) = (sum, last_row, self.rows + rows);
        self.sums.push((self.rows, sum));
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
        if fresh {
            make_way(&self.path)?;
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

/// Whether there is a file at `path`; an error where something else is.
pub(super) fn is_file(path: &Path) -> Result<bool, FileError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(FileError::NoFile),
        Err(_) if path.is_symlink() => Err(FileError::NoFile),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes way for a file that is derived. What is in a folder in its place may be somebody's: that
/// folder is set aside.
pub(super) fn make_way(path: &Path) -> std::io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !found.is_dir() {
        return std::fs::remove_file(path);
    }
    if std::fs::remove_dir(path).is_ok() {
        return Ok(());
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".aside");
    std::fs::rename(path, aside)
}

/// Rows that the mirror at `path` says it has: the heads of its segments are read, no sum is compared.
pub fn stated_rows(path: &Path) -> Option<usize> {
    const HEAD: u64 = MAGIC.len() as u64 + 4 + SUM as u64;
    let mut file = crate::regular::open(path).ok()?;
    let mut head = [0; MAGIC.len()];
    file.read_exact(&mut head).ok().filter(|()| head == *MAGIC)?;
    let dimensions = u64::from(u32::from_le_bytes(read_array(&mut file).ok()?));
    let (mut at, mut rows) = (HEAD, 0);
    while file.seek(SeekFrom::Start(at)).is_ok() {
        let Ok(more) = read_array(&mut file).map(u32::from_le_bytes) else { break };
        rows += more as usize;
        at += SEGMENT_HEAD + u64::from(more) * (12 + dimensions);
    }
    Some(rows)
}

fn head_sum(owner: &str) -> [u8; SUM] {
    *blake3::hash(owner.as_bytes()).as_bytes()
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
