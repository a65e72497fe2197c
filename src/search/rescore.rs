//! The words part of a score, computed anew over the candidates.
//!
//! FTS5 and the vectors find candidates; here each candidate's text is compared with the query by
//! BM25 over the overlapping pieces of four characters of its words (what is no plain word, such as
//! a path or a number, counts whole), with the weights of pieces taken from the candidates
//! themselves. Pieces make `formatted` and `formatting`, `Funktion` and `fonction` meet without a
//! list of endings for each language; weights from the candidates tell apart what they do not all
//! share. Costs grow with the candidates, not with the store. Measured in docs/search.md.
//!
//! A feature is a hash of its characters: two of one text meet by chance about never, and no text
//! is copied.

use crate::store::{is_unspaced, terms_of};
use std::collections::HashMap;

/// Saturation of repeated words (the usual value).
const K1: f64 = 1.2;
/// How much long texts are held back (the usual value).
const B: f64 = 0.75;
/// Characters of a piece.
const PIECE: usize = 4;

/// BM25 of `query` with each of `texts`, 0 where nothing meets.
pub(super) fn rescore(query: &str, texts: &[&str]) -> Vec<f64> {
    let mut wanted: HashMap<u64, usize> = HashMap::new();
    each_feature(query, |feature| {
        let next = wanted.len();
        wanted.entry(feature).or_insert(next);
    });
    let counted: Vec<Counted> = texts.iter().map(|text| count(text, &wanted)).collect();
    let mut holders = vec![0.0f64; wanted.len()];
    for text in &counted {
        text.counts.iter().for_each(|(feature, _)| holders[*feature] += 1.0);
    }
    let total = texts.len() as f64;
    let weight = |holders: f64| (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln();
    let weights: Vec<f64> = holders.into_iter().map(weight).collect();
    let mean = counted.iter().map(|text| text.length).sum::<f64>() / total.max(1.0);
    counted.iter().map(|text| text.score(&weights, mean)).collect()
}

/// How often a text has each feature of the query, and how many features it has in all.
struct Counted {
    /// Places of the query's features and how often, by place.
    counts: Vec<(usize, f64)>,
    length: f64,
}

impl Counted {
    fn score(&self, weights: &[f64], mean: f64) -> f64 {
        let held_back = K1 * (1.0 - B + B * self.length / mean.max(1.0));
        let part = |&(feature, count): &(usize, f64)| {
            weights[feature] * count * (K1 + 1.0) / (count + held_back)
        };
        self.counts.iter().map(part).sum()
    }
}

fn count(text: &str, wanted: &HashMap<u64, usize>) -> Counted {
    let mut all = vec![0.0f64; wanted.len()];
    let mut length = 0.0;
    each_feature(text, |feature| {
        length += 1.0;
        if let Some(place) = wanted.get(&feature) {
            all[*place] += 1.0;
        }
    });
    let counts = all.into_iter().enumerate().filter(|(_, count)| *count > 0.0).collect();
    Counted { counts, length }
}

/// Calls `visit` with the pieces of each plain word, its ends marked by spaces, and with every other
/// word whole; of scripts without spaces, also with the single characters.
fn each_feature(text: &str, mut visit: impl FnMut(u64)) {
    let mut padded: Vec<char> = Vec::new();
    for word in terms_of(text) {
        let is_plain = word.chars().all(char::is_alphabetic);
        if !is_plain || word.starts_with(is_unspaced) {
            visit(hash(word.chars()));
            if is_plain {
                word.chars().for_each(|single| visit(hash([single])));
            }
            continue;
        }
        padded.clear();
        padded.push(' ');
        padded.extend(word.chars());
        padded.push(' ');
        if padded.len() <= PIECE {
            visit(hash(padded.iter().copied()));
        } else {
            padded.windows(PIECE).for_each(|piece| visit(hash(piece.iter().copied())));
        }
    }
}

/// FNV-1a over the characters.
fn hash(chars: impl IntoIterator<Item = char>) -> u64 {
    chars.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, character| {
        (hash ^ u64::from(u32::from(character))).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_a_word_meet() {
        let texts = ["the formatting of files", "a port of the harbor", "formatted"];
        let scores = rescore("format", &texts);
        assert!(scores[0] > 0.0 && scores[2] > scores[0]);
        assert_eq!(scores[1], 0.0);
    }

    #[test]
    fn a_slip_and_a_compound_still_meet() {
        let texts = ["der Funktionsaufruf schlägt fehl", "the pilots board here"];
        let scores = rescore("Aufruf einer Funkton", &texts);
        assert!(scores[0] > 0.0);
        assert_eq!(scores[1], 0.0);
    }

    #[test]
    fn a_word_that_every_candidate_has_counts_little() {
        let texts = ["harbor rule", "harbor pilot", "harbor buoy"];
        let scores = rescore("harbor pilot", &texts);
        assert!(scores[1] > 2.0 * scores[0]);
    }

    proptest! {
        #[test]
        fn scores_are_numbers_that_do_not_depend_on_order(
            query in "\\PC{0,30}",
            texts in prop::collection::vec("\\PC{0,40}", 0..8),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let scores = rescore(&query, &texts);
            prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
            let reversed: Vec<&str> = texts.iter().rev().copied().collect();
            let again: Vec<f64> = rescore(&query, &reversed).into_iter().rev().collect();
            for (one, other) in scores.iter().zip(again) {
                prop_assert!((one - other).abs() < 1e-9);
            }
        }
    }
}
