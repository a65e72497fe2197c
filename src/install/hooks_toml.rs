//! Hooks in Codex' `config.toml`. The same event can be spelled three ways there, and a key that is
//! added in another spelling than the one in use stops Codex from starting:
//!
//! | spelling                                    | ours goes                                     |
//! |---------------------------------------------|-----------------------------------------------|
//! | `hooks = { Stop = [ … ] }`                  | into the list, or as one more member          |
//! | `hooks.Stop = [ … ]`                        | into the list, or as one more line after it   |
//! | `[hooks]` with `Stop = [ … ]`               | into the list                                 |
//! | `[[hooks.Stop]]`, or no such event below a `[hooks]` | as `[[hooks.Stop]]` between two marks at the end |

use super::{Assistant, Handler, SpliceError};
use std::ops::Range;
use toml_edit::{Array, Document, InlineTable, Item, TableLike, Value};

const BEGIN: &str = "# lifecycle:begin";
const END: &str = "# lifecycle:end";

/// Whether the text declares hooks of its own (the state that Codex keeps below `hooks` is none).
pub fn has_events(text: &str) -> Result<bool, SpliceError> {
    let doc = parse(text)?;
    let Some(hooks) = hooks(&doc) else { return Ok(false) };
    Ok(hooks.iter().any(|(_, item)| item.is_array() || item.is_array_of_tables()))
}

/// The text with exactly the wanted hooks of ours in it; the same text where they stand there.
pub fn install(
    text: &str,
    assistant: Assistant,
    wanted: &[(String, Handler)],
) -> Result<String, SpliceError> {
    if present(text, assistant)? == sorted(wanted) {
        return Ok(text.to_string());
    }
    let mut out = uninstall(text, assistant)?;
    let mut block = String::new();
    for (event, handler) in wanted {
        match spliced(&out, event, handler)? {
            Some(next) => out = next,
            None => block.push_str(&tables(event, handler)),
        }
    }
    if !block.is_empty() {
        let end = if out.contains("\r\n") { "\r\n" } else { "\n" };
        let gap = if out.is_empty() || out.ends_with('\n') { "" } else { end };
        out = format!("{out}{gap}{}", format!("{BEGIN}\n{block}{END}\n").replace('\n', end));
    }
    if present(&out, assistant)? == sorted(wanted) { Ok(out) } else { Err(SpliceError::Unsafe) }
}

/// The text without any hook of ours.
pub fn uninstall(text: &str, assistant: Assistant) -> Result<String, SpliceError> {
    let mut out = without_block(text);
    while let Some(cut) = first_of_ours(&out, assistant)? {
        out.replace_range(cut, "");
    }
    if present(&out, assistant)?.is_empty() { Ok(out) } else { Err(SpliceError::Unsafe) }
}

fn parse(text: &str) -> Result<Document<&str>, SpliceError> {
    Document::parse(text).map_err(|error| SpliceError::Unparseable(error.message().to_string()))
}

fn hooks<'a>(doc: &'a Document<&str>) -> Option<&'a dyn TableLike> {
    doc.as_item().as_table_like()?.get("hooks")?.as_table_like()
}

/// The text with the handler put into what is spelled inline; `None`: it takes tables.
fn spliced(text: &str, event: &str, handler: &Handler) -> Result<Option<String>, SpliceError> {
    let doc = parse(text)?;
    let root = doc.as_item().as_table_like().ok_or(SpliceError::Unsafe)?;
    let Some(item) = root.get("hooks") else { return Ok(None) };
    let hooks =
        item.as_table_like().ok_or_else(|| SpliceError::Shape("hooks".into(), "a table"))?;
    let insert = match (hooks.get(event), item) {
        (Some(Item::Value(Value::Array(list))), _) => into_list(text, list, &group(handler)),
        (Some(Item::ArrayOfTables(_)), _) => None,
        (Some(_), _) => return Err(SpliceError::Shape(event.into(), "a list")),
        (None, Item::Value(Value::InlineTable(table))) => {
            into_table(table, &format!("{event} = [ {} ]", group(handler)))
        }
        (None, Item::Table(table)) if table.is_dotted() => last_line(text, hooks)
            .map(|at| (at, format!("hooks.{event} = [ {} ]\n", group(handler)))),
        (None, _) => None,
    };
    Ok(insert.map(|(at, new)| format!("{}{new}{}", &text[..at], &text[at..])))
}

