//! JSON: a list that the file already has, with its own indentation. A key that is not there is
//! not added: JSON has no comment to mark it as ours by.

use super::list::{Element, List, Place, quoted, refuse, skip_quoted, split_items};
use super::{Change, LineOp, TargetError};
use serde_json::Value;
use std::ops::Range;

/// The list under `key`.
pub fn locate(text: &str, key: &[String]) -> Result<Place, TargetError> {
    parse(text)?;
    let Some(span) = walk(text, key)? else { return Ok(Place::Absent) };
    if !text[span.clone()].starts_with('[') {
        return refuse(key, "is not a list");
    }
    let inner = span.start + 1..span.end - 1;
    let items = split_items(text, inner.clone())
        .into_iter()
        .map(|span| Element { value: serde_json::from_str(&text[span.clone()]).ok(), span });
    Ok(Place::List(List { items: items.collect(), inner }.of_text(key)?))
}

/// `text` after one operation.
pub fn edit(text: &str, op: &LineOp) -> Result<String, TargetError> {
    let Place::List(list) = locate(text, &op.section)? else {
        return match op.change {
            Change::Withdraw => Ok(text.to_string()),
            _ => refuse(&op.section, "is not in the file; add it with an empty list"),
        };
    };
    let result = apply(text, &list, op)?;
    let mut wanted = parse(text)?;
    change_value(&mut wanted, op);
    if parse(&result)? == wanted {
        Ok(result)
    } else {
        Err(TargetError::Unsafe("the list would not read as wanted"))
    }
}

/// The operation on a bracketed list; the same for every format that has one.
pub fn apply(text: &str, list: &List, op: &LineOp) -> Result<String, TargetError> {
    let standing = list.find(&op.line);
    Ok(match &op.change {
        Change::Add if standing.is_none() => list.append(text, &quoted(&op.line)),
        Change::Add => text.to_string(),
        Change::Replace { old } => {
            let n = list.find(old).ok_or_else(|| TargetError::LineGone(old.clone()))?;
            match standing {
                Some(other) if other != n => list.remove(text, n),
                _ => list.replace(text, n, &quoted(&op.line)),
            }
        }
        Change::Withdraw => standing.map_or_else(|| text.to_string(), |n| list.remove(text, n)),
    })
}

/// The operation on the value, to compare with.
pub fn change_value(root: &mut Value, op: &LineOp) {
    let pointer: String = op
        .section
        .iter()
        .map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1")))
        .collect();
    let Some(Value::Array(items)) = root.pointer_mut(&pointer) else { return };
    change_items(items, op);
}

/// The operation on the items.
pub fn change_items<T: From<String> + PartialEq<str>>(items: &mut Vec<T>, op: &LineOp) {
    let at = |items: &[T], line: &str| items.iter().position(|item| *item == *line);
    let standing = at(items, &op.line);
    match &op.change {
        Change::Add if standing.is_none() => items.push(T::from(op.line.clone())),
        Change::Add => {}
        Change::Replace { old } => {
            let Some(n) = at(items, old) else { return };
            if standing.is_some_and(|other| other != n) {
                items.remove(n);
            } else {
                items[n] = T::from(op.line.clone());
            }
        }
        Change::Withdraw => {
            if let Some(n) = standing {
                items.remove(n);
            }
        }
    }
}

fn parse(text: &str) -> Result<Value, TargetError> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        TargetError::Unparseable { line: error.line(), message: error.to_string() }
    })
}

/// The value under `key`. The text is known to be valid JSON.
fn walk(text: &str, key: &[String]) -> Result<Option<Range<usize>>, TargetError> {
    let start = text.len() - text.trim_start_matches('\u{feff}').trim_start().len();
    let mut span = start..text.trim_end().len();
    for (depth, part) in key.iter().enumerate() {
        if !text[span.clone()].starts_with('{') {
            return refuse(&key[..depth], "is not an object");
        }
        let members = split_items(text, span.start + 1..span.end - 1);
        let mut hits = members.into_iter().filter_map(|member| value_of(text, member, part));
        match (hits.next(), hits.next()) {
            (Some(found), None) => span = found,
            (None, _) => return Ok(None),
            (Some(_), Some(_)) => return refuse(&key[..=depth], "stands there twice"),
        }
    }
    Ok(Some(span))
}

fn value_of(text: &str, member: Range<usize>, name: &str) -> Option<Range<usize>> {
    let end = skip_quoted(text.as_bytes(), member.start, b'"');
    let key: String = serde_json::from_str(&text[member.start..end]).ok()?;
    let rest = text[end..member.end].trim_start().strip_prefix(':')?.trim_start();
    (key == name).then(|| member.end - rest.len()..member.end)
}
