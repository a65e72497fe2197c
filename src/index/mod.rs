//! Nearest neighbours by cosine.
//!
//! One interface, [`Neighbours`], over a set of keyed unit vectors, with two implementations:
//! [`Exact`] compares with every vector, in blocks; [`Hnsw`] walks a graph and looks at few. Both
//! work on 8-bit codes ([`quantise`]), a quarter of the size of the stored vectors, that lie in a
//! file and not in memory, and propose candidates; [`nearest`] then computes the cosines that count
//! from the stored vectors, so a coarse code can cost a neighbour at the very edge but never gives a
//! wrong cosine.
//!
//! Which one serves follows from the size: exact up to [`EXACT_LIMIT`] numbers. Links never cross
//! projects, so there is one index a project and the limit counts the vectors of one.
//!
//! On disk a project has a [`Mirror`] of its codes, and beside it the graph where one serves. All
//! of it is derived and may be deleted at any time.

mod codes;
mod exact;
mod file;
mod hnsw;
mod project;
mod quantise;

pub use exact::Exact;
pub use file::{FileError, Mirror, agrees, stated_rows};
pub use hnsw::Hnsw;
pub use project::ProjectIndex;
pub use quantise::{Code, quantise};

/// Numbers (vectors times dimensions) up to which a query is compared with every vector, where the
/// settings say nothing else (`connect.exact_numbers`): a million vectors of 1,024 numbers in one
/// project. A scan of that size should answer the 20 queries of a
/// tick in about a second (estimated from smaller ones); it misses nothing, and its file needs no
/// building.
pub const EXACT_LIMIT: usize = 1 << 30;

/// A neighbour: the key of a vector and its cosine to the one asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Key it was added under.
    pub key: i64,
    /// Cosine, −1 to 1.
    pub cosine: f32,
}

/// Why a vector cannot be added or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Another length than the index has.
    #[error("a vector of length {got} instead of {want}")]
    Length {
        /// Its length.
        got: usize,
        /// The length of the index.
        want: usize,
    },
    /// NaN, infinity, or no direction.
    #[error("a vector that is zero or not finite")]
    Useless,
}

/// A set of keyed vectors that can be asked for the nearest ones.
pub trait Neighbours: Send + Sync {
    /// Number of vectors.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Word for `status`: `exact` or `hnsw`.
    fn kind(&self) -> &'static str;

    /// Adds a vector. A key that is added again has two entries, of which both are found.
    fn add(&mut self, key: i64, vector: &[f32]) -> Result<(), VectorError>;

    /// For each query at most `count` vectors with an approximate cosine of at least `floor`,
    /// nearest first. A query that is no vector of this index has none.
    fn candidates(&self, queries: &[&[f32]], count: usize, floor: f32) -> Vec<Vec<Near>>;
}

/// Half the widest error of an 8-bit cosine that was seen (4 · 10⁻³ at 384 dimensions), as a
/// margin below the floor.
const CODE_ERROR: f32 = 0.01;

/// For each query the `count` nearest vectors with a cosine of at least `floor`, nearest first,
/// equals by key. `stored` gives the vector of a key; `None` where it is not to be compared.
pub fn nearest(
    index: &dyn Neighbours,
    queries: &[&[f32]],
    count: usize,
    floor: f32,
    mut stored: impl FnMut(i64) -> Option<Vec<f32>>,
) -> Vec<Vec<Near>> {
    let wanted = count + count / 2 + 8;
    let found = index.candidates(queries, wanted, floor - CODE_ERROR);
    let mut exact = |query: &[f32], near: Near| {
        let vector = stored(near.key)?;
        let cosine = dot(query, &vector);
        (vector.len() == query.len() && cosine.is_finite() && cosine >= floor)
            .then_some(Near { key: near.key, cosine })
    };
    found
        .into_iter()
        .zip(queries)
        .map(|(candidates, query)| {
            let mut near: Vec<Near> =
                candidates.into_iter().filter_map(|near| exact(query, near)).collect();
            near.sort_by(by_nearness);
            // A key that was written anew lies in the mirror twice.
            near.dedup_by_key(|near| near.key);
            near.truncate(count);
            near
        })
        .collect()
}

/// Nearest first, equals by key.
pub(crate) fn by_nearness(x: &Near, y: &Near) -> std::cmp::Ordering {
    y.cosine.total_cmp(&x.cosine).then(x.key.cmp(&y.key))
}

/// Sum of the products of the common positions.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests;
