//! Vectors kept in memory between searches, for a process that answers many.
//!
//! They are 8-bit codes ([`crate::index`]), a quarter of the stored size; the cosines that count are
//! computed from the stored vectors. The copy knows the state of the tables it was made from and
//! is made anew when they changed, so a search never misses what was stored before it.

use super::dense::{DenseHit, with_spare};
use crate::error::Result;
use crate::index::{Exact, Neighbours};
use crate::store::{self, Item, Scope};
use rusqlite::Connection;

/// All vectors of one descriptor.
pub struct WarmVectors {
    descriptor: String,
    stamp: String,
    index: Exact,
}

impl WarmVectors {
    /// Reads the vectors of `descriptor`.
    pub fn load(connection: &Connection, descriptor: &str, dimensions: usize) -> Result<Self> {
        let stamp = store::vector_stamp(connection)?;
        let mut index = Exact::new(dimensions);
        store::for_every_vector(connection, descriptor, |item, bytes| {
            // A useless vector takes no part, as in the scan of the store.
            let _ = index.add(item.rowid(), &numbers(bytes));
        })?;
        Ok(Self { descriptor: descriptor.to_string(), stamp, index })
    }

    /// Whether nothing is embedded.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether it still is what the store holds.
    pub fn is_current(&self, connection: &Connection, descriptor: &str) -> Result<bool> {
        Ok(self.descriptor == descriptor && self.stamp == store::vector_stamp(connection)?)
    }

    /// The `limit` texts in scope nearest to `query`; `None` where too few of the nearest are in
    /// scope, so that the store itself has to be scanned.
    pub(super) fn scan(
        &self,
        connection: &Connection,
        query: &[f32],
        scope: &Scope,
        limit: usize,
    ) -> Result<Option<Vec<DenseHit>>> {
        let near =
            self.index.candidates(&[query], with_spare(limit), -1.0).pop().unwrap_or_default();
        let is_everything = near.len() == self.index.len();
        let mut hits: Vec<DenseHit> = Vec::new();
        let mut looked_at = 0;
        for candidate in &near {
            // A code can be off by so much that the next few may still belong in front.
            if hits.len() >= limit + SPARE {
                break;
            }
            looked_at += 1;
            let item = Item::of_rowid(candidate.key);
            let bytes = store::vector_in_scope(connection, &self.descriptor, item, scope)?;
            hits.extend(bytes.and_then(|bytes| DenseHit::of(item, query, &bytes)));
        }
        hits.sort_by(DenseHit::best_first);
        let is_all = hits.len() >= limit || (is_everything && looked_at == near.len());
        hits.truncate(limit);
        Ok(is_all.then_some(hits))
    }
}

/// Candidates beyond the wanted ones, since they are found by coarse codes.
const SPARE: usize = 20;

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}
