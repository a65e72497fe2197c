//! YAML: a sequence under a key of block mappings. The place is found by lines and indentation,
//! and what was found is compared with what a YAML parser reads; whatever the two do not agree on
//! is left alone.

use super::list::{
    Element, List, Place, add_lines, added_by_us, end_of_line, quoted, refuse, split_items,
};
use super::{Change, LineOp, TargetError, json, line_end, splice};
use serde_yaml::Value;
use std::ops::Range;

/// The sequence under `key`.
pub fn locate(text: &str, key: &[String]) -> Result<Place, TargetError> {
    Ok(match find(text, key)? {
        Spot::Absent { .. } => Place::Absent,
        Spot::Flow(list) | Spot::Block { list, .. } => Place::List(list),
    })
}

/// `text` after one operation.
pub fn edit(text: &str, op: &LineOp) -> Result<String, TargetError> {
    let edited = "the sequence would not read as wanted";
    // The file parsed; what does not parse now was made by the edit: an alias without its anchor.
    let reread = |_: TargetError| TargetError::Unsafe(edited);
    let result = match (find(text, &op.section)?, &op.change) {
        (Spot::Flow(list), _) => json::apply(text, &list, op)?,
        (Spot::Block { list, key_line }, _) => {
            let result = edit_block(text, &list, &key_line, op)?;
            without_empty_key(&result, &op.section).map_err(reread)?
        }
        (Spot::Absent { at, indent, depth }, Change::Add) => {
            add_lines(text, at, &indent, &new_key(&op.section[depth..], &op.line))
        }
        (Spot::Absent { .. }, Change::Withdraw) => return Ok(text.to_string()),
        (Spot::Absent { .. }, Change::Replace { old }) => {
            return Err(TargetError::LineGone(old.clone()));
        }
    };
    let mut wanted = items(&parse(text)?, &op.section);
    let standing: Vec<String> =
        wanted.iter().filter_map(|v| v.as_str().map(str::to_string)).collect();
    change(&mut wanted, &standing, op);
    let same = items(&parse(&result).map_err(reread)?, &op.section) == wanted
        && others(text, &op.section)? == others(&result, &op.section)?;
    if same { Ok(result) } else { Err(TargetError::Unsafe(edited)) }
}

enum Spot {
    /// No such key; behind which byte it would go, its indent, and how much of the path exists.
    Absent {
        at: usize,
        indent: String,
        depth: usize,
    },
    Flow(List),
    /// A block sequence; empty when the key has no value at all.
    Block {
        list: List,
        key_line: Range<usize>,
    },
}

struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl Line<'_> {
    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }
    fn content(&self) -> &str {
        self.text.trim()
    }
    fn is_content(&self) -> bool {
        !(self.content().is_empty() || self.content().starts_with('#'))
    }
    fn is_item(&self) -> bool {
        self.content() == "-" || self.content().starts_with("- ")
    }
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut found = Vec::new();
    for line in text[at..].split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        found.push(Line { start: at, text: bare.strip_suffix('\r').unwrap_or(bare) });
        at += line.len();
    }
    found
}

fn find(text: &str, key: &[String]) -> Result<Spot, TargetError> {
    let value = parse(text)?;
    if !(value.is_mapping() || value.is_null()) {
        return refuse(&[], "the document is not a mapping");
    }
    let all = lines(text);
    let Some(document) = only_document(&all) else {
        return refuse(key, "the file holds several documents, and only one can be edited");
    };
    descend(text, &all, document, key, &value)
}

