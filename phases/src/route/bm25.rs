//! BM25 (Robertson & Zaragoza 2009) over a small set of documents.

use super::tokens::{Bag, Term};
use std::collections::HashMap;

/// Saturation of term counts and share of length normalisation.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// `k1`
    pub saturation: f32,
    /// `b`
    pub length: f32,
}

impl Shape {
    /// The usual values, for short texts.
    pub const SHORT: Self = Self { saturation: 1.2, length: 0.75 };
    /// For whole files, whose lengths differ by two orders.
    pub const FILE: Self = Self { saturation: 2.0, length: 0.9 };
}

/// An inverted index.
pub struct Bm25 {
    postings: HashMap<Term, Vec<(u32, f32)>>,
    norms: Vec<f32>,
    saturation: f32,
}

impl Bm25 {
    /// Indexes documents in order.
    pub fn new(documents: impl Iterator<Item = Bag>, shape: Shape) -> Self {
        let mut postings: HashMap<Term, Vec<(u32, f32)>> = HashMap::new();
        let mut lengths: Vec<f32> = Vec::new();
        for (number, bag) in (0_u32..).zip(documents) {
            lengths.push(bag.values().sum::<f32>().max(1.0));
            for (term, count) in bag {
                postings.entry(term).or_default().push((number, count));
            }
        }
        let mean = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
        let Shape { saturation, length } = shape;
        let norm = |own: &f32| saturation * (1.0 - length + length * own / mean);
        Self { postings, norms: lengths.iter().map(norm).collect(), saturation }
    }

    /// One score a document; 0 where no term is shared.
    pub fn scores(&self, query: &Bag) -> Vec<f32> {
        let mut scores = vec![0.0; self.norms.len()];
        let mut terms: Vec<&Term> = query.keys().collect();
        terms.sort_unstable();
        for term in terms {
            let Some(postings) = self.postings.get(term) else { continue };
            let weight = self.weight(postings.len()) * (self.saturation + 1.0);
            for (number, count) in postings {
                let n = *number as usize;
                scores[n] += weight * count / (count + self.norms[n]);
            }
        }
        scores
    }

    fn weight(&self, documents: usize) -> f32 {
        let (all, with) = (self.norms.len() as f32, documents as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::bag;
    use super::*;

    #[test]
    fn the_rarer_word_decides() {
        let documents = ["port server", "port client", "port retry"];
        let index = Bm25::new(documents.iter().map(|text| bag(text)), Shape::SHORT);
        let scores = index.scores(&bag("port retry"));
        assert!(scores[2] > scores[0] && scores[0] > 0.0);
    }
}
