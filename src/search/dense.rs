//! Meaning: cosines of the query with every stored vector in scope.

use crate::error::Result;
use crate::store::{self, Item, Scope};
use rusqlite::Connection;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A text and its cosine with the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DenseHit {
    pub item: Item,
    /// Raw cosine, finite.
    pub cosine: f32,
}

impl DenseHit {
    /// The hit of a text whose stored vector is `bytes`; none where that has another length or gives
    /// no number.
    pub fn of(item: Item, query: &[f32], bytes: &[u8]) -> Option<Self> {
        let cosine = (bytes.len() == size_of_val(query)).then(|| dot(query, bytes))?;
        cosine.is_finite().then_some(Self { item, cosine })
    }

    /// By cosine, equal ones newest first.
    pub fn best_first(x: &Self, y: &Self) -> std::cmp::Ordering {
        y.cosine.total_cmp(&x.cosine).then(y.item.rowid().cmp(&x.item.rowid()))
    }
}

/// The `limit` texts in scope nearest to `query`, best first, equal ones newest first. A stored
/// vector of another length, or with a product that is no number, takes no part.
pub(super) fn scan(
    connection: &Connection,
    descriptor: &str,
    query: &[f32],
    scope: &Scope,
    limit: usize,
) -> Result<Vec<DenseHit>> {
    if scope.is_wide()
        && let Some(hits) = scan_all(connection, descriptor, query, scope, limit)?
    {
        return Ok(hits);
    }
    let mut best = Best::new(limit);
    store::for_each_vector(connection, descriptor, scope, |item, bytes| {
        if bytes.len() == size_of_val(query) {
            best.offer(item, dot(query, bytes));
        }
    })?;
    Ok(best.into_sorted())
}

/// Candidates beyond the wanted ones: merged and expired texts are among the nearest.
pub(super) fn with_spare(limit: usize) -> usize {
    limit * 2 + 20
}

/// As [`scan`], by looking at every vector first and at the scope of the nearest alone; `None` where
/// too few of them are in it.
fn scan_all(
    connection: &Connection,
    descriptor: &str,
    query: &[f32],
    scope: &Scope,
    limit: usize,
) -> Result<Option<Vec<DenseHit>>> {
    let mut best = Best::new(with_spare(limit));
    let mut count = 0;
    store::for_every_vector(connection, descriptor, |item, bytes| {
        count += 1;
        if bytes.len() == size_of_val(query) {
            best.offer(item, dot(query, bytes));
        }
    })?;
    let mut hits = Vec::new();
    for hit in best.into_sorted() {
        if hits.len() == limit {
            break;
        }
        if store::vector_in_scope(connection, descriptor, hit.item, scope)?.is_some() {
            hits.push(hit);
        }
    }
    Ok((hits.len() == limit || count <= with_spare(limit)).then_some(hits))
}

/// Dot product with little-endian bytes. Eight sums side by side, so that the compiler can use
/// vector instructions.
fn dot(query: &[f32], bytes: &[u8]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (blocks, rest) = query.as_chunks::<8>();
    let (raw, raw_rest) = bytes.as_chunks::<32>();
    for (block, raw) in blocks.iter().zip(raw) {
        for (lane, (value, four)) in block.iter().zip(raw.as_chunks::<4>().0).enumerate() {
            sums[lane] += value * f32::from_le_bytes(*four);
        }
    }
    let tail = rest.iter().zip(raw_rest.as_chunks::<4>().0);
    sums.iter().sum::<f32>() + tail.map(|(x, four)| x * f32::from_le_bytes(*four)).sum::<f32>()
}

/// The best `limit` hits seen so far.
struct Best {
    limit: usize,
    heap: BinaryHeap<Reverse<Key>>,
}

/// Order of hits: cosine, then the newer text.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    cosine: f32,
    item: Item,
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let newer = self.item.rowid().cmp(&other.item.rowid());
        self.cosine.total_cmp(&other.cosine).then(newer)
    }
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit + 1) }
    }

    fn offer(&mut self, item: Item, cosine: f32) {
        if !cosine.is_finite() {
            return;
        }
        let is_worse = self.heap.len() == self.limit
            && self.heap.peek().is_none_or(|Reverse(worst)| cosine < worst.cosine);
        if is_worse {
            return;
        }
        self.heap.push(Reverse(Key { cosine, item }));
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    fn into_sorted(self) -> Vec<DenseHit> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|Reverse(Key { cosine, item })| DenseHit { item, cosine }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_no_number_is_no_hit() {
        let mut best = Best::new(2);
        let offers = [(1, 0.2), (2, f32::NAN), (3, 0.9), (4, f32::INFINITY), (5, 0.2), (6, 0.1)];
        offers.iter().for_each(|&(seq, cosine)| best.offer(Item::Entry(seq), cosine));
        let found: Vec<Item> = best.into_sorted().iter().map(|hit| hit.item).collect();
        assert_eq!(found, [Item::Entry(3), Item::Entry(5)]);
    }

    #[test]
    fn the_product_is_that_of_the_numbers() {
        let query: Vec<f32> = (0..19u8).map(f32::from).collect();
        let bytes: Vec<u8> = query.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(dot(&query, &bytes), query.iter().map(|value| value * value).sum::<f32>());
    }
}
