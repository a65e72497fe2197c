//! A list between brackets, as TOML, JSON and YAML's flow style write it: items in and out by
//! splicing text. Putting an item at the end and taking it out again are exact inverses, with and
//! without a comma after the last item.

use super::{TargetError, line_end, splice};
use std::ops::Range;

/// Where a key's list stands.
#[derive(Debug)]
pub enum Place {
    /// The file has no such key.
    Absent,
    /// The key holds a list.
    List(List),
}

/// A list and its items.
#[derive(Debug)]
pub struct List {
    /// From behind the opening bracket to before the closing one.
    pub inner: Range<usize>,
    /// In order.
    pub items: Vec<Element>,
}

/// An item of a list.
#[derive(Clone, Debug)]
pub struct Element {
    /// The item without the white space and comma around it.
    pub span: Range<usize>,
    /// Its value, where that is a string.
    pub value: Option<String>,
}

impl List {
    /// The list, if it holds nothing but text: a line of ours among tables or numbers would break
    /// whoever reads it.
    pub fn of_text(self, key: &[String]) -> Result<Self, TargetError> {
        match self.items.iter().all(|item| item.value.is_some()) {
            true => Ok(self),
            false => refuse(key, "holds other things than text"),
        }
    }

    /// The item with this value.
    pub fn find(&self, value: &str) -> Option<usize> {
        self.items.iter().position(|item| item.value.as_deref() == Some(value))
    }

    /// `text` with `literal` as the last item.
    pub fn append(&self, text: &str, literal: &str) -> String {
        let edits = match self.items.last() {
            None => vec![self.first(text, literal)],
            Some(last) => self.behind(text, last, literal),
        };
        splice(text, edits.into_iter().map(|(at, new)| (at..at, new)).collect())
    }

    /// `text` with item `n` written as `literal`.
    pub fn replace(&self, text: &str, n: usize, literal: &str) -> String {
        splice(text, vec![(self.items[n].span.clone(), literal.to_string())])
    }

    /// `text` without item `n`.
    pub fn remove(&self, text: &str, n: usize) -> String {
        let span = self.items[n].span.clone();
        let lead = lead_start(text, self.before(text, n), span.start);
        let comma = comma_after(text, span.end, self.inner.end);
        let cut = |range: Range<usize>| (range, String::new());
        let edits = match (comma, n) {
            (Some(_), 0) if !text[lead..span.start].contains('\n') => {
                let next = self.items.get(1).map_or(self.inner.end, |item| item.span.start);
                vec![cut(span.start..next)]
            }
            (Some(comma), _) => vec![cut(lead..comma + 1)],
            (None, 0) if text[lead..span.start].contains('\n') => vec![cut(lead..span.end)],
            (None, 0) => vec![cut(span)],
            (None, _) => {
                let previous = comma_after(text, self.items[n - 1].span.end, span.start);
                let comma = previous.map(|comma| cut(comma..comma + 1));
                comma
                    .into_iter()
                    .chain([cut(lead.max(previous.map_or(0, |at| at + 1))..span.end)])
                    .collect()
            }
        };
        splice(text, edits)
    }

    /// Behind which byte the white space and comments before item `n` start.
    fn before(&self, text: &str, n: usize) -> usize {
        match n.checked_sub(1) {
            None => self.inner.start,
            Some(previous) => {
                let end = self.items[previous].span.end;
                comma_after(text, end, self.inner.end).map_or(end, |comma| comma + 1)
            }
        }
    }

    fn first(&self, text: &str, literal: &str) -> (usize, String) {
        let inner = &text[self.inner.clone()];
        if !inner.contains('\n') || !inner.trim().is_empty() {
            return (self.inner.start, literal.to_string());
        }
        let indent = indent_of(text, self.inner.start);
        (self.inner.start, format!("{}{indent}  {literal}", line_end(text)))
    }

    fn behind(&self, text: &str, last: &Element, literal: &str) -> Vec<(usize, String)> {
        let before = self.before(text, self.items.len() - 1);
        let own_line = text[before..last.span.start].contains('\n');
        let comma = comma_after(text, last.span.end, self.inner.end);
        let end = comma.map_or(last.span.end, |comma| comma + 1);
        let after = if comma.is_some() { "," } else { "" };
        let lead = if own_line {
            format!("{}{}", line_end(text), indent_of(text, last.span.start))
        } else {
            self.gap(text)
        };
        let at = own_line.then(|| rest_of_line(text, end, self.inner.end)).flatten().unwrap_or(end);
        let new = format!("{lead}{literal}{after}");
        match comma {
            Some(_) => vec![(at, new)],
            None if at == end => vec![(at, format!(",{new}"))],
            None => vec![(end, ",".to_string()), (at, new)],
        }
    }

