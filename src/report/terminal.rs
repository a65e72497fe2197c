//! Text on a terminal: what stored text may do there, and how wide it is.
//!
//! Everything people are shown fits [`COLUMNS`], counted as a terminal counts: a CJK character or an
//! emoji takes two. [`one_line`] cuts, [`fold`] breaks, [`fold_diff`] breaks the lines of a diff so
//! that each keeps its sign. What programs read is never broken.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns that everything fits.
pub const COLUMNS: usize = 80;

/// The furthest column that a broken line is indented to.
const DEEPEST: usize = 28;

/// What a broken line of a diff begins with, after its sign.
const GOES_ON: &str = "  ↪ ";

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

/// Columns that `text` takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// `text` on one line, at most `columns` wide, cut at a whole grapheme.
pub fn one_line(text: &str, columns: usize) -> String {
    let flat = escape_terminal(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if width(&flat) <= columns {
        return flat;
    }
    let (start, _) = split_at(&flat, columns.saturating_sub(1));
    format!("{}…", start.trim_end())
}

/// `text` with each line that is too wide broken at spaces. What goes on stands below the line's
/// own second column, where it has one (`name   value`), else below its start.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (words, end) = line.split_at(line.trim_end_matches('\n').len());
        let words = without_tabs(words);
        if width(&words) <= COLUMNS {
            out.push_str(&words);
        } else {
            let (start, rest) = words.split_at(second_column(&words));
            let under = " ".repeat(width(start).min(DEEPEST));
            out.push_str(&broken(start, &under, rest));
        }
        out.push_str(end);
    }
    out
}

/// A unified diff with its wide lines broken.
pub fn fold_diff(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    for line in diff.lines().map(without_tabs) {
        let is_head = line.starts_with("--- ") || line.starts_with("+++ ");
        let sign = line.chars().next().filter(|sign| !is_head && "+- ".contains(*sign));
        let sign = sign.map(String::from).unwrap_or_default();
        out.push_str(&broken(&sign, &format!("{sign}{GOES_ON}"), &line[sign.len()..]));
        out.push('\n');
    }
    out
}

/// `head` and `rest`, broken into lines that fit; every further line begins with `under`.
pub fn broken(head: &str, under: &str, rest: &str) -> String {
    let mut out = head.to_string();
    let mut room = COLUMNS.saturating_sub(width(head));
    let mut rest = rest;
    while width(rest) > room {
        let (start, later) = break_at(rest, room);
        out.push_str(start.trim_end());
        out.push('\n');
        out.push_str(under);
        rest = later.trim_start();
        room = COLUMNS.saturating_sub(width(under)).max(1);
    }
    out.push_str(rest);
    out
}

/// Splits where a line of `room` columns ends best: after the last space, else within the word, of a
/// path after a slash.
fn break_at(text: &str, room: usize) -> (&str, &str) {
    let (start, later) = split_at(text, room);
    if later.starts_with(' ') {
        return (start, later);
    }
    match start.trim_end().rfind(' ').filter(|at| !start[..*at].trim().is_empty()) {
        Some(at) => text.split_at(at + 1),
        None if start.is_empty() => {
            text.split_at(text.graphemes(true).next().map_or(text.len(), str::len))
        }
        // A long path breaks between its parts rather than within a name.
        None => match start.rfind('/').map(|at| at + 1).filter(|at| *at > start.len() / 2) {
            Some(at) => text.split_at(at),
            None => (start, later),
        },
    }
}

/// The longest start of `text` that takes at most `columns`, and what follows.
fn split_at(text: &str, columns: usize) -> (&str, &str) {
    let mut taken = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += width(grapheme);
        if taken > columns {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// Where the second column of a line begins: after the first gap of two spaces or more. A line
/// without one begins at its first word.
fn second_column(line: &str) -> usize {
    let lead = line.len() - line.trim_start().len();
    let gap = line[lead..].find("  ").map(|at| lead + at);
    let column = gap.map(|at| at + line[at..].len() - line[at..].trim_start().len());
    column.filter(|at| *at < line.len() && width(&line[..*at]) <= DEEPEST).unwrap_or(lead)
}

fn without_tabs(text: &str) -> String {
    text.replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert_eq!(one_line(&format!("{family}{family}{family}"), 4), format!("{family}…"));
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("港口"), 4);
        assert_eq!(one_line("港口日志", 6), "港口…");
    }

    #[test]
    fn a_broken_line_goes_on_below_its_column() {
        let folded = fold(&format!("name          {}\n", "word ".repeat(20).trim_end()));
        let lines: Vec<&str> = folded.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("              word"), "{folded}");
        assert!(fold(&format!("  {}", "word ".repeat(20))).contains("\n  word"));
    }

    #[test]
    fn a_path_breaks_between_its_parts() {
        let folded = fold(&format!("removed   /{}/settings.json", "folder_name/".repeat(7)));
        assert!(folded.lines().next().is_some_and(|line| line.ends_with('/')), "{folded}");
    }

    #[test]
    fn each_part_of_a_diff_line_keeps_its_sign() {
        let folded = fold_diff(&format!("--- a\n+++ a\n@@ -1 +1 @@\n+{}\n", "word ".repeat(20)));
        let added: Vec<&str> = folded.lines().skip(3).collect();
        assert!(added.len() == 2 && added[1].starts_with("+  ↪ word"), "{folded}");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_and_no_word_is_lost(text in "[ a-zé港👍]{0,400}") {
            for shown in [fold(&text), fold_diff(&text)] {
                prop_assert!(shown.lines().all(|line| width(line) <= COLUMNS), "{}", shown);
            }
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&fold(&text)), bare(&text));
            prop_assert!(width(&one_line(&text, 20)) <= 20);
        }
    }
}
