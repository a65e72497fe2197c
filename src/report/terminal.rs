//! Stored text on a terminal.

use unicode_segmentation::UnicodeSegmentation;

/// Stored text as it may be shown on a terminal: control characters, escape sequences among them,
/// become visible signs instead of acting on the terminal, and signs that turn the direction of
/// the text do not make it read as something else.
pub fn escape_terminal(text: &str) -> String {
    text.chars()
        .map(|ch| match ch {
            '\n' | '\t' => ch,
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + ch as u32).unwrap_or('?'),
            '\u{7f}'..='\u{9f}' => '\u{fffd}',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            _ => ch,
        })
        .collect()
}

/// JSON as it may be shown on a terminal: what a reader of JSON would leave as it is, but a terminal
/// act upon, is written as an escape. It is the same JSON.
pub fn escape_json(json: &str) -> String {
    let acts = |ch: char| matches!(ch, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !json.contains(acts) {
        return json.to_string();
    }
    let mut out = String::with_capacity(json.len());
    for ch in json.chars() {
        if acts(ch) {
            out.push_str(&format!("\\u{:04x}", ch as u32));
        } else {
            out.push(ch);
        }
    }
    out
}

/// `text` on one line, at most `width` characters, cut at a whole grapheme.
pub fn one_line(text: &str, width: usize) -> String {
    let flat = escape_terminal(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let graphemes: Vec<&str> = flat.graphemes(true).collect();
    if graphemes.len() <= width {
        return flat;
    }
    format!("{}…", graphemes[..width.saturating_sub(1)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_act() {
        assert_eq!(escape_terminal("a\u{1b}[2Jb"), "a\u{241b}[2Jb");
        assert_eq!(escape_terminal("a\u{9b}2Jb\u{202e}c"), "a\u{fffd}2Jb\u{fffd}c");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a": "x\u{9b}31m\u{202e}y\u{1b}"});
        let shown = escape_json(&value.to_string());
        assert!(shown.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
    }

    #[test]
    fn a_family_is_not_torn_apart() {
        let family = "👨‍👩‍👧";
        assert_eq!(one_line(&format!("{family}{family}{family}"), 2), format!("{family}…"));
    }
}