/// The lines between what opens the one document (`%YAML`, `---`) and what closes it (`...`).
fn only_document(all: &[Line<'_>]) -> Option<Range<usize>> {
    let content = |from: usize| (from..all.len()).find(|n| all[*n].is_content());
    let opens = |n: &usize| all[*n].text.starts_with("---");
    let closes = |n: &usize| all[*n].text == "..." || all[*n].text.starts_with("... ");
    let mut first = content(0);
    while let Some(n) = first.filter(|n| all[*n].text.starts_with('%')) {
        first = content(n + 1);
    }
    let start = first.map_or(0, |n| n + usize::from(opens(&n)));
    let end = (start..all.len()).find(closes).unwrap_or(all.len());
    let more = (start..end).any(|n| opens(&n)) || content(end + 1).is_some();
    (!more).then_some(start..end)
}

fn descend(
    text: &str,
    all: &[Line<'_>],
    mut range: Range<usize>,
    key: &[String],
    root: &Value,
) -> Result<Spot, TargetError> {
    let mut value = Some(root);
    for (depth, part) in key.iter().enumerate() {
        let indent =
            all[range.clone()].iter().find(|line| line.is_content()).map_or(0, Line::indent);
        let inner = value.and_then(|value| value.get(part.as_str()));
        let hit =
            range.clone().find(|n| all[*n].indent() == indent && names(&all[*n], part).is_some());
        let (hit, inner) = match (hit, inner) {
            (Some(hit), Some(inner)) => (hit, inner),
            (None, None) => return Ok(absent(text, all, range, indent, depth)),
            _ => return refuse(&key[..=depth], "cannot be told from the text around it"),
        };
        let rest = names(&all[hit], part).unwrap_or_default();
        let below = children(all, hit, range.end, indent);
        if depth + 1 == key.len() {
            return sequence(text, all, hit, rest, below, inner, key);
        }
        if !bare(rest).is_empty() {
            return refuse(&key[..=depth], marked(rest).unwrap_or("is not a block mapping"));
        }
        (range, value) = (below, Some(inner));
    }
    refuse(key, "is empty")
}

/// What follows `name:` on the line, if the line starts with that key.
fn names<'a>(line: &Line<'a>, name: &str) -> Option<&'a str> {
    let content = line.text.trim_start();
    let spellings = [name.to_string(), quoted(name), format!("'{}'", name.replace('\'', "''"))];
    spellings.iter().find_map(|spelling| {
        let rest = content.strip_prefix(spelling.as_str())?.trim_start().strip_prefix(':')?;
        (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
    })
}

/// A value without the comment behind it.
fn bare(rest: &str) -> &str {
    let rest = rest.trim();
    if rest.starts_with('#') { "" } else { rest }
}

/// Why a value that begins like this is not edited: its other places would change with it, or lose
/// what they refer to.
fn marked(rest: &str) -> Option<&'static str> {
    match bare(rest).chars().next()? {
        '&' => Some("has an anchor (`&`), so other places may repeat it; it is not edited"),
        '*' => Some("is an alias (`*`) of another place; it is not edited"),
        '!' => Some("has a tag (`!`), which may change what it means; it is not edited"),
        '|' | '>' => Some("is a block of text, not a list"),
        _ => None,
    }
}

