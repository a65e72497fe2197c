//! How much of what the sources state a text keeps.

use super::facts::{Fact, FactKind, Facts};
use super::note::{Note, Sentence};
use super::values::Comparison;
use super::words::is_strict_negation;
use std::collections::BTreeSet;

/// What a content word counts beside a fact: words may be said otherwise, facts may not.
pub const WORD_WEIGHT: f64 = 0.25;
/// Share of its content words with which a sentence without missing facts counts as kept.
const KEPT_WORDS: f64 = 0.5;

/// Facts and words that a merge of some notes must keep.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Distinct facts.
    pub facts: BTreeSet<Fact>,
    /// Distinct stems.
    pub words: BTreeSet<String>,
}

impl Wanted {
    /// What the sentences state that still hold.
    pub fn of<'a>(sentences: impl IntoIterator<Item = &'a Sentence>) -> Self {
        let mut wanted = Self::default();
        for sentence in sentences {
            for fact in sentence.facts.hard() {
                let known = wanted
                    .facts
                    .iter()
                    .any(|f| f.kind == fact.kind && f.key == fact.key && f.unit == fact.unit);
                if !known {
                    wanted.facts.insert(fact.clone());
                }
            }
            wanted.words.extend(sentence.facts.words.iter().cloned());
        }
        wanted
    }

    /// Weighted share of it that `text` keeps, 0 to 1; 1 where nothing is wanted.
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    pub fn kept_by(&self, text: &Facts) -> f64 {
        let facts = self.facts.iter().filter(|fact| text.states(fact)).count();
        let words = self.words.iter().filter(|word| text.says(word)).count();
        let all = self.facts.len() as f64 + self.words.len() as f64 * WORD_WEIGHT;
        if all == 0.0 { 1.0 } else { (facts as f64 + words as f64 * WORD_WEIGHT) / all }
    }
}

/// The sentences of a note that still hold.
pub fn current<'a>(
    index: usize,
    note: &'a Note,
    found: &'a Comparison,
) -> impl Iterator<Item = &'a Sentence> {
    note.sentences
        .iter()
        .enumerate()
        .filter(move |(s, _)| !found.is_stale(index, *s))
        .map(|(_, s)| s)
}

/// Whether `text` keeps a sentence: every fact, and enough of its words to know what it is about.
pub fn keeps(text: &Facts, sentence: &Sentence) -> bool {
    sentence.facts.hard().all(|fact| text.states(fact)) && keeps_words(text, sentence, KEPT_WORDS)
}

/// Whether `text` says at least this share of the sentence's content words.
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
pub fn keeps_words(text: &Facts, sentence: &Sentence, share: f64) -> bool {
    let words = &sentence.facts.words;
    let joined = |word: &String| {
        let pairs = &sentence.facts.joined;
        pairs.iter().any(|(first, joined)| first == word && text.words.contains(joined))
    };
    let said = words.iter().filter(|word| text.says(word) || joined(word)).count();
    said as f64 >= words.len() as f64 * share
}

/// Whether a text denies something in a way that turns a rule around. `not only` denies nothing.
pub fn denies(text: &str) -> bool {
    let words = super::values::words(text);
    words.iter().enumerate().any(|(i, word)| {
        is_strict_negation(word) && words.get(i + 1).is_none_or(|next| next != "only")
    })
}

/// The names in a text say nothing where capitals are part of the grammar (German nouns).
pub fn capitals_are_grammar<'a>(notes: impl IntoIterator<Item = &'a Note>) -> bool {
    let (mut names, mut words) = (0, 0);
    for note in notes {
        names += note.facts.facts.iter().filter(|fact| fact.kind == FactKind::Name).count();
        words += note.facts.words.len();
    }
    words >= 12 && names * 3 > words
}
