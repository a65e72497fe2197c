//! Codes in the order of their rows: the first ones in the project's file, the rest in memory.
//!
//! What lies in the file is read where it is needed, a block at a time, and left to the system's
//! cache: a project of a million vectors then takes as much memory as one of a thousand, and a file
//! that is cut under a reader is an error and no crash.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The codes of some rows.
#[derive(Default)]
pub(super) struct Codes {
    dimensions: usize,
    file: Option<Arc<File>>,
    /// First row and place in the file of each run of rows; sorted.
    runs: Vec<(usize, u64)>,
    /// Rows that lie in the file.
    filed: usize,
    memory: Vec<u8>,
}

impl Codes {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, ..Self::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.filed + self.memory.len().checked_div(self.dimensions).unwrap_or(0)
    }

    /// Adds rows in memory.
    pub(super) fn push(&mut self, codes: &[u8]) {
        self.memory.extend_from_slice(codes);
    }

    /// Adds rows that lie in `file` from `offset` on. Where rows in memory came before, these are
    /// read into memory too, so that the order stays.
    pub(super) fn push_filed(
        &mut self,
        file: &Arc<File>,
        rows: usize,
        offset: u64,
    ) -> io::Result<()> {
        if self.memory.is_empty() {
            self.file.get_or_insert_with(|| Arc::clone(file));
            self.runs.push((self.filed, offset));
            self.filed += rows;
            return Ok(());
        }
        let start = self.memory.len();
        self.memory.resize(start + rows * self.dimensions, 0);
        read_at(file, &mut self.memory[start..], offset)
    }

    /// The codes from row `from` on; those before it lie in the file.
    pub(super) fn after(&self, from: usize) -> Self {
        let mut runs = Vec::new();
        for (place, &(start, offset)) in self.runs.iter().enumerate() {
            let end = self.runs.get(place + 1).map_or(self.filed, |run| run.0);
            if end > from {
                let skipped = from.saturating_sub(start);
                let offset = offset + (skipped * self.dimensions) as u64;
                runs.push((start + skipped - from, offset));
            }
        }
        let (dimensions, file) = (self.dimensions, self.file.clone());
        let filed = self.filed.saturating_sub(from);
        Self { dimensions, file, runs, filed, memory: self.memory.clone() }
    }

    /// The codes of `range`: where they lie if all of them are in memory, else read into `buffer`,
    /// which has room for them.
    pub(super) fn block<'a>(
        &'a self,
        range: Range<usize>,
        buffer: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        if range.start >= self.filed {
            let places = (range.start - self.filed)..(range.end - self.filed);
            return Ok(&self.memory[places.start * self.dimensions..places.end * self.dimensions]);
        }
        let bytes = &mut buffer[..range.len() * self.dimensions];
        self.read(range, bytes)?;
        Ok(bytes)
    }

    /// Reads the codes of `range` into `bytes`, which has the length for it.
    pub(super) fn read(&self, range: Range<usize>, bytes: &mut [u8]) -> io::Result<()> {
        let mut row = range.start;
        let mut left = bytes;
        while row < range.end.min(self.filed) {
            let place = self.runs.partition_point(|run| run.0 <= row) - 1;
            let end = self.runs.get(place + 1).map_or(self.filed, |run| run.0).min(range.end);
            let (part, rest) = left.split_at_mut((end - row) * self.dimensions);
            let (start, offset) = self.runs[place];
            let file = self.file.as_deref().ok_or(io::ErrorKind::NotFound)?;
            read_at(file, part, offset + ((row - start) * self.dimensions) as u64)?;
            (left, row) = (rest, end);
        }
        let start = (row - self.filed.min(row)) * self.dimensions;
        left.copy_from_slice(&self.memory[start..start + left.len()]);
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
