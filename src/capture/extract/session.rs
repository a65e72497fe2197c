//! What a conversation did: the compact record of a sitting, and failures with what mended them.
//!
//! A sitting is a conversation from its beginning, or from where it was taken up again, to its end.
//! Only one that changed a file leaves a record: talk alone is covered by its statements, and a
//! conversation in which nothing was done leaves nothing.

use super::cues::{Cues, Sort};
use super::sentences::{paragraphs, sentences};
use super::{Find, cut_with_mark};
use crate::capture::transcript::{Act, Content, Echo, Message};
use lifecycle_phases::{Actor, Kind};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

static FILE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:[\w.@~-]+/)+[\w.-]*\w|`[\w-]+\.[A-Za-z]{1,6}`";
    Regex::new(pattern).expect("the pattern is valid")
});

/// A line of output that says what went wrong.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(?:error|failed|failure|panicked|exception|fatal|denied|not found|cannot|undefined|unresolved|timed? ?out|refused)\b";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Commands whose failing is an answer, not a fault.
const LOOKERS: &[&str] = &[
    "grep",
    "rg",
    "ls",
    "cat",
    "find",
    "test",
    "which",
    "diff",
    "head",
    "tail",
    "ps",
    "git diff",
    "git status",
];

/// Most files that are noted for one entry, and longest parts of it in bytes.
const MOST_FILES: usize = 16;
const GOAL: usize = 240;
const OUTCOME: usize = 360;
const ERROR_LINE: usize = 200;

/// Most failures that one part of a conversation leaves.
const MOST_MENDED: usize = 2;

/// What is known of a sitting so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sitting {
    /// The first thing that the user asked for.
    pub goal: String,
    /// Files that were changed, in order.
    pub files: Vec<String>,
    /// The last thing that the assistant said of it.
    pub outcome: String,
    /// When it began: milliseconds since 1970-01-01 UTC.
    pub began: Option<i64>,
}

impl Sitting {
    /// Takes in one part of a conversation, redacted.
    pub(super) fn take(&mut self, messages: &[Message], echo: &Echo, cues: &Cues) {
        for message in messages {
            match &message.content {
                Content::Prompt(text) => self.goal(text, message.said, cues),
                Content::Reply(text) => self.outcome(text, echo, cues),
                Content::Act(Act::Edited { file, .. }) => self.file(file, message.cwd.as_deref()),
                Content::Act(Act::Ran { .. } | Act::Called { .. }) => {}
            }
        }
    }

    /// What a reply says beyond announcing and acknowledging overtakes what was said before.
    fn outcome(&mut self, text: &str, echo: &Echo, cues: &Cues) {
        let says = |sentence: &str| {
            !matches!(cues.of_assistant(sentence), Sort::Chatter | Sort::Task)
                && !echo.holds(sentence)
        };
        let outcome = gist(text, OUTCOME, &says);
        if !outcome.is_empty() {
            self.outcome = outcome;
        }
    }

    fn goal(&mut self, text: &str, said: Option<i64>, cues: &Cues) {
        let words = text.split_whitespace().count();
        let first = paragraphs(text).into_iter().next().map(|p| p.text).unwrap_or_default();
        let is_talk = cues.of_user(&first) == Sort::Chatter || words < 3;
        if self.goal.is_empty() && !is_talk {
            self.goal = gist(text, GOAL, &|_| true);
            self.began = self.began.or(said);
        }
    }

    fn file(&mut self, file: &str, cwd: Option<&str>) {
        let inside =
            cwd.and_then(|cwd| file.strip_prefix(cwd)).map(|rest| rest.trim_start_matches('/'));
        let file = inside.unwrap_or(file).to_string();
        if !self.files.contains(&file) && self.files.len() < MOST_FILES {
            self.files.push(file);
        }
    }

    /// The record as text; `None` when nothing was changed or nothing was asked for.
    pub fn text(&self) -> Option<String> {
        if self.files.is_empty() || self.goal.is_empty() {
            return None;
        }
        let outcome = if self.outcome.is_empty() { "none was stated." } else { &self.outcome };
        Some(format!(
            "Asked: {}\nOutcome: {outcome}\nChanged: {}",
            self.goal,
            self.files.join(", ")
        ))
    }
}

/// The first sentences of a message that `says` lets through, cut.
fn gist(text: &str, bytes: usize, says: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for paragraph in paragraphs(text) {
        for sentence in sentences(&paragraph.text).into_iter().filter(|sentence| says(sentence)) {
            if !out.is_empty() && out.len() + sentence.len() > bytes {
                return out;
            }
            let space = if out.is_empty() { "" } else { " " };
            out = cut_with_mark(&format!("{out}{space}{sentence}"), bytes);
        }
    }
    out
}

/// Commands that failed and later passed, with the files that were changed in between.
pub(super) fn mended(messages: &[Message]) -> Vec<Find> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < messages.len() && found.len() < MOST_MENDED {
        match failure(&messages[at]).and_then(|failure| Some((failure, passed(messages, at)?))) {
            Some(((command, error), passed)) => {
                let changed = changed(&messages[at..passed]);
                if !changed.is_empty() {
                    let text = format!(
                        "`{command}` failed: {error}\nIt passed after changing {}.",
                        changed.join(", ")
                    );
                    found.push(find(&messages[passed], text, changed));
                }
                at = passed + 1;
            }
            None => at += 1,
        }
    }
    found
}

fn find(message: &Message, text: String, files: Vec<String>) -> Find {
    Find {
        text,
        kind: Kind::Bugfix,
        // The line of output is a tool's word, and is never routed as an instruction.
        actor: Actor::Tool,
        said: message.said,
        cwd: message.cwd.clone(),
        offset: message.offset,
        files,
    }
}

