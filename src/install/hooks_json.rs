//! Hooks in JSON: `{"hooks": {EVENT: [{"matcher", "hooks": [HANDLER…]}…]}}`, the shape that Claude
//! Code and Codex share. Ours stand in a group of their own at the end of each event.

use super::json::{Layout, Node, parse, remove};
use super::{Assistant, Handler, SpliceError};
use serde::Serialize;

/// A matcher group of ours: no matcher, one handler.
#[derive(Serialize)]
struct Group<'a> {
    hooks: [&'a Handler; 1],
}

/// The text with exactly the wanted hooks of ours in it; the same text where they stand there.
pub fn install(
    text: Option<&str>,
    assistant: Assistant,
    wanted: &[(String, Handler)],
) -> Result<String, SpliceError> {
    let start = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    if present(start, assistant)? == wanted {
        return Ok(start.to_string());
    }
    let mut out = uninstall(start, assistant)?;
    for (event, handler) in wanted {
        out = add(&out, event, handler)?;
    }
    if present(&out, assistant)? == wanted { Ok(out) } else { Err(SpliceError::Unsafe) }
}

fn add(text: &str, event: &str, handler: &Handler) -> Result<String, SpliceError> {
    let group = Group { hooks: [handler] };
    let root = parse(text)?;
    let layout = Layout::of(text, &root);
    let Some(hooks) = root.member("the file", "hooks")? else {
        let value = std::collections::BTreeMap::from([(event, [group])]);
        return Ok(layout.append(text, &root, Some("hooks"), &value));
    };
    Ok(match hooks.value.member("hooks", event)? {
        Some(groups) => {
            groups.value.elements(event)?;
            layout.append(text, &groups.value, None, &group)
        }
        None => layout.append(text, &hooks.value, Some(event), &[group]),
    })
}

/// The text without any hook of ours; groups, events and `hooks` that were only there for ours go
/// with them.
pub fn uninstall(text: &str, assistant: Assistant) -> Result<String, SpliceError> {
    let mut out = text.to_string();
    loop {
        let root = parse(&out)?;
        match first_of_ours(&out, &root, assistant)? {
            Some(at) => out = take_out(&out, &root, at)?,
            None => return Ok(out),
        }
    }
}

/// Index of event, group and handler.
type At = (usize, usize, usize);

fn first_of_ours(text: &str, root: &Node, assistant: Assistant) -> Result<Option<At>, SpliceError> {
    Ok(handlers(text, root)?
        .into_iter()
        .find(|(_, _, value)| is_ours(value, assistant))
        .map(|(at, ..)| at))
}

fn take_out(text: &str, root: &Node, (event, group, handler): At) -> Result<String, SpliceError> {
    let unsafe_edit = || SpliceError::Unsafe;
    let hooks_at = root.members("the file")?.iter().position(|member| member.key == "hooks");
    let hooks_at = hooks_at.ok_or_else(unsafe_edit)?;
    let hooks = &root.members("the file")?[hooks_at].value;
    let groups = &hooks.members("hooks")?.get(event).ok_or_else(unsafe_edit)?.value;
    let group_node = groups.elements("event")?.get(group).ok_or_else(unsafe_edit)?;
    let inner = &group_node.member("group", "hooks")?.ok_or_else(unsafe_edit)?.value;
    Ok(if inner.elements("hooks")?.len() > 1 {
        remove(text, inner, handler)
    } else if groups.elements("event")?.len() > 1 {
        remove(text, groups, group)
    } else if hooks.members("hooks")?.len() > 1 {
        remove(text, hooks, event)
    } else {
        remove(text, root, hooks_at)
    })
}

/// Every handler with where it stands and its event.
fn handlers(text: &str, root: &Node) -> Result<Vec<(At, String, Handler)>, SpliceError> {
    let mut found = Vec::new();
    let Some(hooks) = root.member("the file", "hooks")? else { return Ok(found) };
    for (e, event) in hooks.value.members("hooks")?.iter().enumerate() {
        // Other keys than events stay unread: a later version may have them.
        let Ok(groups) = event.value.elements(&event.key) else { continue };
        for (g, group) in groups.iter().enumerate() {
            let Ok(Some(inner)) = group.member("group", "hooks") else { continue };
            for (h, node) in inner.value.elements("hooks")?.iter().enumerate() {
                if let Some(handler) = read(&text[node.span.clone()]) {
                    found.push(((e, g, h), event.key.clone(), handler));
                }
            }
        }
    }
    Ok(found)
}

/// A handler of type `command`, whatever else it holds.
fn read(text: &str) -> Option<Handler> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let args = value.get("args").map(|args| {
        let words = args.as_array().into_iter().flatten();
        words.filter_map(|word| word.as_str().map(ToString::to_string)).collect()
    });
    Some(Handler {
        kind: value.get("type")?.as_str()?.into(),
        command: value.get("command")?.as_str()?.into(),
        args,
        timeout: value.get("timeout").and_then(serde_json::Value::as_u64).unwrap_or(0) as u32,
    })
}

fn is_ours(handler: &Handler, assistant: Assistant) -> bool {
    assistant.owns(&handler.command, handler.args.as_deref())
}

/// The hooks of ours in the text: event and handler, in the order of the template's events.
fn present(text: &str, assistant: Assistant) -> Result<Vec<(String, Handler)>, SpliceError> {
    let root = parse(text)?;
    let mut found: Vec<(String, Handler)> = handlers(text, &root)?
        .into_iter()
        .filter(|(_, _, handler)| is_ours(handler, assistant))
        .map(|(_, event, handler)| (event, handler))
        .collect();
    let order: Vec<String> =
        assistant.wanted_with("", true).into_iter().map(|(event, _)| event).collect();
    found.sort_by_key(|(event, _)| order.iter().position(|name| name == event));
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CLAUDE: Assistant = Assistant::ClaudeCode;

    fn wanted() -> Vec<(String, Handler)> {
        CLAUDE.wanted("/home/ro bin/bin/lifecycle")
    }

    #[test]
    fn installing_twice_is_installing_once_and_removal_gives_the_bytes_back() {
        for text in [
            "{\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"hooks\": []\n            }\n        ]\n    },\n    \"x\": [1]\n}\n",
            "{\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
            "{\n  \"model\": \"a \\\"b\\\" {\"\n}",
        ] {
            let once = install(Some(text), CLAUDE, &wanted()).unwrap();
            assert_eq!(install(Some(&once), CLAUDE, &wanted()).unwrap(), once);
            assert_eq!(uninstall(&once, CLAUDE).unwrap(), text);
        }
    }

    #[test]
    fn a_moved_program_is_replaced_not_doubled() {
        let old = install(None, CLAUDE, &CLAUDE.wanted("/old/lifecycle")).unwrap();
        let new = install(Some(&old), CLAUDE, &wanted()).unwrap();
        assert!(!new.contains("/old/"));
        assert_eq!(new.matches("\"timeout\": 5").count(), wanted().len());
    }

    #[test]
    fn a_file_of_another_shape_is_left_alone() {
        for text in ["[]", "{\"hooks\": []}", "{\"hooks\": {}, \"hooks\": {}}", "{// note\n}"] {
            assert!(install(Some(text), CLAUDE, &wanted()).is_err(), "{text}");
        }
    }
}
