//! Text as words for search: what the table `term` holds and what a query asks it for.
//!
//! - Words are lower case; accents of Latin, Greek and Cyrillic letters do not count.
//! - An identifier counts whole and by its parts: `getUserName` is also `get`, `user`, `name`, and
//!   `max_links` is also `max`, `links`. The same holds for paths, versions and flags: `src/fts.rs`,
//!   `1.4.2`, `--no-model`.
//! - Scripts written without spaces are cut into overlapping pieces of two and three characters, so
//!   that any two characters of them can be found.
//!
//! Index and query are cut by the same function. A change here needs [`super::rebuild_words`].

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The longest whole identifier or path that counts as one word, in characters.
const LONGEST_COMPOUND: usize = 80;

/// The most distinct words a query asks for; later ones are left out.
const MOST_QUERY_TERMS: usize = 96;

/// One word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word as the index holds it.
    pub word: String,
    /// It stands for every word that starts so.
    pub prefix: bool,
}

/// The words of `text` in order, repeated ones included.
pub fn terms_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for raw in plain(text).split_whitespace() {
        compound(raw, &mut words);
    }
    words
}

/// The distinct words of a query in order of appearance. A single character of a script without
/// spaces stands for every piece that starts with it. Nothing in `text` is syntax.
pub fn query_terms(text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for word in terms_of(text) {
        let mut chars = word.chars();
        let prefix = chars.next().is_some_and(is_unspaced) && chars.next().is_none();
        let term = Term { word, prefix };
        if !terms.contains(&term) {
            terms.push(term);
        }
        if terms.len() == MOST_QUERY_TERMS {
            break;
        }
    }
    terms
}

/// Splits what stands between two spaces: `--tb=line`, `Query.update()`, `src/store/fts.rs`.
fn compound(raw: &str, words: &mut Vec<String>) {
    for piece in raw.split(|ch: char| !(is_letter(ch) || is_joint(ch))) {
        let inner = piece.trim_start_matches(|ch| ch == '_' || is_joint(ch));
        let inner = inner.trim_end_matches(|ch| ch == '_' || (is_joint(ch) && !is_tail(ch)));
        inner.split(|ch| !is_letter(ch)).for_each(|part| identifier(part, words));
        if inner.contains(is_joint) && !inner.contains(is_unspaced) {
            push_whole(inner, words);
        }
        if piece.starts_with('-') && inner.starts_with(|ch: char| ch.is_ascii_alphabetic()) {
            push_whole(piece.trim_end_matches(is_joint), words);
        }
    }
}

/// One identifier: whole, and by its parts where there are several.
fn identifier(text: &str, words: &mut Vec<String>) {
    if text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        // Most words; they have no parts.
        words.extend((!text.is_empty()).then(|| text.to_string()));
        return;
    }
    if text.contains(is_unspaced) {
        return unspaced(text, words);
    }
    let parts = parts(text);
    if let [only] = parts.as_slice() {
        return push(only, words);
    }
    parts.iter().for_each(|part| push(part, words));
    if !parts.is_empty() {
        push_whole(text.trim_matches('_'), words);
    }
}

