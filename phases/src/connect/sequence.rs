//! The words of a text in their order, and what two texts have in the same order.

use super::lexical::key;
use super::tokens::fold;

/// Tokens of a text that are looked at: a template shows at the beginning.
const LONGEST: usize = 64;

/// The tokens of a text, as a template sees them, and their keys: texts are compared by the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub(super) words: Vec<String>,
    pub(super) keys: Vec<u64>,
}

impl Tokens {
    /// The first [`LONGEST`] tokens of `text`.
    pub fn of(text: &str) -> Self {
        let words: Vec<String> = text
            .split_whitespace()
            .flat_map(|word| word.split(['=', ':', '(', ')', ',', ';', '|', '[', ']', '"', '`']))
            .map(|word| word.trim_matches(|ch: char| !ch.is_alphanumeric() && !"/@#_".contains(ch)))
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .map(fold)
            .take(LONGEST)
            .collect();
        let keys = words.iter().map(|word| key(word)).collect();
        Self { words, keys }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many of the tokens are among `known`, which is sorted.
    pub(super) fn among(&self, known: &[u64]) -> usize {
        self.keys.iter().filter(|key| known.binary_search(key).is_ok()).count()
    }

    /// The longest sequence of tokens that both have in the same order.
    pub(super) fn common(&self, other: &Self) -> Self {
        let (a, b) = (&self.keys, &other.keys);
        let width = b.len() + 1;
        let mut longest = vec![0u16; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                longest[i * width + j] = if a[i] == b[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
        let (mut i, mut j, mut found) = (0, 0, Self::default());
        while i < a.len() && j < b.len() {
            if a[i] == b[j] {
                found.words.push(self.words[i].clone());
                found.keys.push(a[i]);
                (i, j) = (i + 1, j + 1);
            } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
                i += 1;
            } else {
                j += 1;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(a: &str, b: &str) -> String {
        Tokens::of(a).common(&Tokens::of(b)).words.join(" ")
    }

    #[test]
    fn what_two_texts_have_in_the_same_order() {
        assert_eq!(common("deploy of api to blue", "Deploy of web to green (api)"), "deploy of to");
        assert_eq!(common("a b c", "c b a").split(' ').count(), 1);
        assert_eq!(common("", "deploy"), "");
    }

    #[test]
    fn a_token_that_is_repeated_counts_each_time() {
        let mut known = Tokens::of("deploy of api").keys;
        known.sort_unstable();
        assert_eq!(Tokens::of("deploy deploy web").among(&known), 2);
    }
}
