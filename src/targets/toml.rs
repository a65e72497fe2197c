//! TOML: an array under a key, by the spans that `toml_edit` reports; the document is never
//! written back from its parsed form, so comments, order, quotes and line ends stay.

use super::list::{Element, List, Place, add_lines, added_by_us, end_of_line, quoted, refuse};
use super::{Change, LineOp, TargetError, json, line_number};
use serde_json::Value as Json;
use std::ops::Range;
use toml_edit::{Document, InlineTable, Item, Table, TableLike, Value};

/// The array under `key`, in whatever spelling: plain key, dotted key, table or inline table.
pub fn locate(text: &str, key: &[String]) -> Result<Place, TargetError> {
    let document = parse(text)?;
    let Some(item) = find(document.as_table(), key) else { return Ok(Place::Absent) };
    let Item::Value(Value::Array(array)) = item else { return refuse(key, "is not an array") };
    let Some(span) = array.span() else { return refuse(key, "is not an array") };
    let items = array.iter().filter_map(|value| {
        Some(Element { span: value.span()?, value: value.as_str().map(str::to_string) })
    });
    let list = List { items: items.collect(), inner: span.start + 1..span.end - 1 };
    Ok(Place::List(list.of_text(key)?))
}

/// `text` after one operation.
pub fn edit(text: &str, op: &LineOp) -> Result<String, TargetError> {
    let result = match locate(text, &op.section)? {
        Place::List(list) => {
            let result = json::apply(text, &list, op)?;
            without_empty_key(&result, &op.section)?
        }
        Place::Absent => match &op.change {
            Change::Add => add_key(text, &op.section, &op.line)?,
            Change::Replace { old } => return Err(TargetError::LineGone(old.clone())),
            Change::Withdraw => return Ok(text.to_string()),
        },
    };
    let mut wanted = items(text, &op.section)?;
    json::change_items(&mut wanted, op);
    let same = items(&result, &op.section)? == wanted
        && others(text, &op.section)? == others(&result, &op.section)?;
    if same { Ok(result) } else { Err(TargetError::Unsafe("the array would not read as wanted")) }
}

fn parse(text: &str) -> Result<Document<&str>, TargetError> {
    Document::parse(text).map_err(|error| TargetError::Unparseable {
        line: error.span().map_or(1, |span| line_number(text, span.start)),
        message: error.message().to_string(),
    })
}

fn find<'a>(table: &'a Table, key: &[String]) -> Option<&'a Item> {
    let (last, parents) = key.split_last()?;
    let mut table: &dyn TableLike = table;
    for part in parents {
        table = table.get(part)?.as_table_like()?;
    }
    table.get(last)
}

/// A key that only we filled goes with its last line.
fn without_empty_key(text: &str, key: &[String]) -> Result<String, TargetError> {
    let Place::List(list) = locate(text, key)? else { return Ok(text.to_string()) };
    if !list.items.is_empty() {
        return Ok(text.to_string());
    }
    if let Some(range) = inline_of_ours(text, &list, key) {
        return Ok(format!("{}{}", &text[..range.start], &text[range.end..]));
    }
    let start = text[..list.inner.start].rfind('\n').map_or(0, |newline| newline + 1);
    let lines = start..end_of_line(text, list.inner.end);
    Ok(match added_by_us(text, lines) {
        Some(range) => format!("{}{}", &text[..range.start], &text[range.end..]),
        None => text.to_string(),
    })
}

/// Puts the key where TOML lets it stand: in the deepest table of its path that has a header, else
/// among the keys of the document itself.
fn add_key(text: &str, key: &[String], line: &str) -> Result<String, TargetError> {
    let document = parse(text)?;
    let mut table = document.as_table();
    let (mut used, mut header) = (0, None);
    for (depth, part) in key[..key.len() - 1].iter().enumerate() {
        match table.get(part) {
            Some(Item::Table(inner)) => {
                table = inner;
                if !(inner.is_implicit() || inner.is_dotted()) {
                    (used, header) = (depth + 1, inner.span());
                }
            }
            Some(Item::Value(Value::InlineTable(inner))) => {
                return add_inline(text, inner, key, depth + 1, line);
            }
            Some(_) => return refuse(&key[..=depth], "is not a table that can take a key"),
            None => break,
        }
    }
    let owner = key[..used]
        .iter()
        .try_fold(document.as_table(), |table, part| table.get(part).and_then(Item::as_table));
    let last = owner.and_then(last_own_value).into_iter().chain(header.map(|span| span.end)).max();
    let at = end_of_line(text, last.unwrap_or_else(|| top(text)));
    let at = if last.is_none() { top(text) } else { at };
    let lines =
        [format!("{} = [", name(&key[used..])), format!("  {},", quoted(line)), "]".to_string()];
    Ok(add_lines(text, at, "", &lines))
}

fn top(text: &str) -> usize {
    text.len() - text.trim_start_matches('\u{feff}').len()
}

/// Where the last value of a table ends that stands under the table's own header.
fn last_own_value(table: &Table) -> Option<usize> {
    table
        .iter()
        .filter_map(|(_, item)| match item {
            Item::Value(value) => value.span().map(|span| span.end),
            Item::Table(inner) if inner.is_dotted() => last_own_value(inner),
            _ => None,
        })
        .max()
}

fn json(text: &str) -> Result<Json, TargetError> {
    toml_edit::de::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| TargetError::Unparseable { line: 1, message: error.message().to_string() })
}

fn items(text: &str, key: &[String]) -> Result<Vec<Json>, TargetError> {
    Ok(json::items(&json(text)?, key))
}

fn others(text: &str, key: &[String]) -> Result<Json, TargetError> {
    Ok(json::others(json(text)?, key))
}

/// Between the name and the list of a key of ours in an inline table.
const MARK: &str = "  =  ";

/// Puts the key behind the last one of an inline table, in the deepest inline table of its path.
fn add_inline(
    text: &str,
    mut table: &InlineTable,
    key: &[String],
    mut used: usize,
    line: &str,
) -> Result<String, TargetError> {
    while used + 1 < key.len() {
        match table.get(&key[used]) {
            Some(Value::InlineTable(inner)) => (table, used) = (inner, used + 1),
            Some(_) => return refuse(&key[..=used], "is not a table that can take a key"),
            None => break,
        }
    }
    let Some(span) = table.span() else { return refuse(&key[..used], "has no place") };
    let member = format!("{}{MARK}[{}]", name(&key[used..]), quoted(line));
    let last = table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max();
    let (at, new) = match last {
        Some(end) => (end, format!(", {member}")),
        None => (span.start + 1, format!(" {member}")),
    };
    if last.is_some_and(|end| !text[end..span.end - 1].trim().is_empty()) {
        return refuse(&key[..used], "is written in a way that takes no key");
    }
    Ok(format!("{}{new}{}", &text[..at], &text[at..]))
}

/// A key of ours in an inline table, with what was put before it.
fn inline_of_ours(text: &str, list: &List, key: &[String]) -> Option<Range<usize>> {
    let before = text[..list.inner.start - 1].strip_suffix(MARK)?;
    let parts = (1..=key.len()).rev().find_map(|n| {
        let rest = before.strip_suffix(name(&key[key.len() - n..]).as_str())?;
        rest.strip_suffix(", ").or_else(|| rest.strip_suffix(' ').filter(|r| r.ends_with('{')))
    })?;
    Some(parts.len()..list.inner.end + 1)
}

fn name(parts: &[String]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|part| toml_edit::Key::new(part).to_string()).collect();
    parts.join(".")
}
