//! Stored text on a terminal.

use unicode_segmentation::UnicodeSegmentation;

/// Stored text as it may be shown on a terminal: control characters, escape sequences among them,
/// become visible signs instead of acting on the terminal.
pub fn escape_terminal(text: &str) -> String {
    text.chars()
        .map(|ch| match ch {
            '\n' | '\t' => ch,
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + ch as u32).unwrap_or('?'),
            '\u{7f}'..='\u{9f}' => '\u{fffd}',
            _ => ch,
        })
        .collect()
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
    }

    #[test]
    fn a_family_is_not_torn_apart() {
        let family = "👨‍👩‍👧";
        assert_eq!(one_line(&format!("{family}{family}{family}"), 2), format!("{family}…"));
    }
}
