//! BM25 (Robertson & Zaragoza 2009) over a small set of documents.

use super::tokens::Bag;
use std::collections::HashMap;

/// Saturation of term counts; the usual value.
const K1: f32 = 1.2;
/// Share of length normalisation; the usual value.
const B: f32 = 0.75;

/// An inverted index.
pub struct Bm25 {
    postings: HashMap<String, Vec<(u32, f32)>>,
    norms: Vec<f32>,
}

impl Bm25 {
    /// Indexes documents in order.
    pub fn new(documents: &[Bag]) -> Self {
        let lengths: Vec<f32> =
            documents.iter().map(|bag| bag.values().sum::<f32>().max(1.0)).collect();
        let mean = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
        let norms = lengths.iter().map(|length| K1 * (1.0 - B + B * length / mean)).collect();
        let mut postings: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        for (number, bag) in (0_u32..).zip(documents) {
            for (term, count) in bag {
                postings.entry(term.clone()).or_default().push((number, *count));
            }
        }
        Self { postings, norms }
    }

    /// One score a document; 0 where no term is shared.
    pub fn scores(&self, query: &Bag) -> Vec<f32> {
        let mut scores = vec![0.0; self.norms.len()];
        let mut terms: Vec<&String> = query.keys().collect();
        terms.sort_unstable();
        for term in terms {
            let Some(postings) = self.postings.get(term) else { continue };
            let weight = self.weight(postings.len());
            for (number, count) in postings {
                let n = *number as usize;
                scores[n] += weight * count * (K1 + 1.0) / (count + self.norms[n]);
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
    use super::super::tokens::{bag, words};
    use super::*;

    #[test]
    fn the_rarer_word_decides() {
        let documents: Vec<Bag> = ["port server", "port client", "port retry"]
            .iter()
            .map(|text| bag(words(text)))
            .collect();
        let scores = Bm25::new(&documents).scores(&bag(words("port retry")));
        assert!(scores[2] > scores[0] && scores[0] > 0.0);
    }
}
