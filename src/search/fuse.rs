//! One ranking out of two: a weighted sum of scores, each scaled by its best in this query.
//!
//! Words: BM25 over the best BM25 of the query. Meaning: cosine above the mean of unrelated texts,
//! over the best such cosine. Scores keep *how much* better a hit is, which a fusion of ranks
//! throws away; on the development set the sum is ahead of reciprocal rank fusion in every store
//! (docs/search.md). The convex combination follows Bruch, Gai and Ingber, "An Analysis of Fusion
//! Functions for Hybrid Retrieval", 2022.

use super::Ranked;
use super::dense::DenseHit;
use crate::store::{Item, WordHit};
use serde::Serialize;
use std::collections::BTreeMap;

/// Place and score of a hit in one part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// From 1.
    pub rank: usize,
    /// BM25, the raw cosine, or the raw output of the cross-encoder.
    pub raw: f64,
    /// What it adds to the score.
    pub share: f64,
}

/// How a score came about: the sum of the shares, or what the cross-encoder says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// 0 to 1.
    pub score: f64,
    /// Words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<Part>,
    /// Meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<Part>,
    /// The cross-encoder: where it is there, it alone makes the score, and it is no share of the
    /// best but stands by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reranked: Option<Part>,
}

/// Fuses both rankings, best first. Where one part found nothing, the other has all the weight.
pub(super) fn fuse(
    lexical: &[WordHit],
    dense: &[DenseHit],
    unrelated: f32,
    lexical_weight: f64,
) -> Vec<Ranked> {
    let (words, meaning) = match (lexical.is_empty(), dense.is_empty()) {
        (false, false) => (lexical_weight, 1.0 - lexical_weight),
        (_, true) => (1.0, 0.0),
        (true, false) => (0.0, 1.0),
    };
    let mut items: BTreeMap<Item, Explanation> = BTreeMap::new();
    let bm25: Vec<f64> = lexical.iter().map(|hit| hit.score).collect();
    for (at, hit) in lexical.iter().enumerate() {
        let part = part(at, hit.score, scale(&bm25, at, 0.0), words);
        items.entry(hit.item).or_default().lexical = Some(part);
    }
    let cosines: Vec<f64> = dense.iter().map(|hit| f64::from(hit.cosine)).collect();
    for (at, hit) in dense.iter().enumerate() {
        let scaled = scale(&cosines, at, f64::from(unrelated));
        items.entry(hit.item).or_default().dense = Some(part(at, cosines[at], scaled, meaning));
    }
    sorted(items)
}

fn part(at: usize, raw: f64, scaled: f64, weight: f64) -> Part {
    Part { rank: at + 1, raw, share: weight * scaled }
}

/// The score at `at` between `floor` (0) and the best, which comes first (1).
fn scale(scores: &[f64], at: usize, floor: f64) -> f64 {
    let range = scores.first().map_or(0.0, |best| best - floor);
    if range > 1e-9 { ((scores[at] - floor) / range).clamp(0.0, 1.0) } else { 0.0 }
}

fn sorted(items: BTreeMap<Item, Explanation>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = items
        .into_iter()
        .map(|(item, mut explanation)| {
            let shares = [explanation.lexical, explanation.dense];
            explanation.score = shares.iter().flatten().map(|part| part.share).sum();
            Ranked { item, explanation }
        })
        .collect();
    ranked.sort_by(|x, y| {
        let newer = y.item.rowid().cmp(&x.item.rowid());
        y.explanation.score.total_cmp(&x.explanation.score).then(newer)
    });
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(scores: &[(i64, f64)]) -> Vec<WordHit> {
        scores.iter().map(|&(seq, score)| WordHit { item: Item::Entry(seq), score }).collect()
    }

    fn cosines(scores: &[(i64, f32)]) -> Vec<DenseHit> {
        scores.iter().map(|&(seq, cosine)| DenseHit { item: Item::Entry(seq), cosine }).collect()
    }

    #[test]
    fn a_hit_of_both_parts_is_ahead_of_a_hit_of_one() {
        let ranked = fuse(&words(&[(1, 9.0), (2, 8.0)]), &cosines(&[(3, 0.8), (2, 0.7)]), 0.1, 0.4);
        let order: Vec<Item> = ranked.iter().map(|hit| hit.item).collect();
        assert_eq!(order, [Item::Entry(2), Item::Entry(3), Item::Entry(1)]);
    }

    #[test]
    fn one_part_alone_keeps_its_order_and_full_weight() {
        let ranked = fuse(&words(&[(1, 4.0), (2, 2.0)]), &[], 0.0, 0.4);
        let scores: Vec<f64> = ranked.iter().map(|hit| hit.explanation.score).collect();
        assert_eq!(scores, [1.0, 0.5]);
    }

    proptest! {
        #[test]
        fn scores_are_numbers_in_order_whatever_comes_in(
            lexical in prop::collection::vec((0i64..20, 0.0f64..30.0), 0..10),
            dense in prop::collection::vec((0i64..20, -1.0f32..1.0), 0..10),
            unrelated in -1.0f32..1.0,
        ) {
            let ranked = fuse(&words(&lexical), &cosines(&dense), unrelated, 0.4);
            prop_assert!(ranked.iter().all(|hit| hit.explanation.score.is_finite()));
            let falls = ranked.windows(2).all(|w| w[0].explanation.score >= w[1].explanation.score);
            prop_assert!(falls);
        }
    }
}
