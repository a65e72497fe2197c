//! Text as the engine compares it.

use unicode_normalization::UnicodeNormalization;

/// The form in which two texts are compared for being the same: NFC, every run of white space one
/// space, none at the ends. Case, punctuation and digits count.
pub fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.nfc() {
        if ch.is_whitespace() || ch == '\u{feff}' {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(ch);
        }
    }
    if out.ends_with(' ') {
        out.pop();
    }
    out
}

/// The form in which two texts are compared for being the same note: [`normalise`], without what
/// somebody who writes the same again leaves out or adds: backticks, a full stop or an exclamation
/// mark at the end, the capital letter at the start. A question mark counts, and so does the case of
/// everything else: `-c` and `-C`, `Makefile` and `makefile` are two things.
pub fn wording(text: &str) -> String {
    let whole = normalise(text);
    let plain: String =
        whole.chars().filter(|ch| *ch != '`').map(|ch| if ch == '’' { '\'' } else { ch }).collect();
    let end = |ch: char| ch == ' ' || ".!…;,".contains(ch);
    let plain = normalise(plain.trim_end_matches(end));
    if plain.is_empty() { whole } else { without_capital(plain) }
}

/// A first word of letters, of which only the first is a capital, in small letters.
fn without_capital(text: String) -> String {
    let word = text.split(' ').next().unwrap_or("").trim_end_matches([',', ':', ';']);
    let mut letters = word.chars();
    let begins = letters.next().is_some_and(char::is_uppercase);
    if begins && letters.all(char::is_lowercase) {
        word.to_lowercase() + &text[word.len()..]
    } else {
        text
    }
}

/// `text` without what no line of text needs: NUL and other control characters (tab and line feed
/// stay) and bidirectional controls, which can make a line read as something it is not
/// (Unicode TR 36, 2.10). CRLF and CR become LF.
pub fn printable(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|ch| if ch == '\r' { '\n' } else { ch })
        .filter(|ch| matches!(ch, '\n' | '\t') || !(ch.is_control() || is_bidi_control(*ch)))
        .collect()
}

fn is_bidi_control(ch: char) -> bool {
    matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_and_unicode_form_do_not_count() {
        assert_eq!(normalise("  Cafe\u{301}\r\n\tport  8080 "), "Caf\u{e9} port 8080");
        assert_ne!(normalise("port 8080"), normalise("port 8081"));
    }

    #[test]
    fn a_note_written_again_is_the_same_wording() {
        let same = "the vendor's limit is 2000 in fetch.rs";
        for text in [
            "The vendor's limit is 2000 in fetch.rs.",
            "The vendor’s limit is 2000 in `fetch.rs`!",
            "the vendor's  limit is 2000 in fetch.rs .",
            "The vendor's limit is 2000 in fetch.rs…",
        ] {
            assert_eq!(wording(text), same, "{text}");
        }
    }

    #[test]
    fn what_may_mean_another_thing_is_another_wording() {
        for (a, b) in [
            ("port 8080", "port 8081"),
            ("Deploy on Friday?", "Deploy on Friday."),
            ("use git -c here", "use git -C here"),
            ("Makefile.am is made", "makefile.am is made"),
            ("README is long", "readme is long"),
            ("the Quay is closed", "the quay is closed"),
            ("do not deploy", "do deploy"),
        ] {
            assert_ne!(wording(a), wording(b), "{a} / {b}");
        }
        for text in ["...", "`", "!", "🚢", ".", "É", "ǅ x", "İ x"] {
            assert!(!wording(text).is_empty(), "{text}");
            assert_eq!(wording(&wording(text)), wording(text), "{text}");
        }
    }

    #[test]
    fn controls_leave_and_line_ends_become_one_kind() {
        assert_eq!(printable("a\u{0}b\u{202e}c\r\nd\re"), "abc\nd\ne");
    }
}