/// The command and the line that says what went wrong.
fn failure(message: &Message) -> Option<(&str, String)> {
    let Content::Act(Act::Ran { command, failed: Some(true), output }) = &message.content else {
        return None;
    };
    let command = core_of(command);
    let is_looker = LOOKERS.iter().any(|looker| {
        command.strip_prefix(looker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    let is_simple = !command.contains('\n') && command.len() <= 160 && !command.is_empty();
    let line = output.lines().map(str::trim).find(|line| ERROR.is_match(line))?;
    (is_simple && !is_looker).then(|| (command, cut_with_mark(line, ERROR_LINE)))
}

/// Where the command that failed at `at` passed for the first time.
fn passed(messages: &[Message], at: usize) -> Option<usize> {
    let Content::Act(Act::Ran { command, .. }) = &messages[at].content else { return None };
    let is_same_and_passed = |message: &Message| match &message.content {
        Content::Act(Act::Ran { command: again, failed: Some(false), .. }) => {
            core_of(again) == core_of(command)
        }
        _ => false,
    };
    messages[at..].iter().position(is_same_and_passed).map(|offset| at + offset)
}

/// A command line without the folder it changes to before and the filter behind.
fn core_of(command: &str) -> &str {
    let command = command.trim();
    let after_cd = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let core = after_cd.map_or(command, |(_, rest)| rest);
    let end = [" | ", " 2>&1", " > "].iter().filter_map(|cut| core.find(cut)).min();
    core[..end.unwrap_or(core.len())].trim()
}

fn changed(messages: &[Message]) -> Vec<String> {
    let mut sitting = Sitting::default();
    for message in messages {
        if let Content::Act(Act::Edited { file, .. }) = &message.content {
            sitting.file(file, message.cwd.as_deref());
        }
    }
    sitting.files
}

/// Paths and back-quoted file names in `text`, in order, each once.
pub(super) fn files_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in FILE.find_iter(text).map(|m| m.as_str().trim_matches('`').to_string()) {
        if !found.contains(&file) && found.len() < MOST_FILES {
            found.push(file);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::capture::transcript::{Cursor, Limits, read};
    use serde_json::{Value, json};

    fn messages(lines: &[Value]) -> Vec<Message> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
        std::fs::write(file.path(), text).unwrap();
        let mut found = Vec::new();
        read(file.path(), &Cursor::default(), Limits::default(), &mut |part, _| {
            found.extend_from_slice(part)
        })
        .unwrap();
        found
    }

    fn run(call: &str, command: &str) -> Value {
        let input = json!({ "command": command });
        let block = json!({ "type": "tool_use", "id": call, "name": "Bash", "input": input });
        json!({ "type": "assistant", "cwd": "/p", "uuid": call, "message": { "content": [block] } })
    }

    fn result(call: &str, failed: bool, output: &str) -> Value {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "is_error": failed, "content": output });
        json!({ "type": "user", "cwd": "/p", "uuid": format!("r{call}"), "message": { "content": [block] } })
    }

    fn edit(file: &str) -> Value {
        let block = json!({ "type": "tool_use", "id": file, "name": "Edit", "input": { "file_path": file } });
        json!({ "type": "assistant", "cwd": "/p", "uuid": file, "message": { "content": [block] } })
    }

    #[test]
    fn a_failure_and_what_mended_it_make_one_entry() {
        let talk = messages(&[
            run("1", "cd /p && cargo test -p tides 2>&1 | tail -5"),
            result("1", true, "Exit code 101\nrunning 2 tests\nerror[E0308]: mismatched types"),
            edit("/p/src/tide.rs"),
            run("2", "cargo test -p tides"),
            result("2", false, "ok"),
        ]);
        let found = mended(&talk);
        let wanted = "`cargo test -p tides` failed: error[E0308]: mismatched types\nIt passed after changing src/tide.rs.";
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].text.as_str(), found[0].actor), (wanted, Actor::Tool));
        assert_eq!(found[0].files, ["src/tide.rs"]);
    }

    #[test]
    fn a_failure_that_nothing_mended_or_that_only_looked_leaves_nothing() {
        let unmended = [
            run("1", "make"),
            result("1", true, "error: x"),
            run("2", "make"),
            result("2", false, ""),
        ];
        let looked = [
            run("1", "grep x y"),
            result("1", true, "error"),
            edit("/p/a"),
            run("2", "grep x y"),
            result("2", false, ""),
        ];
        assert_eq!(mended(&messages(&unmended)).len() + mended(&messages(&looked)).len(), 0);
    }

    #[test]
    fn a_sitting_that_changed_something_has_goal_files_and_outcome() {
        let path = std::path::Path::new("tests/fixtures/transcripts/01-ordinary.jsonl");
        let mut sitting = Sitting::default();
        let cues = Cues::new();
        read(path, &Cursor::default(), Limits::default(), &mut |part, echo| {
            sitting.take(part, echo, &cues)
        })
        .unwrap();
        assert_eq!(
            sitting.text().unwrap(),
            "Asked: The berth importer drops rows whose ETA has no timezone. Please find out why and fix it.\n\
             Outcome: Rows without an offset land in `quarantine_rows`; 14 importer tests pass.\n\
             Changed: src/import/rows.rs"
        );
        let silent = std::path::Path::new("tests/fixtures/transcripts/08-recall-echo.jsonl");
        let mut sitting = Sitting::default();
        read(silent, &Cursor::default(), Limits::default(), &mut |part, echo| {
            sitting.take(part, echo, &cues)
        })
        .unwrap();
        assert_eq!(sitting.text(), None);
    }
}
