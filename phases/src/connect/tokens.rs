//! Words, and what in a text is not a word.
//!
//! Two views of a text. *Terms* are what two notes about one thing share, whatever the inflection
//! or (for loan words and identifiers) the language: folded to lower case without accents, compound
//! identifiers also split into their parts, endings removed, cut to [`TERM_LENGTH`]. *Slots* are
//! what varies between two copies of one form: numbers, versions, dates, hashes, paths, addresses.

use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of a term that count. Six keeps most inflections of English, German and French
/// together; four to six measured alike on pairs of developer notes.
const TERM_LENGTH: usize = 6;

/// Endings that are removed where at least three characters stay, longest first.
const ENDINGS: &[&str] = &[
    "ements", "ations", "ement", "ation", "ings", "ing", "ies", "ied", "es", "ed", "er", "en", "s",
    "e",
];

static SLOT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:https?://|www\.)\S+",
        r"|(?-u:\b)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?\S*)?",
        r"|@[\w.-]+/[\w.-]+",
        r"|[\w.@~+-]*(?:/[\w.@~+*-]+)+/?",
        r"|(?-u:\b)[vV]?\d+(?:[.\d]\w*|[-+.]\w+)*(?-u:\b)",
        r"|[+-]\d+",
        r"|(?-u:\b)[0-9a-f]{7,40}(?-u:\b)",
        r"|(?-u:\b)[\w-]+\.(?:py|rs|go|js|ts|tsx|jsx|md|rst|toml|ya?ml|json|java|c|h|cpp|txt|sh|lock",
        r"|mod|sum|swift|mm?|kt|rb|html|css|xml|cfg|ini)(?-u:\b)",
    ))
    .expect("the pattern is constant")
});

static PLAIN_WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*").expect("the pattern is constant")
});

/// Lower case, accents removed, compatibility forms made one.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|ch| !is_combining_mark(*ch)).flat_map(char::to_lowercase).collect()
}

/// A folded word without its ending.
pub fn stem(word: &str) -> &str {
    let stays = |ending: &&&str| {
        word.strip_suffix(**ending).is_some_and(|rest| rest.chars().nth(2).is_some())
    };
    ENDINGS.iter().find(stays).and_then(|ending| word.strip_suffix(ending)).unwrap_or(word)
}

/// The terms of `text` in order, repeated ones too.
pub fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in words(text) {
        let parts = parts(word);
        push_term(&mut found, word);
        if parts.len() > 1 {
            parts.into_iter().for_each(|part| push_term(&mut found, part));
        }
    }
    found
}

fn push_term(found: &mut Vec<String>, word: &str) {
    let folded = fold(word);
    if folded.chars().nth(1).is_some() {
        found.push(stem(&folded).chars().take(TERM_LENGTH).collect());
    }
}

/// Runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|ch: char| !(ch.is_alphanumeric() || is_combining_mark(ch)))
        .filter(|word| !word.is_empty())
}

/// A word cut where case or kind of character changes: `flowRunID2` is `flow`, `Run`, `ID`, `2`.
fn parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut cuts = vec![0];
    for (index, pair) in chars.windows(2).enumerate() {
        let next = chars.get(index + 2).map(|(_, ch)| *ch);
        if is_cut(pair[0].1, pair[1].1, next) {
            cuts.push(pair[1].0);
        }
    }
    cuts.push(word.len());
    cuts.windows(2).map(|cut| &word[cut[0]..cut[1]]).collect()
}

fn is_cut(before: char, here: char, next: Option<char>) -> bool {
    let starts_word = here.is_uppercase() && next.is_some_and(char::is_lowercase);
    before.is_numeric() != here.is_numeric()
        || (before.is_lowercase() && here.is_uppercase())
        || (before.is_uppercase() && starts_word)
}

/// A text taken apart: its slots, and the stems of its plain words.
pub struct Parts {
    /// Slots, folded.
    pub slots: Vec<String>,
    /// Stems of the words outside the slots.
    pub words: Vec<String>,
}

/// Takes `text` apart.
pub fn take_apart(text: &str) -> Parts {
    let slots = SLOT
        .find_iter(text)
        .map(|slot| fold(slot.as_str().trim_matches(|ch| ".,;:".contains(ch))))
        .filter(|slot| !slot.is_empty())
        .collect();
    let rest = SLOT.replace_all(text, " ");
    let words = PLAIN_WORD
        .find_iter(&rest)
        .map(|word| fold(word.as_str()))
        .filter(|word| word.chars().nth(1).is_some())
        .map(|word| stem(&word).to_string())
        .collect();
    Parts { slots, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_and_accents_are_one_term() {
        assert_eq!(terms("Migrations"), terms("migration"));
        assert_eq!(terms("périmées"), terms("perimee"));
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(terms("flowRunID"), ["flowru", "flow", "run", "id"]);
        assert_eq!(terms("HTTPServer"), ["httpse", "http", "serv"]);
    }

    #[test]
    fn slots_are_what_varies() {
        let parts = take_apart("Bump @types/node from 5.1.4 to 5.1.6 in /ui");
        assert_eq!(parts.slots, ["@types/node", "5.1.4", "5.1.6", "/ui"]);
        assert_eq!(parts.words, ["bump", "from", "to", "in"]);
    }

    #[test]
    fn any_text_can_be_taken_apart() {
        for text in ["", "´", "\u{301}", "ß", "日本語 12", "a\u{0}b"] {
            take_apart(text);
            terms(text);
        }
    }
}
