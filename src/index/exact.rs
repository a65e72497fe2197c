//! The exact scan: every vector is compared.
//!
//! Codes are turned back into numbers a block at a time; the block then meets all queries in one
//! matrix product, whose inner loop is chosen at run time for the processor. So the cost of
//! decoding and of memory is shared by the queries of a batch, and only codes stay in memory:
//! one byte a number. A query that comes alone, as a search does, would not pay for the decoding:
//! it is coded itself, in 12 bits, and meets the codes in whole numbers.

use super::quantise::quantise;
use super::{Near, Neighbours, VectorError, by_nearness};
use ndarray::{ArrayView2, Axis};
use std::collections::BinaryHeap;
use std::ops::Range;

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
    codes: Vec<i8>,
}

impl Exact {
    /// An empty index for vectors of this length.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, keys: Vec::new(), scales: Vec::new(), codes: Vec::new() }
    }

    /// Length of its vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Keys, scales and codes, in the order in which they were added.
    pub fn parts(&self) -> (&[i64], &[f32], &[i8]) {
        (&self.keys, &self.scales, &self.codes)
    }

    /// Adds vectors that are codes already. The lengths must fit.
    pub fn extend(&mut self, keys: &[i64], scales: &[f32], codes: &[i8]) {
        debug_assert!(keys.len() == scales.len() && codes.len() == keys.len() * self.dimensions);
        self.keys.extend_from_slice(keys);
        self.scales.extend_from_slice(scales);
        self.codes.extend_from_slice(codes);
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

    fn scan_one(&self, query: &[f32], range: Range<usize>, count: usize, floor: f32) -> Best {
        let (query, step) = coarse(query);
        let mut best = Best::default();
        let codes = self.codes[range.start * self.dimensions..range.end * self.dimensions]
            .chunks_exact(self.dimensions);
        for ((key, scale), codes) in
            self.keys[range.clone()].iter().zip(&self.scales[range]).zip(codes)
        {
            let cosine = whole_dot(&query, codes) as f32 * step * scale;
            if cosine >= floor {
                best.offer(Near { key: *key, cosine }, count);
            }
        }
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
        let mut start = range.start;
        while start < range.end {
            let end = (start + BLOCK).min(range.end);
            let values = &mut block[..(end - start) * self.dimensions];
            self.decode(start..end, values);
            let rows = ArrayView2::from_shape((end - start, self.dimensions), &*values)
                .expect("a block has whole rows");
            let products = queries.dot(&rows.t());
            for (best, row) in best.iter_mut().zip(products.rows()) {
                for (place, &cosine) in row.iter().enumerate() {
                    if cosine >= floor {
                        best.offer(Near { key: self.keys[start + place], cosine }, count);
                    }
                }
            }
            start = end;
        }
        best
    }

    fn decode(&self, range: Range<usize>, values: &mut [f32]) {
        let codes = &self.codes[range.start * self.dimensions..range.end * self.dimensions];
        let rows = values.chunks_exact_mut(self.dimensions);
        for ((row, codes), scale) in
            rows.zip(codes.chunks_exact(self.dimensions)).zip(&self.scales[range])
        {
            row.iter_mut().zip(codes).for_each(|(value, code)| *value = f32::from(*code) * scale);
        }
    }
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
        self.extend(&[key], &[code.scale], &code.bytes);
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

/// Sum of products. Sums of a block side by side, so that the compiler can use vector instructions.
fn whole_dot(query: &[i16], codes: &[i8]) -> i32 {
    let (queries, query_rest) = query.as_chunks::<16>();
    let (blocks, rest) = codes.as_chunks::<16>();
    let mut sums = [0i32; 16];
    for (query, block) in queries.iter().zip(blocks) {
        for lane in 0..16 {
            sums[lane] += i32::from(query[lane]) * i32::from(i16::from(block[lane]));
        }
    }
    let tail = query_rest.iter().zip(rest).map(|(x, y)| i32::from(*x) * i32::from(*y));
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
