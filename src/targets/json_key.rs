//! A key that a JSON file does not have yet, put in and taken out again.
//!
//! JSON has no comments to mark it by. A key of ours is told by its spelling: a space before the
//! colon and two behind it, `"rules" :  [`, which no formatter writes. Where one has been at work
//! since, the key is the user's and stays as an empty list.

use super::list::{indent_of, quoted, refuse, skip_quoted, split_items};
use super::{TargetError, line_end, splice};
use std::ops::Range;

/// Between the name and the value of a key of ours.
const MARK: &str = " :  ";

/// A member of an object: from its name to the end of its value.
struct Member {
    all: Range<usize>,
    name: String,
    value: Range<usize>,
    ours: bool,
}

fn members(text: &str, object: &Range<usize>) -> Vec<Member> {
    let member = |all: Range<usize>| {
        let end = skip_quoted(text.as_bytes(), all.start, b'"');
        let name: String = serde_json::from_str(&text[all.start..end]).ok()?;
        let rest = text[end..all.end].trim_start().strip_prefix(':')?.trim_start();
        let value = all.end - rest.len()..all.end;
        Some(Member { ours: &text[end..value.start] == MARK, all, name, value })
    };
    let inner = object.start + 1..object.end - 1;
    split_items(text, inner).into_iter().filter_map(member).collect()
}

/// The value under `key`, or the deepest object on the way and how much of the path leads there.
/// The text is known to be valid JSON.
pub fn walk(text: &str, key: &[String]) -> Result<(Range<usize>, usize), TargetError> {
    let start = text.len() - text.trim_start_matches('\u{feff}').trim_start().len();
    let mut span = start..text.trim_end().len();
    for (depth, part) in key.iter().enumerate() {
        if !text[span.clone()].starts_with('{') {
            return refuse(&key[..depth], "is not an object");
        }
        let mut hits = members(text, &span).into_iter().filter(|member| member.name == *part);
        match (hits.next(), hits.next()) {
            (Some(found), None) => span = found.value,
            (None, _) => return Ok((span, depth)),
            (Some(_), Some(_)) => return refuse(&key[..=depth], "stands there twice"),
        }
    }
    Ok((span, key.len()))
}

/// `text` with the key and its first line.
pub fn add(text: &str, key: &[String], line: &str) -> Result<String, TargetError> {
    let (object, depth) = walk(text, key)?;
    if !text[object.clone()].starts_with('{') {
        return refuse(&key[..depth], "is not an object");
    }
    let eol = line_end(text);
    let broken = text[object.clone()].contains('\n');
    let (at, lead, indent) = match members(text, &object).last() {
        Some(last) => {
            let indent = indent_of(text, last.all.start);
            let line_start = text[..last.all.start].rfind('\n').map_or(0, |newline| newline + 1);
            let own_line = broken && text[line_start..last.all.start].trim().is_empty();
            let gap = if own_line { format!(",{eol}{indent}") } else { ", ".to_string() };
            (last.all.end, gap, indent.to_string())
        }
        None => {
            let indent = format!("{}  ", indent_of(text, object.start));
            let gap = if broken { format!("{eol}{indent}") } else { String::new() };
            (object.start + 1, gap, indent)
        }
    };
    let list = match broken {
        true => format!("[{eol}{indent}  {}{eol}{indent}]", quoted(line)),
        false => format!("[{}]", quoted(line)),
    };
    let (first, inner) = (&key[depth], &key[depth + 1..]);
    let open: String = inner.iter().map(|part| format!("{{{}: ", quoted(part))).collect();
    let member = format!("{}{MARK}{open}{list}{}", quoted(first), "}".repeat(inner.len()));
    Ok(splice(text, vec![(at..at, format!("{lead}{member}"))]))
}

/// `text` without a key of ours whose list is empty by now; it holds nothing but that list.
pub fn without_empty(text: &str, key: &[String]) -> Result<String, TargetError> {
    let (value, depth) = walk(text, key)?;
    let empty = depth == key.len() && split_items(text, value.start + 1..value.end - 1).is_empty();
    let mut object = walk(text, &[])?.0;
    for part in key.iter().filter(|_| empty) {
        let all = members(text, &object);
        let Some(n) = all.iter().position(|member| member.name == *part) else { break };
        if all[n].ours {
            return Ok(cut(text, &object, &all, n));
        }
        object = all[n].value.clone();
    }
    Ok(text.to_string())
}

fn cut(text: &str, object: &Range<usize>, all: &[Member], n: usize) -> String {
    let range = match (n.checked_sub(1), all.get(n + 1)) {
        (Some(before), _) => all[before].all.end..all[n].all.end,
        (None, Some(next)) => all[n].all.start..next.all.start,
        (None, None) => object.start + 1..all[n].all.end,
    };
    splice(text, vec![(range, String::new())])
}