/// Parts at `_` and at changes of case: `parseHTTPReply` is `parse`, `HTTP`, `Reply`.
fn parts(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut parts = vec![String::new()];
    for (at, &ch) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let starts_word = ch.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase()
                        && chars.get(at + 1).is_some_and(|next| next.is_lowercase()))
            });
        if ch == '_' || starts_word {
            parts.push(String::new());
        }
        if let (true, Some(last)) = (ch != '_', parts.last_mut()) {
            last.push(ch);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Text with characters of scripts without spaces: pieces of two and three of them, and the words
/// between.
fn unspaced(text: &str, words: &mut Vec<String>) {
    let chars: Vec<char> = text.chars().collect();
    let mut rest = chars.as_slice();
    while let Some(&first) = rest.first() {
        let is_same = |ch: &char| is_unspaced(*ch) == is_unspaced(first);
        let (run, after) = rest.split_at(rest.iter().take_while(|ch| is_same(ch)).count());
        if !is_unspaced(first) {
            push(&run.iter().collect::<String>(), words);
        } else if run.len() == 1 {
            words.push(first.to_string());
        } else {
            for length in 2..=3 {
                words.extend(run.windows(length).map(|piece| piece.iter().collect::<String>()));
            }
        }
        rest = after;
    }
}

fn push(word: &str, words: &mut Vec<String>) {
    let lower: String = word.chars().flat_map(char::to_lowercase).filter(not_accent).collect();
    if !lower.is_empty() {
        words.push(lower);
    }
}

fn push_whole(word: &str, words: &mut Vec<String>) {
    if word.chars().count() <= LONGEST_COMPOUND {
        push(word, words);
    }
}

/// Compatibility forms made plain and accents taken off; case stays.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    text.nfkd().filter(not_accent).nfc().collect::<String>().into()
}

/// Marks of other scripts than Latin, Greek and Cyrillic are letters there and stay.
fn not_accent(ch: &char) -> bool {
    !matches!(ch, '\u{300}'..='\u{36f}')
}

/// Characters that join parts into one name; the tokenizer of the table keeps them.
fn is_joint(ch: char) -> bool {
    matches!(ch, '-' | '.' | '/' | ':' | '+' | '#' | '@' | '$')
}

/// Joints that mean something at the end of a name: `C++`, `C#`.
fn is_tail(ch: char) -> bool {
    matches!(ch, '+' | '#')
}

fn is_letter(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_' || is_combining_mark(ch)
}

/// Han, Kana, Hangul, Thai, Lao, Khmer and Myanmar characters.
pub fn is_unspaced(ch: char) -> bool {
    matches!(ch,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        terms_of(text)
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(words("getUserName"), ["get", "user", "name", "getusername"]);
        assert_eq!(words("`max_links`,"), ["max", "links", "max_links"]);
        assert_eq!(words("parseHTTPReply()"), ["parse", "http", "reply", "parsehttpreply"]);
    }

    #[test]
    fn paths_versions_and_flags_count_whole_too() {
        assert_eq!(words("src/fts.rs"), ["src", "fts", "rs", "src/fts.rs"]);
        assert_eq!(words("--tb=line"), ["tb", "--tb", "line"]);
        assert_eq!(words("version 1.4.2."), ["version", "1", "4", "2", "1.4.2"]);
        assert_eq!(words("C++ and c#"), ["c", "c++", "and", "c", "c#"]);
    }

    #[test]
    fn accents_and_case_do_not_count() {
        assert_eq!(words("Écrire ÉCRIRE e\u{301}crire"), ["ecrire", "ecrire", "ecrire"]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_pieces() {
        assert_eq!(words("固定端口"), ["固定", "定端", "端口", "固定端", "定端口"]);
        assert_eq!(words("用sqlite3吧"), ["用", "sqlite3", "吧"]);
        let single = query_terms("固");
        assert_eq!(single, [Term { word: "固".into(), prefix: true }]);
    }

    proptest! {
        #[test]
        fn every_word_survives_the_tables_tokenizer(text in "\\PC{0,60}") {
            for word in terms_of(&text) {
                prop_assert!(!word.is_empty());
                let kept = |ch: char| !ch.is_ascii() || is_letter(ch) || is_joint(ch);
                prop_assert!(word.chars().all(kept), "{word:?}");
                prop_assert!(!word.chars().any(|ch| ch.is_ascii_uppercase()));
            }
        }

        #[test]
        fn a_part_of_the_text_is_found_by_its_words(text in "[a-zA-Z_ ./-]{1,60}") {
            let all = terms_of(&text);
            for piece in text.split_whitespace() {
                prop_assert!(terms_of(piece).iter().all(|word| all.contains(word)));
            }
        }
    }
}
