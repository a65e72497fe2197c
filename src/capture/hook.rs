//! The hook: what an assistant calls when something happens in a conversation.
//!
//! It stands between the user and the end of a session that may take 1.5 s in all, so it reads
//! one JSON object, leaves one inbox record and returns. It opens no database, no settings and no
//! conversation file (a `stat` is all), and it never fails: whatever is wrong, the exit code is 0
//! and standard output stays empty, because on some events an assistant reads both as an order.
//! What a killed or failed hook did not tell, the scan finds. What else an event leads to (a
//! briefing, a tick that is due) comes after the record, within a limit of its own.

use super::inbox::{self, Announcement, Record};
use super::object::read_object;
use super::{Assistant, INTERNAL};
use crate::error::Result;
use crate::paths::Paths;
use crate::redact::redact;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// How long the hook waits for a whole object on its standard input.
pub const PATIENCE: Duration = Duration::from_millis(800);

/// Events after which a conversation is worth reading. Anything else, known or not, is ignored;
/// an event without a name counts, since old versions left it out.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "Interrupt",
];

/// A longer last message is not kept in the record: the file will have it.
const MAX_MESSAGE: usize = 64 << 10;

/// What the caller has to know of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Name of the event; empty where none was given.
    pub event: String,
    /// Id of the conversation.
    pub session: Option<String>,
    /// Working folder.
    pub cwd: Option<String>,
    /// What the user typed (UserPromptSubmit).
    pub prompt: Option<String>,
    /// The record that was left.
    pub record: Option<PathBuf>,
}

/// Reads the event on `input` and leaves a record. `Ok(None)`: there was nothing to read, it comes
/// from a sub-agent, or the process belongs to the engine itself.
///
/// # Errors
/// No home folder, or the inbox cannot be written. The caller reports at most one line and still
/// ends with exit code 0.
pub fn run(
    assistant: Assistant,
    input: impl Read + Send + 'static,
    now: i64,
) -> Result<Option<Told>> {
    if std::env::var_os(INTERNAL).is_some() {
        return Ok(None);
    }
    let Some(bytes) = read_object(input, PATIENCE) else { return Ok(None) };
    let paths = Paths::from_env()?;
    let Some(mut told) = told(&bytes) else { return Ok(None) };
    if let Some(announced) = announcement(assistant, &bytes, &paths, now) {
        told.record = Some(inbox::put(&paths, &Record::Conversation(announced), now)?);
    }
    Ok(Some(told))
}

fn told(bytes: &[u8]) -> Option<Told> {
    let event: Value = super::transcript::json::parse(bytes)?;
    (!in_sub_agent(&event)).then(|| Told {
        event: text(&event, "hook_event_name").unwrap_or_default(),
        session: text(&event, "session_id"),
        cwd: text(&event, "cwd"),
        prompt: text(&event, "prompt"),
        record: None,
    })
}

/// What the event tells, or `None` when it names no conversation or is not one of ours to act on.
pub fn announcement(
    assistant: Assistant,
    bytes: &[u8],
    paths: &Paths,
    now: i64,
) -> Option<Announcement> {
    let event: Value = super::transcript::json::parse(bytes)?;
    let name = text(&event, "hook_event_name");
    if name.as_deref().is_some_and(|name| !EVENTS.contains(&name)) || in_sub_agent(&event) {
        return None;
    }
    let transcript = text(&event, "transcript_path").map(|path| expand_home(&path, paths));
    let session = text(&event, "session_id");
    if transcript.is_none() && session.is_none() {
        return None;
    }
    let size = transcript.as_ref().and_then(|path| std::fs::metadata(path).ok()).map(|m| m.len());
    let is_error = name.as_deref() == Some("StopFailure");
    let last_assistant_message = text(&event, "last_assistant_message")
        .filter(|message| !is_error && message.len() <= MAX_MESSAGE)
        .map(|message| redact(&message).0);
    let cwd = text(&event, "cwd");
    let received = now;
    Some(Announcement {
        assistant,
        event: name,
        session,
        transcript,
        cwd,
        size,
        last_assistant_message,
        received,
    })
}

fn in_sub_agent(event: &Value) -> bool {
    text(event, "agent_id").is_some()
}

fn text(event: &Value, field: &str) -> Option<String> {
    event[field].as_str().filter(|text| !text.is_empty()).map(str::to_string)
}

fn expand_home(path: &str, paths: &Paths) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => paths.home.join(rest).to_string_lossy().into_owned(),
        None => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn paths() -> Paths {
        Paths { data: "/d".into(), config_file: "/c".into(), home: "/h".into() }
    }

    fn tell(event: &str) -> Option<Announcement> {
        announcement(Assistant::ClaudeCode, event.as_bytes(), &paths(), 7)
    }

    #[test]
    fn any_field_may_be_missing() {
        let told = tell(r#"{"session_id":"x"}"#).unwrap();
        assert_eq!((told.session.as_deref(), told.transcript, told.received), (Some("x"), None, 7));
        let told = tell(r#"{"transcript_path":"~/t.jsonl","cwd":null,"new":[{}]}"#).unwrap();
        assert_eq!(told.transcript.as_deref(), Some("/h/t.jsonl"));
        assert_eq!(tell(r#"{"cwd":"/p"}"#), None);
        assert_eq!(tell("{}"), None);
    }

    #[test]
    fn events_that_say_nothing_are_ignored() {
        for name in ["PreToolUse", "SubagentStop", "SomethingNew", "UserPromptSubmit"] {
            assert_eq!(tell(&format!(r#"{{"session_id":"x","hook_event_name":"{name}"}}"#)), None);
        }
        assert_eq!(tell(r#"{"session_id":"x","agent_id":"a","hook_event_name":"Stop"}"#), None);
    }

    #[test]
    fn an_error_text_is_no_message() {
        let event = |name: &str| {
            format!(
                r#"{{"session_id":"x","hook_event_name":"{name}","last_assistant_message":"m"}}"#
            )
        };
        assert_eq!(tell(&event("Stop")).unwrap().last_assistant_message.as_deref(), Some("m"));
        assert_eq!(tell(&event("StopFailure")).unwrap().last_assistant_message, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>()) {
            let _ = announcement(Assistant::Codex, &bytes, &paths(), 0);
        }
    }
}
