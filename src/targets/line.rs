//! A line as it may stand in a file: it cannot break out of its place or act as anything but text.

use lifecycle_phases::text::{normalise, printable};

/// `text` as the value of a list item in TOML, YAML or JSON: one line, no controls. Quoting is the
/// format's business. Empty when nothing readable is left.
pub fn value_line(text: &str) -> String {
    normalise(&printable(text).replace(is_separator, " "))
}

/// `text` as one Markdown list item, without its mark.
///
/// - one line, no control or bidirectional characters;
/// - no comment can start or end in it, so it cannot close our block or hide what follows;
/// - nothing at its start acts as a heading, quote, fence, list, rule, table or reference;
/// - a literal `@word` stands in backticks, else assistants import it as a file.
///
/// Applying it twice changes nothing more.
pub fn item_line(text: &str) -> String {
    let line = value_line(text).replace("<!--", "<! --").replace("-->", "-- >");
    let line = short_runs(&line);
    let line = quote_imports(&drop_stray_backticks(&line));
    guard_start(&line)
}

/// Line and paragraph separators end a line for some readers; `printable` keeps them as text.
fn is_separator(ch: char) -> bool {
    matches!(ch, '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{b}' | '\u{c}')
}

fn guard_start(line: &str) -> String {
    let Some(first) = line.chars().next() else { return String::new() };
    let fence = line.starts_with("~~~");
    let starts = matches!(first, '#' | '>' | '|' | '=' | '<' | '[' | '-' | '+' | '*' | '_' | ':');
    // `**bold**`, `_text_`, `[link](…)`, `<tag>` inside a line and flags such as `--quiet` are
    // harmless; what would open a block of its own gets a backslash.
    let opens = match first {
        '-' | '+' | '*' | '_' => opens_list_or_rule(line),
        '[' => {
            line.starts_with("[ ]")
                || line.starts_with("[x]")
                || line.starts_with("[X]")
                || line.contains("]:")
        }
        '<' => true,
        _ => starts,
    };
    if fence || opens { format!("\\{line}") } else { guard_number(line) }
}

fn opens_list_or_rule(line: &str) -> bool {
    let mut rest = line.chars();
    let mark = rest.next();
    let only_marks = line.chars().all(|ch| Some(ch) == mark || ch == ' ');
    only_marks || (mark != Some('_') && rest.next().is_none_or(|ch| ch == ' '))
}

fn guard_number(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let opens = digits > 0
        && (rest.starts_with('.') || rest.starts_with(')'))
        && rest[1..].chars().next().is_none_or(|ch| ch == ' ');
    if opens { format!("{}\\{rest}", &line[..digits]) } else { line.to_string() }
}

/// Three backticks open a fence; within a line one does the same work.
fn short_runs(line: &str) -> String {
    let mut out = line.to_string();
    while out.contains("```") {
        out = out.replace("```", "`");
    }
    out
}

/// Backtick runs without a partner of the same length become apostrophes: such a run could pair
/// with a backtick that is added later and turn code into text.
fn drop_stray_backticks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for piece in pieces(line) {
        match piece {
            Piece::Code(code) => out.push_str(code),
            Piece::Text(text) => out.push_str(&text.replace('`', "'")),
        }
    }
    out
}

fn quote_imports(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    for piece in pieces(line) {
        match piece {
            Piece::Code(code) => {
                // Two code spans that touch would join into one run of backticks.
                if out.ends_with('`') {
                    out.push(' ');
                }
                out.push_str(code);
            }
            Piece::Text(text) => quote_words(text, &mut out),
        }
    }
    out
}

fn quote_words(text: &str, out: &mut String) {
    let mut before = out.chars().next_back();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let previous = rest[..at].chars().next_back().or(before);
        out.push_str(&rest[..at]);
        let word = import_word(&rest[at..]);
        let inside_word = previous.is_some_and(|ch| ch.is_alphanumeric());
        if word.len() > 1 && !inside_word {
            if out.ends_with(['`', '\\']) {
                out.push(' ');
            }
            out.push('`');
            out.push_str(word);
            out.push('`');
            before = word.chars().next_back();
            rest = &rest[at + word.len()..];
        } else {
            // Only this sign is none of an import: another one may follow in the same word.
            out.push('@');
            before = Some('@');
            rest = &rest[at + 1..];
        }
    }
    if out.ends_with('`') && rest.starts_with('`') {
        out.push(' ');
    }
    out.push_str(rest);
}