fn children(all: &[Line<'_>], key: usize, end: usize, indent: usize) -> Range<usize> {
    let inside =
        |line: &Line<'_>| line.indent() > indent || (line.indent() == indent && line.is_item());
    let stop = (key + 1..end).find(|n| all[*n].is_content() && !inside(&all[*n])).unwrap_or(end);
    let last = (key + 1..stop).rev().find(|n| all[*n].is_content() && inside(&all[*n]));
    key + 1..last.map_or(key + 1, |n| n + 1)
}

fn absent(text: &str, all: &[Line<'_>], range: Range<usize>, indent: usize, depth: usize) -> Spot {
    let last = range.clone().rev().find(|n| !all[*n].content().is_empty());
    let at = last.map_or(text.len() - text.trim_start_matches('\u{feff}').len(), |n| all[n].end());
    let before = range.start.checked_sub(1).map(|n| all[n].end());
    Spot::Absent { at: at.max(before.unwrap_or(0)), indent: " ".repeat(indent), depth }
}

fn sequence(
    text: &str,
    all: &[Line<'_>],
    hit: usize,
    rest: &str,
    below: Range<usize>,
    value: &Value,
    key: &[String],
) -> Result<Spot, TargetError> {
    let line_range = all[hit].start..all[hit].end();
    if bare(rest).starts_with('[') {
        let open = all[hit].end() - rest.len() + rest.find('[').unwrap_or(0);
        return flow(text, open, value, key);
    }
    if let Some(what) = marked(rest) {
        return refuse(key, what);
    }
    if !bare(rest).is_empty() || !(value.is_null() || value.is_sequence()) {
        return refuse(key, "is not a list");
    }
    let spans = block_items(all, below);
    let values = value.as_sequence().map_or(&[][..], |items| items.as_slice());
    let list = List { inner: line_range.clone(), items: elements(spans, values, key)? };
    let list = list.of_text(key)?;
    Ok(Spot::Block { list, key_line: line_range })
}

fn block_items(all: &[Line<'_>], below: Range<usize>) -> Vec<Range<usize>> {
    let Some(first) = below.clone().find(|n| all[*n].is_item()) else { return Vec::new() };
    let indent = all[first].indent();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for line in &all[first..below.end] {
        match spans.last_mut() {
            _ if line.indent() == indent && line.is_item() => spans.push(line.start..line.end()),
            Some(span) if line.is_content() => span.end = line.end(),
            _ => {}
        }
    }
    spans
}

fn flow(text: &str, open: usize, value: &Value, key: &[String]) -> Result<Spot, TargetError> {
    let Some(close) = closing_bracket(text, open) else { return refuse(key, "has no end") };
    let inner = open + 1..close;
    let values = value.as_sequence().map_or(&[][..], |items| items.as_slice());
    let spans = split_items(text, inner.clone());
    Ok(Spot::Flow(List { items: elements(spans, values, key)?, inner }.of_text(key)?))
}

fn closing_bracket(text: &str, open: usize) -> Option<usize> {
    let candidates = text[open..].match_indices(']').map(|(offset, _)| open + offset);
    candidates.into_iter().find(|close| {
        serde_yaml::from_str::<Value>(&text[open..=*close]).is_ok_and(|value| value.is_sequence())
    })
}

fn elements(
    spans: Vec<Range<usize>>,
    values: &[Value],
    key: &[String],
) -> Result<Vec<Element>, TargetError> {
    if spans.len() != values.len() {
        return refuse(key, "cannot be told from the text around it");
    }
    let pairs = spans.into_iter().zip(values);
    Ok(pairs
        .map(|(span, value)| Element { span, value: value.as_str().map(str::to_string) })
        .collect())
}

fn edit_block(
    text: &str,
    list: &List,
    key_line: &Range<usize>,
    op: &LineOp,
) -> Result<String, TargetError> {
    let standing = list.find(&op.line);
    Ok(match &op.change {
        Change::Add if standing.is_none() => append(text, list, key_line, &op.line),
        Change::Add => text.to_string(),
        Change::Replace { old } => {
            let n = list.find(old).ok_or_else(|| TargetError::LineGone(old.clone()))?;
            match standing {
                Some(other) if other != n => remove(text, list, n),
                _ => {
                    let span = list.items[n].span.clone();
                    let indent = indent(&text[span.clone()]).to_string();
                    splice(text, vec![(span, format!("{indent}- {}", quoted(&op.line)))])
                }
            }
        }
        Change::Withdraw => standing.map_or_else(|| text.to_string(), |n| remove(text, list, n)),
    })
}

fn append(text: &str, list: &List, key_line: &Range<usize>, line: &str) -> String {
    let (at, indent) = match list.items.last() {
        Some(item) => (item.span.end, indent(&text[item.span.clone()]).to_string()),
        None => (key_line.end, format!("{}  ", indent(&text[key_line.clone()]))),
    };
    splice(text, vec![(at..at, format!("{}{indent}- {}", line_end(text), quoted(line)))])
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

fn remove(text: &str, list: &List, n: usize) -> String {
    let span = list.items[n].span.clone();
    let before = text[..span.start].strip_suffix('\n').unwrap_or(&text[..span.start]);
    let start = before.strip_suffix('\r').unwrap_or(before).len();
    splice(text, vec![(start..span.end, String::new())])
}

fn without_empty_key(text: &str, key: &[String]) -> Result<String, TargetError> {
    let Spot::Block { list, key_line } = find(text, key)? else { return Ok(text.to_string()) };
    if !list.items.is_empty() {
        return Ok(text.to_string());
    }
    // A key that we added with a path of its own has its parents on the lines before.
    let mut start = key_line.start;
    for _ in 0..key.len() {
        if let Some(range) = added_by_us(text, start..end_of_line(text, key_line.end)) {
            return Ok(format!("{}{}", &text[..range.start], &text[range.end..]));
        }
        let before = &text[..start.saturating_sub(1)];
        start = before.rfind('\n').map_or(0, |newline| newline + 1);
    }
    Ok(text.to_string())
}

fn new_key(path: &[String], line: &str) -> Vec<String> {
    let keys = path
        .iter()
        .enumerate()
        .map(|(depth, part)| format!("{}{}:", "  ".repeat(depth), plain_key(part)));
    keys.chain([format!("{}- {}", "  ".repeat(path.len()), quoted(line))]).collect()
}

fn plain_key(part: &str) -> String {
    let plain = part.starts_with(|ch: char| ch.is_ascii_alphabetic())
        && part.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-'))
        && !matches!(part, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if plain { part.to_string() } else { quoted(part) }
}

fn parse(text: &str) -> Result<Value, TargetError> {
    serde_yaml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        TargetError::Unparseable {
            line: error.location().map_or(1, |at| at.line()),
            message: error.to_string(),
        }
    })
}

fn items(root: &Value, key: &[String]) -> Vec<Value> {
    let found = key.iter().try_fold(root, |value, part| value.get(part.as_str()));
    found
        .and_then(Value::as_sequence)
        .cloned()
        .map_or_else(Vec::new, |items| items.into_iter().collect())
}

fn change(items: &mut Vec<Value>, standing: &[String], op: &LineOp) {
    let at = |line: &str| items.iter().position(|item| item.as_str() == Some(line));
    let here = standing.iter().any(|line| line == &op.line);
    match &op.change {
        Change::Add if !here => items.push(Value::from(op.line.clone())),
        Change::Add => {}
        Change::Replace { old } => {
            let (n, other) = (at(old), at(&op.line));
            match (n, other) {
                (Some(n), Some(other)) if n != other => drop(items.remove(n)),
                (Some(n), _) => items[n] = Value::from(op.line.clone()),
                _ => {}
            }
        }
        Change::Withdraw => {
            if let Some(n) = at(&op.line) {
                items.remove(n);
            }
        }
    }
}

/// The document without the key and without mappings that only lead to it.
fn others(text: &str, key: &[String]) -> Result<Value, TargetError> {
    let mut value = parse(text)?;
    prune(&mut value, key);
    if value.as_mapping().is_some_and(|map| map.is_empty()) {
        value = Value::Null;
    }
    Ok(value)
}

fn prune(value: &mut Value, key: &[String]) {
    let (Some((first, rest)), Some(map)) = (key.split_first(), value.as_mapping_mut()) else {
        return;
    };
    if rest.is_empty() {
        map.remove(first.as_str());
    } else if let Some(inner) = map.get_mut(first.as_str()) {
        prune(inner, rest);
        if inner.as_mapping().is_some_and(|map| map.is_empty()) {
            map.remove(first.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::targets::{Format, render};

    fn op(section: &[String], line: &str, change: Change) -> LineOp {
        LineOp { section: section.to_vec(), line: line.to_string(), change }
    }

    /// What a YAML file may hold beside plain lists: it is edited without harm, or left alone for a reason
    /// that names it.
    #[test]
    fn yaml_that_is_more_than_plain_lists() {
        let yaml = |base: &str, op: LineOp| render(Format::Yaml, base.as_bytes(), &[op]);
        let new = || op(&["rules".to_string()], "new", Change::Add);
        let withdraw = |line: &str| op(&["rules".to_string()], line, Change::Withdraw);
        for (base, after) in [
            ("%YAML 1.2\n---\nrules:\n  - one\n", "%YAML 1.2\n---\nrules:\n  - one\n  - \"new\"\n"),
            ("---\nrules:\n  - one\n...\n", "---\nrules:\n  - one\n  - \"new\"\n...\n"),
            (
                "rules:\n- one\n... # end\n# after\n",
                "rules:\n- one\n- \"new\"\n... # end\n# after\n",
            ),
            (
                "rules:\n  - &a one\n  - *a\n  - !!str 3\n",
                "rules:\n  - &a one\n  - *a\n  - !!str 3\n  - \"new\"\n",
            ),
        ] {
            assert_eq!(String::from_utf8(yaml(base, new()).unwrap()).unwrap(), after);
        }
        let absent = "%YAML 1.2\n---\nother: 1\n...\n";
        let made = String::from_utf8(yaml(absent, new()).unwrap()).unwrap();
        assert!(made.ends_with("# lifecycle:end\n...\n") && made.contains("other: 1\n"), "{made}");
        assert_eq!(yaml(&made, withdraw("new")).unwrap(), absent.as_bytes());
        for (base, reason) in [
            ("rules: &r\n  - one\nmore: *r\n", "anchor"),
            ("base: &r\n  - one\nrules: *r\n", "alias"),
            ("rules: !ordered\n  - one\n", "tag"),
            ("rules: |\n  - one\n", "block of text"),
            ("rules: one\n", "is not a list"),
            ("rules:\n  - one\n---\nrules:\n  - two\n", "more than one document"),
            ("rules:\n  - one\n...\nrules:\n  - two\n", "line"),
            ("[one, two]\n", "not a mapping"),
        ] {
            let error = yaml(base, new()).unwrap_err().to_string();
            assert!(error.contains(reason), "{base:?}: {error}");
        }
        // Taking out what another place refers to would break the file.
        let error = yaml("rules:\n  - &a one\n  - *a\n", withdraw("one")).unwrap_err();
        assert!(matches!(error, TargetError::Unsafe(_)), "{error}");
    }
}
