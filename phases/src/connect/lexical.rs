//! TF-IDF over terms, with frequencies that are compiled in.
//!
//! The cosine of two weighted term vectors tells a restated fact from a neighbouring one better
//! than the embedding does alone. The frequencies come from a fixed table of developer notes
//! (`data/words.txt`), not from the store: a pair then has the same score whatever else is stored
//! and whenever it was compared, and nothing has to be counted again as the store grows. Measured
//! on notes of other repositories than the table's, it loses little against frequencies of the
//! store itself (AUC of links .981/.969 on two halves against .983/.972).

use super::tokens::terms;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

struct Table {
    documents: f32,
    counts: HashMap<&'static str, f32>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { documents: 0.0, counts: HashMap::new() };
    for line in include_str!("../../data/words.txt").lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("documents") => {
                table.documents = words.next().and_then(|n| n.parse().ok()).unwrap_or(1.0);
            }
            Some(count) if !count.starts_with('#') => {
                let count = count.parse().unwrap_or(1.0);
                table.counts.extend(words.map(|word| (word, count)));
            }
            _ => {}
        }
    }
    table
});

/// Weight of a term by its rarity: ln((N + 1) / (n + 1/2)), n = 1 for a term the table lacks.
fn rarity(term: &str) -> f32 {
    let count = TABLE.counts.get(term).copied().unwrap_or(1.0);
    ((TABLE.documents + 1.0) / (count + 0.5)).ln()
}

/// Count in the table up to which a word is more likely a name than an ordinary word.
const RARE: f32 = 40.0;

/// Whether `word` is an ordinary word rather than a name.
pub(super) fn is_common(word: &str) -> bool {
    let count = |term: &String| TABLE.counts.get(term.as_str()).copied().unwrap_or(0.0);
    terms(word).first().is_none_or(|term| count(term) > RARE)
}

/// Weighted terms of a text, scaled to unit length; sorted by term.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms(Vec<(u64, f32)>);

impl Terms {
    /// The terms of `text`: weight (1 + ln tf) · rarity.
    pub fn of(text: &str) -> Self {
        let mut counts: BTreeMap<String, f32> = BTreeMap::new();
        for term in terms(text) {
            *counts.entry(term).or_default() += 1.0;
        }
        let mut weights: Vec<(u64, f32)> = counts
            .iter()
            .map(|(term, count)| (key(term), (1.0 + count.ln()) * rarity(term)))
            .collect();
        weights.sort_by_key(|(key, _)| *key);
        let norm = weights.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        weights.iter_mut().for_each(|(_, weight)| *weight /= norm);
        Self(weights)
    }

    /// Cosine in 0..=1; 0 where a text has no terms.
    pub fn cosine(&self, other: &Self) -> f32 {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut sum = 0.0;
        while let (Some((x, p)), Some((y, q))) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    sum += p * q;
                    a.next();
                    b.next();
                }
            }
        }
        sum.min(1.0)
    }
}

/// FNV-1a of a term, so that vectors are numbers only and comparing two is one walk.
pub(super) fn key(term: &str) -> u64 {
    term.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        Terms::of(a).cosine(&Terms::of(b))
    }

    #[test]
    fn the_table_is_read() {
        assert!(TABLE.documents > 1000.0);
        assert!(rarity("the") < rarity("migrat"));
        assert!(rarity("migrat") < rarity("zzyzx"));
    }

    #[test]
    fn rare_shared_words_weigh_more_than_common_ones() {
        let rare = cosine("The quay gate is closed", "A quay gate was repaired");
        let common = cosine("The test is in the file", "The change is in the list");
        assert!(rare > common, "{rare} {common}");
    }

    #[test]
    fn it_is_a_cosine() {
        assert!((cosine("port 8080 is used", "Port 8080 is used.") - 1.0).abs() < 1e-5);
        assert_eq!(cosine("", "anything"), 0.0);
        assert_eq!(cosine("🚢", "🚢"), 0.0);
    }
}
