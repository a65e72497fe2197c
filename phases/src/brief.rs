//! The briefing: which entries are worth a place in an assistant's context, within a budget.
//!
//! No model is asked: what counts is how well an entry matches the words at hand (branch, prompt),
//! how near its stored vector lies to those of the best matches, whether it is proven, and how new
//! it is. Private entries, and those that only a tool or a page stands behind, are never shown:
//! a briefing speaks to an assistant as its own memory.

use crate::entry::{Entry, Kind, State};

/// What is known of an entry.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// How well its words match those at hand, 0 to 1.
    pub matched: f64,
    /// How near it lies to the best matches, 0 to 1.
    pub near: f64,
    /// Tokens of its line.
    pub tokens: usize,
}

/// An entry that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// Place among the candidates.
    pub at: usize,
    /// What ranked it.
    pub rank: f64,
}

/// Half-life of newness, in milliseconds: two weeks.
const HALF_LIFE: f64 = 14.0 * 86_400_000.0;

/// Weights of the parts; they add up to 1. A match outweighs everything else together only where it
/// is nearly whole, so that with a branch called `main` the proven and the recent come first.
const MATCHED: f64 = 0.45;
const NEAR: f64 = 0.15;
const STANDING: f64 = 0.25;
const NEWNESS: f64 = 0.15;

/// Whether an entry may be shown at all.
pub fn is_shown(entry: &Entry) -> bool {
    entry.state.is_active()
        && entry.is_routable()
        && !matches!(entry.kind, Kind::Session | Kind::Thought)
}

/// The best candidates that fit into `budget` tokens, best first. One that does not fit leaves its
/// place to the next.
pub fn choose(candidates: &[Candidate<'_>], now: i64, budget: usize) -> Vec<Chosen> {
    let mut ranked: Vec<Chosen> = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| is_shown(candidate.entry))
        .map(|(at, candidate)| Chosen { at, rank: rank(candidate, now) })
        .collect();
    let newest = |one: &Chosen| {
        let entry = candidates[one.at].entry;
        (std::cmp::Reverse(entry.created), entry.id.clone())
    };
    ranked.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| newest(a).cmp(&newest(b))));
    let mut left = budget;
    ranked.retain(|one| {
        let tokens = candidates[one.at].tokens;
        let fits = tokens <= left;
        left -= if fits { tokens } else { 0 };
        fits
    });
    ranked
}

fn rank(candidate: &Candidate<'_>, now: i64) -> f64 {
    let entry = candidate.entry;
    #[allow(clippy::cast_precision_loss, reason = "an age in milliseconds is far below 2^52")]
    let age = now.saturating_sub(entry.created).max(0) as f64;
    MATCHED * candidate.matched.clamp(0.0, 1.0)
        + NEAR * candidate.near.clamp(0.0, 1.0)
        + STANDING * standing(entry)
        + NEWNESS * 0.5f64.powf(age / HALF_LIFE)
}

/// What is routed stands in a file that the assistant reads anyway; it comes after what is not.
fn standing(entry: &Entry) -> f64 {
    match (entry.state, entry.kind) {
        (State::Proven, _) => 1.0,
        (State::Routed, _) => 0.8,
        (_, Kind::Decision) => 0.7,
        _ if entry.recalls > 0 => 0.4,
        _ => 0.2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Actor, Channel, Origin, Source};

    const DAY: i64 = 86_400_000;

    fn entry(text: &str, state: State, days_old: i64) -> Entry {
        let source = Source::new(Channel::Cli, Actor::User);
        let entry = Entry::new(text, Kind::Insight, None, 100 * DAY - days_old * DAY, source);
        Entry { state, ..entry }
    }

    fn order(entries: &[Entry], matched: &[f64], budget: usize) -> Vec<usize> {
        let candidates: Vec<Candidate<'_>> = entries
            .iter()
            .zip(matched)
            .map(|(entry, matched)| Candidate { entry, matched: *matched, near: 0.0, tokens: 10 })
            .collect();
        choose(&candidates, 100 * DAY, budget).iter().map(|one| one.at).collect()
    }

    #[test]
    fn a_match_comes_first_then_what_is_proven_then_what_is_new() {
        let entries = [
            entry("old note", State::Buffered, 90),
            entry("new note", State::Buffered, 1),
            entry("proven", State::Proven, 90),
            entry("matching note", State::Buffered, 90),
        ];
        assert_eq!(order(&entries, &[0.0, 0.0, 0.0, 0.9], 100), [3, 2, 1, 0]);
        assert_eq!(order(&entries, &[0.0, 0.0, 0.0, 0.9], 25), [3, 2], "the budget holds");
    }

    #[test]
    fn nothing_private_and_nothing_of_a_page_is_shown() {
        let mut page = entry("page", State::Proven, 1);
        page.source = page.source.with_origin(Origin::Web);
        let mut private = entry("private", State::Proven, 1);
        private.kind = Kind::Sensitive;
        let gone = entry("gone", State::Expired, 1);
        assert!(order(&[page, private, gone], &[1.0, 1.0, 1.0], 100).is_empty());
    }
}
