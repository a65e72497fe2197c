//! What people and programs are shown.

use crate::error::Result;
use lifecycle_phases::EntryId;
use serde::Serialize;
use std::io::Write;

/// Digits of an id that are shown to people; enough to name an entry in any ordinary store.
const SHORT: usize = 8;

/// The start of an id, for people.
pub fn short_id(id: &EntryId) -> &str {
    id.as_str().get(..SHORT).unwrap_or(id.as_str())
}

/// Prints one JSON value and a line feed.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_text(&format!("{text}\n"));
    Ok(())
}

/// Prints text; a reader that went away (`| head`) is no failure.
pub fn print_text(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

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

/// The first line of `text`, at most `width` characters, cut at a whole grapheme.
pub fn one_line(text: &str, width: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let flat = escape_terminal(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let graphemes: Vec<&str> = flat.graphemes(true).collect();
    if graphemes.len() <= width {
        return flat;
    }
    format!("{}…", graphemes[..width.saturating_sub(1)].concat())
}
