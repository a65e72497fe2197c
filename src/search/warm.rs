//! Vectors kept in memory between searches, for a process that answers many.
//!
//! They are 8-bit codes ([`crate::index`]), a quarter of the stored size; the cosines that count are
//! computed from the stored vectors. The copy knows the state of the tables it was made from and
//! is made anew when they changed, so a search never misses what was stored before it.

use super::dense::DenseHit;
use crate::error::Result;
use crate::index::{Exact, Neighbours, nearest};
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
        let everything = Scope { all: true, ..Scope::default() };
        store::for_each_vector(connection, descriptor, &everything, |item, bytes| {
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
        let stored = |rowid: i64| {
            let item = Item::of_rowid(rowid);
            let is_in = store::in_scope(connection, item, scope).unwrap_or(false);
            let bytes = store::vector_of(connection, &self.descriptor, item).ok().flatten();
            bytes.filter(|_| is_in).map(|bytes| numbers(&bytes))
        };
        // Merged and expired texts are among them; some more make up for those.
        let near = nearest(&self.index, &[query], limit * 2, -1.0, stored);
        let mut hits: Vec<DenseHit> = near
            .into_iter()
            .flatten()
            .map(|near| DenseHit { item: Item::of_rowid(near.key), cosine: near.cosine })
            .collect();
        hits.sort_by(|x, y| {
            y.cosine.total_cmp(&x.cosine).then(y.item.rowid().cmp(&x.item.rowid()))
        });
        hits.truncate(limit);
        let is_all = hits.len() == limit || self.index.len() <= limit * 2;
        Ok(is_all.then_some(hits))
    }
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}
