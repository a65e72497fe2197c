//! The exact scan: every vector is compared.
//!
//! Codes are read and turned back into numbers a block at a time; the block then meets all queries
//! in one matrix product, whose inner loop is chosen at run time for the processor. So the cost of
//! reading and decoding is shared by the queries of a batch, and memory holds a block a thread and
//! twelve bytes a vector (its key and its scale), whatever lies in the file. A query that comes
//! alone, as a search does, would not pay for the decoding: it is coded itself, in 12 bits, and
//! meets the codes in whole numbers.

use super::codes::Codes;
use super::quantise::quantise;
use super::{Near, Neighbours, VectorError, by_nearness};
use ndarray::{ArrayView2, Axis};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Vectors of a block: a block of 1,024 dimensions fills half a megabyte, well inside the cache.
const BLOCK: usize = 128;

/// Queries that meet a block at once.
const QUERIES: usize = 256;

/// Vectors below which a second thread costs more than it saves.
const PARALLEL: usize = 4_096;

/// Vectors that are all compared.
pub struct Exact {
    dimensions: usize,
    keys: Vec<i64>,
    scales: Vec<f32>,
    codes: Codes,
}

impl Exact {
    /// An empty index for vectors of this length.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, keys: Vec::new(), scales: Vec::new(), codes: Codes::new(dimensions) }
    }

    /// Length of its vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Keys, in the order in which they were added.
    pub fn keys(&self) -> &[i64] {
        &self.keys
    }

    /// Scales, in the same order.
    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The codes of `range`; an error where the file that holds them is not what it was.
    pub(super) fn codes(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; range.len() * self.dimensions];
        self.codes.read(range, &mut bytes)?;
        Ok(bytes)
    }

    /// The rows from `from` on; those before it lie in the file.
    pub(super) fn after(&self, from: usize) -> Self {
        let from = from.min(self.keys.len());
        let (keys, scales) = (self.keys[from..].to_vec(), self.scales[from..].to_vec());
        Self { dimensions: self.dimensions, keys, scales, codes: self.codes.after(from) }
    }

    /// Adds vectors that are codes already. The lengths must fit.
    pub(super) fn extend(&mut self, keys: &[i64], scales: &[f32], codes: &[u8]) {
        debug_assert!(keys.len() == scales.len() && codes.len() == keys.len() * self.dimensions);
        self.keys.extend_from_slice(keys);
        self.scales.extend_from_slice(scales);
        self.codes.push(codes);
    }

    /// Adds vectors whose codes lie in `file` from `offset` on.
    pub(super) fn extend_filed(
        &mut self,
        keys: &[i64],
        scales: &[f32],
        file: &Arc<File>,
        offset: u64,
    ) -> io::Result<()> {
        self.codes.push_filed(file, keys.len(), offset)?;
        self.keys.extend_from_slice(keys);
        self.scales.extend_from_slice(scales);
        debug_assert_eq!(self.codes.rows(), self.keys.len());
        Ok(())
    }

    fn scan(&self, queries: &[&[f32]], count: usize, floor: f32) -> Vec<Vec<Near>> {
        if let [query] = queries {
            return self
                .in_parallel(1, count, |range| vec![self.scan_one(query, range, count, floor)]);
        }
        let flat: Vec<f32> = queries.concat();
        let Ok(matrix) = ArrayView2::from_shape((queries.len(), self.dimensions), &flat) else {
            return vec![Vec::new(); queries.len()];
        };
        self.in_parallel(queries.len(), count, |range| self.scan_range(matrix, range, count, floor))
    }

    /// The best of all parts of the index, each looked through by `part` on a thread of its own.
    fn in_parallel(
        &self,
        queries: usize,
        count: usize,
        part: impl Fn(Range<usize>) -> Vec<Best> + Sync,
    ) -> Vec<Vec<Near>> {
        let threads = if self.len() < PARALLEL { 1 } else { threads() };
        let share = self.len().div_ceil(threads).next_multiple_of(BLOCK);
        let part = &part;
        let parts: Vec<Vec<Best>> = std::thread::scope(|scope| {
            let ranges = (0..threads).map(|n| n * share..((n + 1) * share).min(self.len()));
            let run = |range| scope.spawn(move || part(range));
            let workers: Vec<_> = ranges.filter(|range| !range.is_empty()).map(run).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        merge(parts, queries, count)
    }

    /// Calls `each` with the codes of every block of `range` that can be read, and its first row.
    /// What cannot be read is found by nobody; the next run builds the file anew.
    fn blocks(&self, range: Range<usize>, mut each: impl FnMut(&[u8], usize)) {
        let mut bytes = vec![0u8; BLOCK * self.dimensions];
        let mut start = range.start;
        while start < range.end {
            let end = (start + BLOCK).min(range.end);
            if let Ok(codes) = self.codes.block(start..end, &mut bytes) {
                each(codes, start);
            }
            start = end;
        }
    }

    fn scan_one(&self, query: &[f32], range: Range<usize>, count: usize, floor: f32) -> Best {
        let (query, step) = coarse(query);
        let mut best = Best::default();
        self.blocks(range, |codes, start| {
            let products =
                codes.chunks_exact(self.dimensions).map(|row| whole_dot(&query, row) as f32 * step);
            self.offer(&mut best, products, start, count, floor);
        });
        best
    }

    fn scan_range(
        &self,
        queries: ArrayView2<'_, f32>,
        range: Range<usize>,
        count: usize,
        floor: f32,
    ) -> Vec<Best> {
        let mut best = vec![Best::default(); queries.len_of(Axis(0))];
        let mut block = vec![0.0f32; BLOCK * self.dimensions];
        self.blocks(range, |codes, start| {
            let values = &mut block[..codes.len()];
            decode(codes, values);
            let rows =
                ArrayView2::from_shape((codes.len() / self.dimensions, self.dimensions), values)
                    .expect("a block has whole rows");
            let products = queries.dot(&rows.t());
            for (best, row) in best.iter_mut().zip(products.rows()) {
                self.offer(best, row.iter().copied(), start, count, floor);
            }
        });
        best
    }

    /// Offers those of the products of one query with the rows from `start` on that are high enough.
    fn offer(
        &self,
        best: &mut Best,
        products: impl Iterator<Item = f32>,
        start: usize,
        count: usize,
        floor: f32,
    ) {
        let rows = self.keys[start..].iter().zip(&self.scales[start..]);
        for (product, (&key, scale)) in products.zip(rows) {
            let cosine = product * scale;
            if cosine >= floor {
                best.offer(Near { key, cosine }, count);
            }
        }
    }
}

/// Codes as numbers, their scale left out.
fn decode(bytes: &[u8], values: &mut [f32]) {
    values.iter_mut().zip(bytes).for_each(|(value, byte)| *value = f32::from(byte.cast_signed()));
}

impl Neighbours for Exact {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn kind(&self) -> &'static str {
        "exact"
    }

    fn add(&mut self, key: i64, vector: &[f32]) -> Result<(), VectorError> {
        let code = quantise(vector, self.dimensions)?;
        self.extend(&[key], &[code.scale], &code.unsigned());
        Ok(())
    }

    fn candidates(&self, queries: &[&[f32]], count: usize, floor: f32) -> Vec<Vec<Near>> {
        let usable = |query: &&[f32]| quantise(query, self.dimensions).is_ok();
        let places: Vec<usize> =
            (0..queries.len()).filter(|place| usable(&queries[*place])).collect();
        let mut found = vec![Vec::new(); queries.len()];
        if self.is_empty() || count == 0 {
            return found;
        }
        for places in places.chunks(QUERIES) {
            let queries: Vec<&[f32]> = places.iter().map(|place| queries[*place]).collect();
            let near = self.scan(&queries, count, floor);
            places.iter().zip(near).for_each(|(place, near)| found[*place] = near);
        }
        found
    }
}