    /// What stands between a comma and the next item on one line.
    fn gap(&self, text: &str) -> String {
        let last = self.items.len() - 1;
        if last == 0 {
            return " ".to_string();
        }
        let gap = &text[self.before(text, last)..self.items[last].span.start];
        if gap.trim().is_empty() { gap.to_string() } else { " ".to_string() }
    }
}

/// The string in the quotes that JSON, YAML and TOML have in common.
pub fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// What is said of a key that cannot take the line.
pub fn refuse<T>(key: &[String], message: &'static str) -> Result<T, TargetError> {
    Err(TargetError::Key { key: key.join("."), message })
}

/// Splits the inside of a bracket at its commas. Quotes, nested brackets and comments are honoured.
pub fn split_items(text: &str, inner: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), None, inner.start, 0_usize);
    let mut end = inner.start;
    while at < inner.end {
        let from = at;
        match bytes[at] {
            b',' if depth == 0 => {
                found.extend(start.take().map(|start: usize| start..end));
                at += 1;
                continue;
            }
            b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                at = skip_comment(bytes, at);
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            quote @ (b'"' | b'\'') => at = skip_quoted(bytes, at, quote),
            b'[' | b'{' => (depth, at) = (depth + 1, at + 1),
            b']' | b'}' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ => at += 1,
        }
        start = start.or(Some(from));
        end = at;
    }
    found.extend(start.map(|start| start..end));
    found
}

/// The offset behind the quoted string that starts at `at`.
pub fn skip_quoted(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != quote {
        end += if bytes[end] == b'\\' && quote == b'"' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

fn skip_comment(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |offset| at + offset)
}

/// The comma that follows `from` with nothing but white space and comments between.
fn comma_after(text: &str, from: usize, until: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < until {
        match bytes[at] {
            b',' => return Some(at),
            b'#' => at = skip_comment(bytes, at),
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return None,
        }
    }
    None
}

/// Start of what was put before an item: its indent and one line end, or the blanks on its line.
fn lead_start(text: &str, before: usize, item: usize) -> usize {
    let gap = &text[before..item];
    let indent = gap.trim_end_matches([' ', '\t']);
    match indent.strip_suffix('\n') {
        Some(rest) => before + rest.strip_suffix('\r').unwrap_or(rest).len(),
        None => before + indent.len(),
    }
}

/// The end of the line of `from` if only blanks and a comment stand between and the list goes on
/// on the next line.
fn rest_of_line(text: &str, from: usize, until: usize) -> Option<usize> {
    let line = &text[from..until];
    let length = line.find('\n')?;
    let rest = line[..length].trim_end_matches('\r');
    let only_comment = rest.trim().is_empty() || rest.trim_start().starts_with('#');
    only_comment.then_some(from + rest.len())
}

/// The blanks at the start of the line that holds byte `at`.
pub fn indent_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// A key that we added stands between two comment lines; returns it with them and with the line
/// end that came with it, given the key's own lines.
pub fn added_by_us(text: &str, lines: Range<usize>) -> Option<Range<usize>> {
    let before = text[..lines.start].strip_suffix('\n')?;
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    let after =
        text[lines.end..].strip_prefix('\r').unwrap_or(&text[lines.end..]).strip_prefix('\n')?;
    let end_line = after.lines().next()?;
    if marker(&before[begin..]) != Some(COMMENT_BEGIN) || marker(end_line) != Some(COMMENT_END) {
        return None;
    }
    let end = text.len() - after.len() + end_line.len();
    if text[..begin].trim_start_matches('\u{feff}').is_empty() {
        let rest = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        return Some(begin..rest);
    }
    let start = text[..begin].trim_end_matches('\n').len().max(begin - 1);
    Some(start - usize::from(text[..start].ends_with('\r'))..end)
}

/// First line around a key that we added, behind its indent.
pub const COMMENT_BEGIN: &str = "# lifecycle:begin";
/// Last line around it.
pub const COMMENT_END: &str = "# lifecycle:end";

fn marker(line: &str) -> Option<&str> {
    Some(line.trim()).filter(|word| *word == COMMENT_BEGIN || *word == COMMENT_END)
}

/// `text` with `lines` (indented, without line ends) as a block between comment markers behind the
/// line that ends at `at`; at the top of an empty beginning the block comes first.
pub fn add_lines(text: &str, at: usize, indent: &str, lines: &[String]) -> String {
    let eol = line_end(text);
    let all = std::iter::once(COMMENT_BEGIN.to_string())
        .chain(lines.iter().cloned())
        .chain([COMMENT_END.to_string()])
        .map(|line| format!("{indent}{line}"))
        .collect::<Vec<_>>()
        .join(eol);
    let first = text[..at].trim_start_matches('\u{feff}').is_empty();
    let new = if first { format!("{all}{eol}") } else { format!("{eol}{all}") };
    splice(text, vec![(at..at, new)])
}

/// The offset of the line end (or of the end of the text) at or behind `at`.
pub fn end_of_line(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |offset| at + offset);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}
