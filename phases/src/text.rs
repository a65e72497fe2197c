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
    fn controls_leave_and_line_ends_become_one_kind() {
        assert_eq!(printable("a\u{0}b\u{202e}c\r\nd\re"), "abc\nd\ne");
    }
}
