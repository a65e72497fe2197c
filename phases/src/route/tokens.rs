//! Words and character runs as routing counts them.

use std::collections::HashMap;

/// Words that say nothing about the subject.
const STOP: &[&str] = &[
    "a", "an", "the", "and", "or", "of", "to", "in", "on", "for", "with", "is", "are", "be", "as",
    "at", "by", "it", "its", "this", "that", "these", "those", "from", "not", "no", "do", "don",
    "s", "t", "if", "when", "use", "used", "using", "you", "your", "we", "our", "can", "must",
    "should", "will", "may", "into", "than", "then", "only", "all", "any", "each", "per", "via",
];

/// Length of the character runs.
pub const RUN: usize = 6;

/// Hash of a term: terms are only ever compared.
pub type Term = u64;

/// Terms with their counts.
pub type Bag = HashMap<Term, f32>;

/// The words of `text`, lower case and stemmed. An identifier counts as a whole and by its parts
/// (`fooBar_baz` → `foobar_baz`, `foo`, `bar`, `baz`).
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')) {
        if word.is_empty() {
            continue;
        }
        let parts = parts(word);
        if parts.len() > 1 || word.contains('_') {
            found.push(word.to_lowercase());
        }
        let parts = parts.into_iter().map(|part| part.to_lowercase());
        found.extend(
            parts
                .filter(|part| part.chars().count() > 1 && !STOP.contains(&part.as_str()))
                .map(|part| stem(&part)),
        );
    }
    found
}

/// Runs of [`RUN`] characters, lower case, white space squeezed.
pub fn runs(text: &str) -> Bag {
    let lower = text.to_lowercase();
    let squeezed: Vec<char> =
        lower.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let mut counted = Bag::new();
    for run in squeezed.windows(RUN) {
        *counted.entry(term(run.iter().map(|ch| u64::from(*ch)))).or_insert(0.0) += 1.0;
    }
    counted
}

/// The words of `text`, counted.
pub fn bag(text: &str) -> Bag {
    let mut counted = Bag::new();
    for word in words(text) {
        *counted.entry(term(word.bytes().map(u64::from))).or_insert(0.0) += 1.0;
    }
    counted
}

/// FNV-1a, 64 bits: the same on every machine and in every run.
fn term(units: impl Iterator<Item = u64>) -> Term {
    units.fold(0xcbf2_9ce4_8422_2325, |hash, unit| (hash ^ unit).wrapping_mul(0x0100_0000_01b3))
}

/// Splits at underscores, at changes from lower to upper case and between letters and digits.
fn parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    for pair in 1..=chars.len() {
        let (before, at) = (chars[pair - 1].1, chars.get(pair).map(|(_, ch)| *ch));
        let end = chars.get(pair).map_or(word.len(), |(offset, _)| *offset);
        let next = chars.get(pair + 1).map(|(_, ch)| *ch);
        if at.is_none_or(|at| is_boundary(before, at, next)) {
            let part = word[start..end].trim_matches('_');
            if !part.is_empty() {
                found.push(part);
            }
            start = end;
        }
    }
    found
}

fn is_boundary(before: char, at: char, next: Option<char>) -> bool {
    before == '_'
        || at == '_'
        || before.is_numeric() != at.is_numeric()
        || (before.is_lowercase() && at.is_uppercase())
        || (before.is_uppercase() && at.is_uppercase() && next.is_some_and(char::is_lowercase))
}

/// A light English stemmer: the commonest endings, never below three letters.
fn stem(word: &str) -> String {
    let cut = |ending: &str, least: usize| {
        (word.len() >= least && word.is_ascii()).then(|| word.strip_suffix(ending)).flatten()
    };
    if let Some(rest) = cut("ied", 5).or_else(|| cut("ies", 5)) {
        return format!("{rest}y");
    }
    if word.ends_with("ss") {
        return word.to_string();
    }
    let endings = [
        ("ingly", 6),
        ("edly", 6),
        ("ings", 5),
        ("ing", 5),
        ("ed", 5),
        ("es", 5),
        ("ly", 5),
        ("s", 4),
    ];
    endings.iter().find_map(|(ending, least)| cut(ending, *least)).unwrap_or(word).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(words("syncWithBackend()"), ["syncwithbackend", "sync", "backend"]);
        assert_eq!(words("HTTPServer v2"), ["httpserver", "http", "server", "v2"]);
        assert_eq!(words("the policies"), ["policy"]);
    }

    #[test]
    fn runs_ignore_spacing_and_case() {
        assert_eq!(runs("Ab  cdef"), runs("aB cdef"));
        assert_eq!(runs("Ab  cdef").len(), 2);
    }
}