fn into_list(text: &str, list: &Array, new: &str) -> Option<(usize, String)> {
    let span = list.span()?;
    let Some(last) = list.iter().last().and_then(Value::span) else {
        return Some((span.start + 1, new.to_string()));
    };
    let trailing = text[last.end..span.end].find(',').map(|at| last.end + at + 1);
    Some(match trailing {
        Some(at) => (at, format!(" {new},")),
        None => (last.end, format!(", {new}")),
    })
}

fn into_table(table: &InlineTable, new: &str) -> Option<(usize, String)> {
    let span = table.span()?;
    Some(match table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max() {
        Some(end) => (end, format!(", {new}")),
        None => (span.start + 1, format!(" {new} ")),
    })
}

/// Start of the line after the last value below `hooks`.
fn last_line(text: &str, hooks: &dyn TableLike) -> Option<usize> {
    let end = hooks.iter().filter_map(|(_, item)| item.span()).map(|span| span.end).max()?;
    text[end..].find('\n').map(|at| end + at + 1)
}

fn group(handler: &Handler) -> String {
    format!(
        "{{ hooks = [ {{ type = \"command\", command = {}, timeout = {} }} ] }}",
        quoted(&handler.command),
        handler.timeout
    )
}

fn tables(event: &str, handler: &Handler) -> String {
    format!(
        "[[hooks.{event}]]\n[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = {}\ntimeout = {}\n",
        quoted(&handler.command),
        handler.timeout
    )
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn without_block(text: &str) -> String {
    let Some(start) = text.find(BEGIN) else { return text.to_string() };
    let Some(end) = text[start..].find(END).map(|at| start + at + END.len()) else {
        return text.to_string();
    };
    let rest = text[end..].strip_prefix("\r\n").or_else(|| text[end..].strip_prefix('\n'));
    format!("{}{}", &text[..start], rest.unwrap_or(&text[end..]))
}

/// What has to go so that the first inline hook of ours is out.
fn first_of_ours(text: &str, assistant: Assistant) -> Result<Option<Range<usize>>, SpliceError> {
    let doc = parse(text)?;
    let Some(hooks) = hooks(&doc) else { return Ok(None) };
    for (event, item) in hooks.iter() {
        let Some(groups) = item.as_array() else { continue };
        for (g, group) in groups.iter().enumerate() {
            let inner = group.as_inline_table().and_then(|table| table.get("hooks")?.as_array());
            let Some(inner) = inner else { continue };
            let ours = inner.iter().position(|value| {
                read(value.as_inline_table().map(|table| table as &dyn TableLike))
                    .is_some_and(|handler| is_ours(&handler, assistant))
            });
            if let Some(h) = ours {
                return Ok(if inner.len() > 1 {
                    element(inner, h)
                } else if groups.len() > 1 {
                    element(groups, g)
                } else {
                    member(text, hooks, event)
                });
            }
        }
    }
    Ok(None)
}

/// The bytes of element `n` with the comma that sets it off.
fn element(list: &Array, n: usize) -> Option<Range<usize>> {
    let span = |n: usize| list.get(n).and_then(Value::span);
    match (n.checked_sub(1).and_then(span), span(n), span(n + 1)) {
        (Some(before), Some(item), _) => Some(before.end..item.end),
        (None, Some(item), Some(next)) => Some(item.start..next.start),
        _ => None,
    }
}

/// The bytes of an event that holds nothing but ours: a member of an inline table, or a whole line.
fn member(text: &str, hooks: &dyn TableLike, event: &str) -> Option<Range<usize>> {
    let value = hooks.get(event)?.span()?;
    let line_start = text[..value.start].rfind('\n').map_or(0, |at| at + 1);
    let head = text[line_start..value.start].trim_start();
    let is_own_line = head.starts_with("hooks.") || head.starts_with(event);
    if is_own_line
        && hooks.iter().all(|(_, item)| {
            item.span().is_none_or(|span| span.start >= line_start || span.end <= line_start)
        })
    {
        let end = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at + 1);
        return Some(line_start..end);
    }
    let key = text[..value.start].rfind(event)?;
    let comma = text[..key].trim_end();
    if comma.ends_with(',') { Some(comma.len() - 1..value.end) } else { Some(key..value.end) }
}

