//! Whether a file states a fact already, or something that contradicts it. By words alone: what is
//! not plainly the same or plainly the opposite counts as something else.

use super::tokens::words;
use crate::consolidate::facts::Facts as Hard;
use crate::text::normalise;
use std::collections::BTreeSet;

/// How a line of a file stands to a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It states the fact.
    States,
    /// It says the same words with another number, name or a denial.
    Contradicts,
    /// It speaks of something else.
    Other,
}

/// Least share of a fact's words that a line must hold to state it.
const STATES: f32 = 0.9;
/// Least overlap of words (Jaccard) for a longer line to state a fact.
const LEAST_OVERLAP: f32 = 0.6;
/// Least overlap for two lines that differ in a value or a denial to speak of the same thing.
const SAME_SUBJECT: f32 = 0.7;

const DENIALS: &[&str] = &[
    "not", "never", "no", "without", "dont", "don't", "cannot", "can't", "avoid", "disable",
    "disabled", "off",
];

/// How `line` stands to `fact`.
pub fn standing(fact: &str, line: &str) -> Standing {
    let (fact, line) = (plain(fact), plain(line));
    if fact.is_empty() || line.is_empty() {
        return Standing::Other;
    }
    if fact == line {
        return Standing::States;
    }
    let (ours, theirs) = (Facts::of(&fact), Facts::of(&line));
    let (one, other) = (ours.distinct(), theirs.distinct());
    let shared = one.intersection(&other).count() as f32;
    let overlap = shared / (one.union(&other).count().max(1) as f32);
    let count = ours.words.len() as f32;
    let same_values = ours.values == theirs.values && ours.denied == theirs.denied;
    // The order counts: "A calls B" does not state that B calls A.
    let in_order = in_common_order(&ours.words, &theirs.words) as f32;
    if same_values && count >= 3.0 && in_order >= STATES * count && overlap >= LEAST_OVERLAP {
        return Standing::States;
    }
    // Words of its own on both sides make it another subject, however alike the rest is.
    let one_subject = one.is_subset(&other) || other.is_subset(&one);
    let differs = ours.denied != theirs.denied
        || (!ours.values.is_empty() && !theirs.values.is_empty() && ours.values != theirs.values);
    if count >= 2.0 && one_subject && overlap >= SAME_SUBJECT && differs {
        return Standing::Contradicts;
    }
    Standing::Other
}

/// Whether two texts that are near to each other by meaning state one rule: neither has a value,
/// name, path or command that the other lacks, and neither denies what the other says.
pub fn same_fact(one: &str, other: &str) -> bool {
    if standing(one, other) == Standing::States || standing(other, one) == Standing::States {
        return true;
    }
    let (ours, theirs) = (Hard::of(one), Hard::of(other));
    let denied = |text: &str| Facts::of(&plain(text)).denied;
    ours.hard().all(|fact| theirs.states(fact))
        && theirs.hard().all(|fact| ours.states(fact))
        && denied(one) == denied(other)
}

/// Length of the longest common subsequence.
fn in_common_order(one: &[String], other: &[String]) -> usize {
    let mut row = vec![0; other.len() + 1];
    for word in one {
        let mut before = 0;
        for (n, candidate) in other.iter().enumerate() {
            let above = row[n + 1];
            row[n + 1] = if word == candidate { before + 1 } else { above.max(row[n]) };
            before = above;
        }
    }
    row[other.len()]
}

/// Whether `line` is what an edit of `ours` may have become: half of the words are the same.
pub fn alike(ours: &str, line: &str) -> bool {
    let (one, other): (BTreeSet<_>, BTreeSet<_>) =
        (words(ours).into_iter().collect(), words(line).into_iter().collect());
    let shared = one.intersection(&other).count();
    shared > 0 && shared * 2 >= one.len().min(other.len())
}

struct Facts {
    /// Stemmed words in order, without numbers and denials.
    words: Vec<String>,
    /// Numbers, versions, ports.
    values: BTreeSet<String>,
    denied: bool,
}

impl Facts {
    fn distinct(&self) -> BTreeSet<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    fn of(text: &str) -> Self {
        let is_value = |word: &str| word.chars().any(|ch| ch.is_ascii_digit());
        let raw: Vec<String> = text
            .split(|ch: char| ch.is_whitespace() || ",;:!?()[]{}\"`=<>".contains(ch))
            .map(|word| word.trim_matches(['.', '\'', '*', '_']).to_lowercase())
            .filter(|word| !word.is_empty())
            .collect();
        Self {
            denied: raw.iter().any(|word| DENIALS.contains(&word.as_str())),
            values: raw.iter().filter(|word| is_value(word)).cloned().collect(),
            words: words(text)
                .into_iter()
                .filter(|word| !is_value(word) && !DENIALS.contains(&word.as_str()))
                .collect(),
        }
    }
}

/// Without list marks, emphasis and closing punctuation.
fn plain(text: &str) -> String {
    let line = normalise(text);
    let line = line.trim_start_matches(['-', '*', '+', '#', '>', ' ']);
    line.replace("**", "").replace('`', "").trim_end_matches(['.', '!', ' ']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_and_values_do() {
        let fact = "The dev server listens on port 5173.";
        assert_eq!(standing(fact, "- **the dev server** listens on port `5173`"), Standing::States);
        assert_eq!(standing(fact, "- Dev server: listens on port 5173"), Standing::States);
        assert_eq!(standing(fact, "- The dev server listens on port 3000"), Standing::Contradicts);
        assert_eq!(standing(fact, "- Run the tests with pnpm"), Standing::Other);
    }

    #[test]
    fn another_subject_is_no_contradiction() {
        let fact = "The routerPool splits the brokerSet on startup, limit 3485";
        let other = "- The indexMap splits the routerPool on startup, limit 2323";
        assert_eq!(standing(fact, other), Standing::Other);
        assert_eq!(
            standing("The api calls the worker directly", "- The worker calls the api directly"),
            Standing::Other
        );
    }

    #[test]
    fn a_rule_in_other_words_is_the_same_and_one_with_another_value_is_not() {
        let rule = "Never push to the main branch directly";
        assert!(same_fact(rule, "Do not push straight to the main branch"));
        assert!(!same_fact(rule, "Push straight to the main branch"));
        assert!(!same_fact("Listens on port 5173", "The server has port 3000"));
    }

    #[test]
    fn a_denial_is_the_opposite() {
        assert_eq!(
            standing("Never commit to main directly", "- Commit to main directly"),
            Standing::Contradicts
        );
        assert_eq!(standing("Use pnpm", "- Use pnpm"), Standing::States);
    }
}