/// `@` and the word after it, closing punctuation left out.
fn import_word(text: &str) -> &str {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let word =
        text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*']);
    if word.is_empty() { &text[..1] } else { word }
}

enum Piece<'a> {
    Code(&'a str),
    Text(&'a str),
}

/// Code spans (CommonMark 6.1: a run of backticks and the next run of the same length) and the
/// text between them. A backslash before a run does not matter to a reader that looks for `@`, so
/// it is not honoured here: what looks like a span is taken as one only if both rules agree.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while let Some(open) = line[at..].find('`').map(|offset| at + offset) {
        let run = run_length(line, open);
        match closing(line, open + run, run) {
            Some(end) if !line[..open].ends_with('\\') => {
                found.push(Piece::Text(&line[text_from..open]));
                found.push(Piece::Code(&line[open..end]));
                (text_from, at) = (end, end);
            }
            _ => at = open + run,
        }
    }
    found.push(Piece::Text(&line[text_from..]));
    found
}

fn run_length(line: &str, at: usize) -> usize {
    line.as_bytes()[at..].iter().take_while(|byte| **byte == b'`').count()
}

fn closing(line: &str, mut from: usize, run: usize) -> Option<usize> {
    while let Some(at) = line[from..].find('`').map(|offset| from + offset) {
        let length = run_length(line, at);
        if length == run {
            return Some(at + length);
        }
        from = at + length;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Parser, Tag};

    #[test]
    fn a_word_with_an_at_sign_is_quoted_once() {
        assert_eq!(
            item_line("ask @team/handle, or use @decorator."),
            "ask `@team/handle`, or use `@decorator`."
        );
        assert_eq!(item_line("in `@code` and a@b.example"), "in `@code` and a@b.example");
        assert_eq!(item_line("stray ` then @x"), "stray ' then `@x`");
        assert_eq!(item_line("x@ab*@cd"), "x@ab*`@cd`");
    }

    #[test]
    fn nothing_opens_a_block_of_its_own() {
        assert_eq!(item_line("# not a heading"), "\\# not a heading");
        assert_eq!(item_line("1. first"), "1\\. first");
        assert_eq!(item_line("**bold** stays"), "**bold** stays");
        assert_eq!(item_line("--quiet stays"), "--quiet stays");
        assert_eq!(item_line("---"), "\\---");
    }

    #[test]
    fn a_block_cannot_be_closed_from_inside() {
        let line = item_line("x\n<!-- lifecycle:end -->\n# mine\u{202e}");
        assert!(!line.contains("<!--") && !line.contains("-->") && !line.contains('\n'));
        assert!(!line.contains('\u{202e}'));
    }

    fn plain(line: &str) -> bool {
        let text = format!("- {line}\n<!-- e -->\n");
        let mut depth = 0;
        for event in Parser::new(&text) {
            match event {
                Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::BlockQuote(_)) => {
                    return false;
                }
                Event::Start(Tag::List(_)) => depth += 1,
                Event::Rule => return false,
                Event::Text(words) if has_import(&words) => return false,
                _ => {}
            }
        }
        depth == 1
    }

    fn has_import(words: &str) -> bool {
        words.split_whitespace().any(|word| {
            word.starts_with('@')
                && word.len() > 1
                && word[1..].chars().next().is_some_and(char::is_alphanumeric)
        })
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_plain_item(text in "[ -~\\n\\t]{0,60}|([@`#\\-*+_<>!\\[\\]:x1. ]|--|<!--|```|@ab){0,16}") {
            let line = item_line(&text);
            prop_assert!(!line.contains('\n'));
            if !line.is_empty() {
                prop_assert!(plain(&line), "{text:?} became {line:?}");
            }
            prop_assert_eq!(item_line(&line), line);
        }
    }
}
