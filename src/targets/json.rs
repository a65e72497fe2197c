//! JSON: a list of text, with the file's own indentation. A key that is not there yet is the
//! business of `json_key`.

use super::list::{Element, List, Place, quoted, refuse, split_items};
use super::{Change, LineOp, TargetError, json_key};
use serde_json::Value;

/// The list under `key`.
pub fn locate(text: &str, key: &[String]) -> Result<Place, TargetError> {
    parse(text)?;
    let (span, depth) = json_key::walk(text, key)?;
    if depth < key.len() {
        return match text[span].starts_with('{') {
            true => Ok(Place::Absent),
            false => refuse(&key[..depth], "is not an object"),
        };
    }
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
    let result = match (locate(text, &op.section)?, &op.change) {
        (Place::List(list), _) => {
            let result = apply(text, &list, op)?;
            match list.items.is_empty() {
                true => result,
                false => json_key::without_empty(&result, &op.section)?,
            }
        }
        (Place::Absent, Change::Add) => json_key::add(text, &op.section, &op.line)?,
        (Place::Absent, Change::Withdraw) => return Ok(text.to_string()),
        (Place::Absent, Change::Replace { old }) => {
            return Err(TargetError::LineGone(old.clone()));
        }
    };
    let (before, after) = (parse(text)?, parse(&result)?);
    let mut wanted = items(&before, &op.section);
    change_items(&mut wanted, op);
    let same = items(&after, &op.section) == wanted
        && others(before, &op.section) == others(after, &op.section);
    if same { Ok(result) } else { Err(TargetError::Unsafe("the list would not read as wanted")) }
}

/// The list under `key`; empty where there is none.
pub fn items(root: &Value, key: &[String]) -> Vec<Value> {
    let found = key.iter().try_fold(root, |value, part| value.get(part));
    found.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The value without the key and without objects that only lead to it.
pub fn others(mut value: Value, key: &[String]) -> Value {
    prune(&mut value, key);
    value
}

fn prune(value: &mut Value, key: &[String]) {
    let (Some((first, rest)), Value::Object(map)) = (key.split_first(), value) else { return };
    if rest.is_empty() {
        map.remove(first);
    } else if let Some(inner) = map.get_mut(first) {
        prune(inner, rest);
        if inner.as_object().is_some_and(serde_json::Map::is_empty) {
            map.remove(first);
        }
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
