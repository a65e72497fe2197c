//! The words part of a score, computed anew over the candidates.
//!
//! FTS5 and the vectors find candidates; here each candidate's text is compared with the query by
//! BM25 over its words *and* their overlapping pieces of four characters, with the weights of words
//! taken from the candidates themselves. Pieces make `formatted` and `formatting`, `Funktion` and
//! `fonction` meet without a list of endings for each language; weights from the candidates tell
//! apart what they do not all share. Costs grow with the candidates, not with the store.
//! Measured in docs/search.md.

use crate::store::{is_unspaced, terms_of};
use std::collections::{HashMap, HashSet};

/// Saturation of repeated words (the usual value).
const K1: f64 = 1.2;
/// How much long texts are held back (the usual value).
const B: f64 = 0.75;
/// Characters of a piece.
const PIECE: usize = 4;

/// BM25 of `query` with each of `texts`, 0 where nothing meets.
pub(super) fn rescore(query: &str, texts: &[String]) -> Vec<f64> {
    let wanted: HashSet<String> = features(query).into_iter().collect();
    let counted: Vec<Counted> = texts.iter().map(|text| count(text, &wanted)).collect();
    let mut holders: HashMap<&str, f64> = HashMap::new();
    for text in &counted {
        text.counts.keys().for_each(|feature| *holders.entry(feature).or_default() += 1.0);
    }
    let total = texts.len() as f64;
    let weight = |feature: &str| {
        let holders = holders.get(feature).copied().unwrap_or_default();
        (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln()
    };
    let mean = counted.iter().map(|text| text.length).sum::<f64>() / total.max(1.0);
    counted.iter().map(|text| text.score(&weight, mean)).collect()
}

/// How often a text has each feature of the query, and how many features it has in all.
struct Counted {
    counts: HashMap<String, f64>,
    length: f64,
}

impl Counted {
    fn score(&self, weight: &impl Fn(&str) -> f64, mean: f64) -> f64 {
        let held_back = K1 * (1.0 - B + B * self.length / mean.max(1.0));
        // Sorted, so that the sum is the same number on every run.
        let mut parts: Vec<f64> = self
            .counts
            .iter()
            .map(|(feature, count)| weight(feature) * count * (K1 + 1.0) / (count + held_back))
            .collect();
        parts.sort_by(f64::total_cmp);
        parts.iter().sum()
    }
}

fn count(text: &str, wanted: &HashSet<String>) -> Counted {
    let all = features(text);
    let length = all.len() as f64;
    let mut counts: HashMap<String, f64> = HashMap::new();
    for feature in all.into_iter().filter(|feature| wanted.contains(feature)) {
        *counts.entry(feature).or_default() += 1.0;
    }
    Counted { counts, length }
}

/// The words of a text and the pieces of each word, its ends marked by spaces; of scripts without
/// spaces, the single characters.
fn features(text: &str) -> Vec<String> {
    let mut features = terms_of(text);
    for at in 0..features.len() {
        if !features[at].chars().all(char::is_alphabetic) {
            continue;
        }
        if features[at].starts_with(is_unspaced) {
            let single: Vec<String> = features[at].chars().map(String::from).collect();
            features.extend(single);
            continue;
        }
        let padded: Vec<char> = format!(" {} ", features[at]).chars().collect();
        if padded.len() <= PIECE {
            features.push(padded.iter().collect());
        }
        let pieces = padded.windows(PIECE).filter(|_| padded.len() > PIECE);
        features.extend(pieces.map(|piece| piece.iter().collect::<String>()));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_a_word_meet() {
        let texts = ["the formatting of files", "a port of the harbor", "formatted"];
        let scores = rescore("format", &texts.map(String::from));
        assert!(scores[0] > 0.0 && scores[2] > scores[0]);
        assert_eq!(scores[1], 0.0);
    }

    #[test]
    fn a_word_that_every_candidate_has_counts_little() {
        let texts = ["harbor rule", "harbor pilot", "harbor buoy"].map(String::from);
        let scores = rescore("harbor pilot", &texts);
        assert!(scores[1] > 2.0 * scores[0]);
    }

    proptest! {
        #[test]
        fn scores_are_numbers_that_do_not_depend_on_order(
            query in "\\PC{0,30}",
            texts in prop::collection::vec("\\PC{0,40}", 0..8),
        ) {
            let scores = rescore(&query, &texts);
            prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
            let reversed: Vec<String> = texts.iter().rev().cloned().collect();
            let again: Vec<f64> = rescore(&query, &reversed).into_iter().rev().collect();
            for (one, other) in scores.iter().zip(again) {
                prop_assert!((one - other).abs() < 1e-9);
            }
        }
    }
}
