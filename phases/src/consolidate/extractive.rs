//! Consolidation without a model: the fewest source sentences that cover the cluster, word for
//! word, in the order of time. Nothing can be invented; what a newer note replaces is left out.
//!
//! Greedy cover: each round takes the sentence that adds most of what is still missing (facts
//! count 1, content words 1/4), weighted by how central its vector is and how little it repeats;
//! then sentences that the others cover are taken out again.

use super::coverage::{WORD_WEIGHT, denies, keeps, keeps_words};
use super::facts::Facts;
use super::note::{Note, Sentence};
use super::values::Comparison;
use std::collections::HashMap;

/// Name of this way of consolidation in `generated_by`.
pub const NAME: &str = "extractive";

/// Similarity at which two sentences without a fact of their own repeat each other.
const REPEATS: f32 = 0.90;

/// Words that a sentence must have to give the title.
const TITLE_WORDS: usize = 4;

/// Vectors of sentences by their text; a sentence without one is compared by its words.
pub type Vectors = HashMap<String, Vec<f32>>;

/// The place of a sentence: note, then sentence within it.
pub type Place = (usize, usize);

/// The sentences that still hold: what [`select`] chooses from, and what it wants vectors of.
pub fn candidates(notes: &[Note], found: &Comparison) -> Vec<Place> {
    let mut places = Vec::new();
    for (n, note) in notes.iter().enumerate() {
        places.extend((0..note.sentences.len()).filter(|s| !found.is_stale(n, *s)).map(|s| (n, s)));
    }
    places
}

/// The chosen sentences in the order of time, the most central one first in the pair.
pub fn select(
    notes: &[Note],
    found: &Comparison,
    vectors: &Vectors,
) -> (Option<Place>, Vec<Place>) {
    let places = candidates(notes, found);
    let pool = Pool::new(notes, &places, vectors);
    let mut chosen = pool.cover();
    pool.prune(&mut chosen);
    chosen.sort_unstable();
    // A few words make a poor title, however central they are.
    let is_long = |i: usize| pool.sentences[i].text.split_whitespace().count() >= TITLE_WORDS;
    let rank = |i: usize| (is_long(i), pool.centrality[i]);
    let central = chosen.iter().copied().max_by(|&a, &b| {
        let ((a_long, a_near), (b_long, b_near)) = (rank(a), rank(b));
        a_long.cmp(&b_long).then(a_near.total_cmp(&b_near)).then(b.cmp(&a))
    });
    let mut ordered: Vec<Place> = chosen.iter().map(|&i| places[i]).collect();
    // What replaced something comes first.
    ordered.sort_by_key(|&(n, s)| {
        let facts = &notes[n].sentences[s].facts;
        !found.superseded.iter().any(|one| {
            one.new_note == n && one.new_value.as_ref().is_some_and(|value| facts.states(value))
        })
    });
    (central.map(|i| places[i]), ordered)
}

struct Pool<'a> {
    sentences: Vec<&'a Sentence>,
    /// Sentences of protected notes are quoted whole.
    kept: Vec<bool>,
    similarity: Vec<Vec<f32>>,
    centrality: Vec<f32>,
}

impl<'a> Pool<'a> {
    fn new(notes: &'a [Note], places: &[Place], vectors: &Vectors) -> Self {
        let sentences: Vec<&Sentence> =
            places.iter().map(|&(n, s)| &notes[n].sentences[s]).collect();
        let kept = places.iter().map(|&(n, _)| notes[n].entry.is_protected()).collect();
        let similarity: Vec<Vec<f32>> = sentences
            .iter()
            .map(|a| sentences.iter().map(|b| alike(a, b, vectors)).collect())
            .collect();
        #[allow(clippy::cast_precision_loss, reason = "a cluster has few sentences")]
        let centrality = similarity
            .iter()
            .map(|row: &Vec<f32>| row.iter().sum::<f32>() / row.len().max(1) as f32)
            .collect();
        Self { sentences, kept, similarity, centrality }
    }

