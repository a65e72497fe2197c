//! Near-identical is not the same: what one number, one name or one negation changes.
//!
//! Two texts are near-identical when at least [`NEAR`] of their tokens are shared. What is left on
//! each side then says how they differ. Consolidation takes such a pair as an update or a
//! contradiction, never as repetition.

use super::lexical::{is_common, key};
use super::tokens::fold;
use crate::step::Differing;
use std::collections::BTreeMap;

/// Share of tokens that near-identical texts have in common (2 · shared / all).
const NEAR: f32 = 0.7;

/// Tokens that near-identical texts have in common at least.
const LEAST_SHARED: usize = 2;

const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "cannot", "without", "neither", "nor", "nicht", "kein", "keine",
    "keinen", "keiner", "nie", "niemals", "ohne", "pas", "jamais", "aucun", "aucune", "sans",
    "dont", "doesnt", "isnt", "wont", "cant", "didnt", "arent", "shouldnt", "mustnt",
];

/// Words of which one says what the other denies.
const OPPOSITES: &[(&str, &str)] = &[
    ("on", "off"),
    ("true", "false"),
    ("yes", "no"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("enables", "disables"),
    ("allow", "deny"),
    ("allowed", "forbidden"),
    ("allows", "forbids"),
    ("always", "never"),
    ("required", "optional"),
    ("before", "after"),
    ("add", "remove"),
    ("sync", "async"),
    ("immer", "nie"),
    ("erlaubt", "verboten"),
    ("vor", "nach"),
    ("toujours", "jamais"),
    ("avant", "apres"),
];

const NUMBER_WORDS: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "twelve",
    "hundred",
    "thousand",
    "once",
    "twice",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "daily",
    "weekly",
    "monthly",
    "hourly",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonntag",
    "eins",
    "zwei",
    "drei",
    "vier",
    "funf",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
    "deux",
    "trois",
    "quatre",
    "cinq",
];

/// The tokens of a text as written, each with the key of its folded form: what is compared, made
/// once a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Wording(Vec<(String, u64)>);

impl Wording {
    /// The tokens of `text`, the punctuation around them removed.
    pub(super) fn of(text: &str) -> Self {
        let keyed = |token: String| {
            let key = key(&fold(&token));
            (token, key)
        };
        Self(tokens(text).map(keyed).collect())
    }

    /// See [`differing`].
    pub(super) fn differing(&self, other: &Self) -> Option<Differing> {
        let is_near = |shared: usize| shared >= LEAST_SHARED && self.share(shared, other) >= NEAR;
        if !is_near(self.0.len().min(other.0.len())) {
            return None;
        }
        let (only_a, only_b, shared) = self.difference(other);
        if !is_near(shared) {
            return None;
        }
        if is_negated(&only_a, &only_b) {
            return Some(Differing::Negation);
        }
        if only_a.is_empty() || only_b.is_empty() {
            return None;
        }
        if any(&only_a, is_number) && any(&only_b, is_number) {
            return Some(Differing::Number);
        }
        (any(&only_a, is_name) && any(&only_b, is_name)).then_some(Differing::Identifier)
    }

    /// Share of all tokens that `shared` in each of the two are.
    fn share(&self, shared: usize, other: &Self) -> f32 {
        2.0 * shared as f32 / (self.0.len() + other.0.len()) as f32
    }

    /// Tokens only in this one, only in the other, and the number shared; case does not count,
    /// repetition does.
    fn difference<'a>(&'a self, other: &'a Self) -> (Vec<&'a str>, Vec<&'a str>, usize) {
        let mut left: BTreeMap<u64, i32> = BTreeMap::new();
        for (_, key) in &other.0 {
            *left.entry(*key).or_default() += 1;
        }
        let mut only_a = Vec::new();
        for (token, key) in &self.0 {
            let count = left.entry(*key).or_default();
            if *count > 0 { *count -= 1 } else { only_a.push(token.as_str()) }
        }
        let mut only_b = Vec::new();
        for (token, key) in other.0.iter().rev() {
            let count = left.entry(*key).or_default();
            if *count > 0 {
                *count -= 1;
                only_b.push(token.as_str());
            }
        }
        let shared = self.0.len() - only_a.len();
        (only_a, only_b, shared)
    }
}

/// How two nearly identical texts differ; `None` where they say the same, or are not nearly
/// identical.
pub fn differing(a: &str, b: &str) -> Option<Differing> {
    Wording::of(a).differing(&Wording::of(b))
}

