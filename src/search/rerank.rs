//! The best candidates read together with the query by a cross-encoder.
//!
//! Its cost is one run of a model a candidate, so it sees `search.rerank_candidates` of them and no
//! more; the others keep their order behind. A score is then the model's own probability, which
//! means the same in every search, unlike a fused score, which is a share of the best one. A model
//! that fails leaves the order as it was, and the answer says so.

use super::fuse::Part;
use super::{Answer, Candidates};
use crate::config::SearchSettings;
use crate::embed::Reranker;

/// Orders the best candidates anew.
pub(super) fn rerank(
    reranker: &dyn Reranker,
    query: &str,
    candidates: &mut Candidates,
    settings: &SearchSettings,
    answer: &mut Answer,
) {
    let count = candidates.ranked.len().min(settings.rerank_candidates);
    let (best, rest) = candidates.ranked.split_at_mut(count);
    let texts: Vec<&str> =
        best.iter().map(|candidate| candidates.texts[&candidate.item].as_str()).collect();
    let logits = match reranker.score(query, &texts) {
        Ok(logits) => logits,
        Err(error) => return answer.notes.push(format!("not reranked: {}", error.message)),
    };
    for (candidate, &logit) in best.iter_mut().zip(&logits) {
        let share = 1.0 / (1.0 + (-f64::from(logit)).exp());
        candidate.explanation.reranked = Some(Part { rank: 0, raw: f64::from(logit), share });
        candidate.explanation.score = share;
    }
    // Stable, so that equal ones keep their fused order.
    best.sort_by(|x, y| y.explanation.score.total_cmp(&x.explanation.score));
    for (at, candidate) in best.iter_mut().enumerate() {
        if let Some(part) = &mut candidate.explanation.reranked {
            part.rank = at + 1;
        }
    }
    let least = best.last().map_or(1.0, |candidate| candidate.explanation.score);
    rest.iter_mut().for_each(|candidate| candidate.explanation.score *= least);
    answer.reranked_by = Some(reranker.descriptor().name.clone());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{Explanation, Mode, Ranked};
    use super::*;
    use crate::config::Layers;
    use crate::embed::Descriptor;
    use crate::error::{Error, Result};
    use crate::store::Item;

    /// Likes long texts, or fails.
    struct Likes(Descriptor, bool);

    impl Reranker for Likes {
        fn descriptor(&self) -> &Descriptor {
            &self.0
        }

        fn score(&self, _query: &str, texts: &[&str]) -> Result<Vec<f32>> {
            match self.1 {
                true => Ok(texts.iter().map(|text| text.len() as f32 - 3.0).collect()),
                false => Err(Error::input("broken")),
            }
        }
    }

    fn reranked(works: bool) -> (Vec<i64>, Vec<f64>, Answer) {
        let texts = ["a", "bbbb", "cc", "ddddddddd"];
        let ranked = (1i64..)
            .zip([1.0, 0.9, 0.8, 0.7])
            .map(|(seq, score)| {
                let explanation = Explanation { score, ..Explanation::default() };
                Ranked { item: Item::Entry(seq), explanation }
            })
            .collect();
        let texts =
            (1i64..).zip(texts).map(|(seq, text)| (Item::Entry(seq), text.to_string())).collect();
        let mut candidates = Candidates { ranked, texts };
        let mut settings = Layers::defaults().settings().unwrap().search;
        settings.rerank_candidates = 3;
        let mut answer = Answer {
            hits: Vec::new(),
            mode: Mode::Hybrid,
            reranked_by: None,
            notes: Vec::new(),
            not_embedded: None,
        };
        let model = Likes(Descriptor::of_server("likes-length", 1), works);
        rerank(&model, "q", &mut candidates, &settings, &mut answer);
        let keys = candidates.ranked.iter().map(|candidate| candidate.item.rowid() / 2).collect();
        let scores = candidates.ranked.iter().map(|candidate| candidate.explanation.score);
        (keys, scores.collect(), answer)
    }

    #[test]
    fn the_best_are_ordered_anew_and_the_others_stay_behind() {
        let (keys, scores, answer) = reranked(true);
        assert_eq!(keys, [2, 3, 1, 4]);
        assert!(scores.is_sorted_by(|x, y| x >= y), "{scores:?}");
        assert!((scores[0] - 1.0 / (1.0 + (-1.0f64).exp())).abs() < 1e-6);
        assert_eq!(answer.reranked_by.as_deref(), Some("likes-length"));
    }

    #[test]
    fn a_model_that_fails_changes_nothing_and_is_named() {
        let (keys, scores, answer) = reranked(false);
        assert_eq!(keys, [1, 2, 3, 4]);
        assert_eq!(scores, [1.0, 0.9, 0.8, 0.7]);
        assert_eq!((answer.reranked_by, answer.notes.len()), (None, 1));
    }
}