/// A query as whole numbers of at most 12 bits, and the value of one step. The sum of 4,000 products
/// with 8-bit codes stays within 32 bits.
fn coarse(query: &[f32]) -> (Vec<i16>, f32) {
    let largest = query.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let numbers = query.iter().map(|value| (value / largest * 2047.0).round() as i16);
    (numbers.collect(), largest / 2047.0)
}

/// Sum of products with signed codes. Sums of a block side by side, so that the compiler can use
/// vector instructions.
fn whole_dot(query: &[i16], codes: &[u8]) -> i32 {
    let (queries, query_rest) = query.as_chunks::<16>();
    let (blocks, rest) = codes.as_chunks::<16>();
    let mut sums = [0i32; 16];
    for (query, block) in queries.iter().zip(blocks) {
        for lane in 0..16 {
            sums[lane] += i32::from(query[lane]) * i32::from(block[lane].cast_signed());
        }
    }
    let tail = query_rest.iter().zip(rest).map(|(x, y)| i32::from(*x) * i32::from(y.cast_signed()));
    sums.iter().sum::<i32>() + tail.sum::<i32>()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}

/// The nearest vectors seen so far; the farthest of them on top.
#[derive(Clone, Default)]
struct Best(BinaryHeap<Farthest>);

#[derive(Clone, Copy, PartialEq)]
struct Farthest(Near);

impl Eq for Farthest {}

impl Ord for Farthest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        by_nearness(&self.0, &other.0)
    }
}

impl PartialOrd for Farthest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Best {
    fn offer(&mut self, near: Near, count: usize) {
        if self.0.len() < count {
            self.0.push(Farthest(near));
        } else if self.0.peek().is_some_and(|farthest| Farthest(near) < *farthest) {
            self.0.pop();
            self.0.push(Farthest(near));
        }
    }
}

fn merge(parts: Vec<Vec<Best>>, queries: usize, count: usize) -> Vec<Vec<Near>> {
    let mut found: Vec<Vec<Near>> = vec![Vec::new(); queries];
    for part in parts {
        for (found, best) in found.iter_mut().zip(part) {
            found.extend(best.0.into_iter().map(|farthest| farthest.0));
        }
    }
    for found in &mut found {
        found.sort_by(by_nearness);
        found.truncate(count);
    }
    found
}