/// Share of tokens that two spellings of one sentence have in common.
const SAME: f32 = 0.9;

/// Whether two texts are the same sentence but for case, punctuation or a word at the rim: one
/// statement, not two that confirm each other.
pub fn repeats(a: &str, b: &str) -> bool {
    let (x, y) = (Wording::of(a), Wording::of(b));
    let (.., shared) = x.difference(&y);
    shared > 0 && x.share(shared, &y) >= SAME && x.differing(&y).is_none()
}

/// Tokens as written, the punctuation around them removed.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace()
        .flat_map(|word| word.split(['=', ':', '(', ')', ',', ';']))
        .map(|word| word.trim_matches(|ch: char| !ch.is_alphanumeric() && !"/@#+-_".contains(ch)))
        .map(|word| word.trim_end_matches(['-', '/', '+']))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(str::to_string)
}

fn is_negated(a: &[&str], b: &[&str]) -> bool {
    let plain = |word: &&str| fold(word).replace(['\'', '’'], "");
    let (a, b): (Vec<String>, Vec<String>) =
        (a.iter().map(plain).collect(), b.iter().map(plain).collect());
    let count =
        |words: &[String]| words.iter().filter(|word| NEGATIONS.contains(&word.as_str())).count();
    let has = |words: &[String], wanted: &str| words.iter().any(|word| word == wanted);
    count(&a) % 2 != count(&b) % 2
        || OPPOSITES.iter().any(|(x, y)| (has(&a, x) && has(&b, y)) || (has(&a, y) && has(&b, x)))
}

fn any(words: &[&str], is: fn(&str) -> bool) -> bool {
    words.iter().any(|word| is(word))
}

fn is_number(word: &str) -> bool {
    let folded = fold(word);
    let singular = folded.strip_suffix('s').unwrap_or(&folded);
    word.chars().any(|ch| ch.is_ascii_digit())
        || NUMBER_WORDS.contains(&folded.as_str())
        || NUMBER_WORDS.contains(&singular)
}

/// A name: written like code or a path, with a capital, or a word that notes rarely use.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches('-');
    inner.contains(['_', '.', '/', '-', '@', '#'])
        || word.starts_with('-')
        || word.chars().any(char::is_uppercase)
        || !is_common(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_version_or_day() {
        let how = |a, b| differing(a, b);
        assert_eq!(how("The API listens on port 8080", "The API listens on port 8081"), NUMBER);
        assert_eq!(how("Deploys happen on Tuesdays", "Deploys happen on Thursdays"), NUMBER);
        assert_eq!(how("Pin sphinx to 5.2.3 in /docs", "Pin sphinx to 5.3.0 in /docs"), NUMBER);
    }

    #[test]
    fn one_name() {
        assert_eq!(
            differing("Use npm to install packages", "Use pnpm to install packages"),
            Some(Differing::Identifier)
        );
        assert_eq!(
            differing(
                "Read the limit from conf/a.toml first",
                "Read the limit from conf/b.toml first"
            ),
            Some(Differing::Identifier)
        );
    }

    #[test]
    fn one_negation() {
        let negation = Some(Differing::Negation);
        assert_eq!(differing("Retries are enabled in CI", "Retries are disabled in CI"), negation);
        assert_eq!(
            differing(
                "The cache must be cleared before a deploy",
                "The cache must not be cleared before a deploy"
            ),
            negation
        );
        assert_eq!(
            differing("The worker doesn't retry on timeout", "The worker does retry on timeout"),
            negation
        );
    }

    #[test]
    fn small_edits_and_other_sentences_are_no_difference() {
        assert_eq!(differing("Deploys happen on Tuesdays", "deploys happen on Tuesdays!"), None);
        assert_eq!(differing("The pool is shared.", "The pool is shared. (again)"), None);
        assert_eq!(differing("The queue is drained at night", "Backups run to another disk"), None);
        assert_eq!(differing("", ""), None);
    }

    #[test]
    fn another_spelling_repeats_and_another_statement_does_not() {
        let text = "The pool of `harbor` is created before the fork, so handles leak.";
        assert!(repeats(text, &text.to_lowercase().replace('`', "")));
        assert!(repeats(text, &format!("{text} (again)")));
        assert!(!repeats(text, "Handles leak since the pool of harbor is made before the fork"));
        assert!(!repeats("The API listens on port 8080", "The API listens on port 8081"));
    }

    const NUMBER: Option<Differing> = Some(Differing::Number);
}