    fn cover(&self) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..self.sentences.len()).filter(|&i| self.kept[i]).collect();
        loop {
            let text = self.text(&chosen);
            let next = (0..self.sentences.len())
                .filter(|i| !chosen.contains(i) && !self.covered(*i, &chosen, &text))
                .max_by(|&a, &b| {
                    self.gain(a, &chosen, &text)
                        .total_cmp(&self.gain(b, &chosen, &text))
                        .then(b.cmp(&a))
                });
            match next {
                Some(next) => chosen.push(next),
                None => return chosen,
            }
        }
    }

    /// Takes out what the others cover, the last chosen first.
    fn prune(&self, chosen: &mut Vec<usize>) {
        for i in (0..chosen.len()).rev() {
            if self.kept[chosen[i]] {
                continue;
            }
            let others: Vec<usize> = chosen.iter().copied().filter(|&c| c != chosen[i]).collect();
            let text = self.text(&others);
            if (0..self.sentences.len())
                .all(|s| others.contains(&s) || self.covered(s, &others, &text))
            {
                *chosen = others;
            }
        }
    }

    fn text(&self, chosen: &[usize]) -> Facts {
        let mut all = Facts::default();
        for &i in chosen {
            let facts = &self.sentences[i].facts;
            all.facts.extend(facts.facts.iter().cloned());
            all.words.extend(facts.words.iter().cloned());
            all.joined.extend(facts.joined.iter().cloned());
            all.flat.push_str(&facts.flat);
            all.flat.push('\n');
        }
        all
    }

    /// Whether the chosen sentences say what this one says. A sentence that denies is covered only
    /// by one that denies as well.
    fn covered(&self, i: usize, chosen: &[usize], text: &Facts) -> bool {
        let sentence = self.sentences[i];
        if !sentence.facts.hard().all(|fact| text.states(fact)) {
            return false;
        }
        if chosen.iter().any(|&c| {
            self.similarity[i][c] >= REPEATS
                && denies(&self.sentences[c].text) == denies(&sentence.text)
        }) {
            return true;
        }
        if denies(&sentence.text) {
            return chosen.iter().any(|&c| {
                let other = self.sentences[c];
                denies(&other.text) && keeps_words(&other.facts, sentence, 0.7)
            });
        }
        // With the same facts, fewer of the same words tell that it says the same.
        let share = if sentence.facts.hard().next().is_some() { 0.6 } else { 0.7 };
        keeps(text, sentence) && keeps_words(text, sentence, share)
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    fn gain(&self, i: usize, chosen: &[usize], text: &Facts) -> f64 {
        let sentence = self.sentences[i];
        let facts = sentence.facts.hard().filter(|fact| !text.states(fact)).count();
        let words = sentence.facts.words.iter().filter(|word| !text.says(word)).count();
        let repeats =
            chosen.iter().map(|&c| self.similarity[i][c]).fold(0.0_f32, f32::max).clamp(0.0, 1.0);
        let missing = facts as f64 + words as f64 * WORD_WEIGHT;
        missing * f64::from(1.0 + self.centrality[i]) * f64::from(1.5 - repeats)
    }
}

fn alike(a: &Sentence, b: &Sentence, vectors: &Vectors) -> f32 {
    match (vectors.get(&a.text), vectors.get(&b.text)) {
        (Some(x), Some(y)) if x.len() == y.len() => x.iter().zip(y).map(|(x, y)| x * y).sum(),
        _ => overlap(a, b),
    }
}

/// Jaccard index of the content words.
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
fn overlap(a: &Sentence, b: &Sentence) -> f32 {
    let shared = a.facts.words.intersection(&b.facts.words).count();
    let all = a.facts.words.union(&b.facts.words).count();
    if all == 0 { 0.0 } else { shared as f32 / all as f32 }
}