/// A handler of type `command`.
fn read(table: Option<&dyn TableLike>) -> Option<Handler> {
    let table = table?;
    let text = |key: &str| table.get(key).and_then(Item::as_str).map(ToString::to_string);
    Some(Handler {
        kind: text("type")?,
        command: text("command")?,
        args: None,
        timeout: table
            .get("timeout")
            .and_then(Item::as_integer)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0),
    })
}

fn is_ours(handler: &Handler, assistant: Assistant) -> bool {
    assistant.owns(&handler.command, None)
}

/// The hooks of ours in the text, sorted by event.
fn present(text: &str, assistant: Assistant) -> Result<Vec<(String, Handler)>, SpliceError> {
    let doc = parse(text)?;
    let Some(hooks) = hooks(&doc) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (event, item) in hooks.iter() {
        for handler in handlers(item) {
            if is_ours(&handler, assistant) {
                found.push((event.to_string(), handler));
            }
        }
    }
    Ok(sorted(&found))
}

fn handlers(event: &Item) -> Vec<Handler> {
    let groups: Vec<&dyn TableLike> = match event {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table as &dyn TableLike).collect(),
        Item::Value(Value::Array(list)) => inline_tables(list),
        _ => Vec::new(),
    };
    let inner = groups.into_iter().filter_map(|group| group.get("hooks"));
    inner
        .flat_map(|hooks| match hooks {
            Item::ArrayOfTables(tables) => {
                tables.iter().map(|table| table as &dyn TableLike).collect()
            }
            Item::Value(Value::Array(list)) => inline_tables(list),
            _ => Vec::new(),
        })
        .filter_map(|table| read(Some(table)))
        .collect()
}

fn inline_tables(list: &Array) -> Vec<&dyn TableLike> {
    list.iter().filter_map(Value::as_inline_table).map(|table| table as &dyn TableLike).collect()
}

fn sorted(hooks: &[(String, Handler)]) -> Vec<(String, Handler)> {
    let mut hooks = hooks.to_vec();
    hooks.sort_by(|x, y| (&x.0, &x.1.command).cmp(&(&y.0, &y.1.command)));
    hooks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const OTHER: &str = "{ hooks = [ { type = \"command\", command = \"other-tool start\" } ] }";

    fn spellings() -> Vec<String> {
        vec![
            "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ntype = \"command\"\ncommand = \"x\"\n\n[tui]\na = 1\n".into(),
            format!("hooks.SessionStart = [ {OTHER} ]\nmodel = \"m\" # why\n[tui]\na = 1\n"),
            format!("hooks = {{ SessionStart = [ {OTHER} ] }}\n"),
            format!("[hooks]\nStop = [\n  {OTHER},\n]\n[tui]\na = 1\n"),
            format!("hooks = {{ Stop = [ {OTHER} ], SessionStart = [] }}\r\nmodel = \"m\"\r\n"),
        ]
    }

    #[test]
    fn every_spelling_still_parses_takes_ours_once_and_gives_the_bytes_back() {
        let wanted = Assistant::Codex.wanted("/home/ro bin/bin/lifecycle");
        for text in spellings() {
            assert!(has_events(&text).unwrap());
            let once = install(&text, Assistant::Codex, &wanted).unwrap();
            assert!(Document::parse(once.as_str()).is_ok(), "{once}");
            assert_eq!(present(&once, Assistant::Codex).unwrap(), sorted(&wanted), "{once}");
            assert_eq!(install(&once, Assistant::Codex, &wanted).unwrap(), once);
            if !text.contains("SessionStart = []") {
                assert_eq!(uninstall(&once, Assistant::Codex).unwrap(), text, "{once}");
            }
        }
    }

    #[test]
    fn what_codex_remembers_of_trust_is_no_hook() {
        assert!(!has_events("[hooks.state.\"a:b\"]\ntrusted_hash = \"x\"\n").unwrap());
    }
}
