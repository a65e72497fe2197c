//! Codex's rollout files: `timestamp`, `type`, `payload` on each line, in order, without a tree.
//!
//! A prompt stands there twice; instructions and the environment arrive under the user's name in
//! one of the two forms. The `event_msg` form holds what was typed and what was answered.

use super::own::cut_reminders;
use super::tree::Role;
use super::{Act, Collector, OUTPUT, Voice, ends_of, machine};
use serde_json::Value;

impl Collector<'_> {
    /// Takes in one line of a Codex rollout.
    pub(super) fn codex_line(&mut self, line: &Value) {
        let payload = &line["payload"];
        let time = line["timestamp"].as_str();
        match line["type"].as_str() {
            Some("session_meta") => self.meta(payload),
            Some("turn_context") => self.folder(payload),
            Some("event_msg") => self.event(payload, time),
            Some("response_item") => self.item(payload, time),
            _ => {}
        }
    }

    fn meta(&mut self, payload: &Value) {
        if let Some(id) = payload["id"].as_str() {
            self.session.get_or_insert_with(|| id.to_string());
        }
        self.folder(payload);
        let thread = payload["thread_source"].as_str();
        self.sub_agent |= thread == Some("subagent") || !payload["source"]["subagent"].is_null();
    }

    fn folder(&mut self, payload: &Value) {
        if let Some(cwd) = payload["cwd"].as_str() {
            self.cwd = Some(cwd.to_string());
        }
    }

    fn event(&mut self, payload: &Value, time: Option<&str>) {
        match (payload["type"].as_str(), payload["message"].as_str()) {
            (Some("user_message"), Some(text)) => {
                let text = cut_reminders(&self.echo.cut(machine::own_request(text)));
                if !machine::is_machine_text(&text) && self.at(None, None, Role::Prompt) {
                    self.prompt(text.trim(), time);
                }
            }
            (Some("agent_message"), Some(text)) if self.at(None, None, Role::Exchange) => {
                self.reply(text, None, time);
            }
            (Some("thread_rolled_back"), _) => {
                self.roll_back(payload["num_turns"].as_u64().unwrap_or(1));
            }
            _ => {}
        }
    }

    fn item(&mut self, payload: &Value, time: Option<&str>) {
        let call = payload["call_id"].as_str();
        match payload["type"].as_str() {
            Some("function_call") => {
                let arguments = payload["arguments"].as_str().unwrap_or("");
                if let Some(command) = command(arguments) {
                    self.at(None, None, Role::Exchange);
                    self.act(Act::ran(&command), call, time);
                } else {
                    self.called(payload["name"].as_str().unwrap_or("tool"), arguments, call, time);
                }
            }
            Some("web_search_call") if self.limits.calls => {
                let query = payload["action"]["query"].as_str().unwrap_or("");
                self.called("web_search", query, call, time);
            }
            Some("custom_tool_call") if payload["name"] == "apply_patch" => {
                let patch = payload["input"].as_str().unwrap_or("");
                for file in patched_files(patch) {
                    self.at(None, None, Role::Exchange);
                    let wanted = self.limits.calls;
                    let change = if wanted { ends_of(patch, OUTPUT) } else { String::new() };
                    self.act(Act::Edited { file, change, failed: None }, call, time);
                }
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                let text = payload["output"].as_str().unwrap_or("");
                let output: Value = serde_json::from_str(text).unwrap_or_default();
                let text = output["output"].as_str().unwrap_or(text);
                let text = self.echo.cut(text);
                let failed = output["metadata"]["exit_code"].as_i64().is_some_and(|code| code != 0);
                if let Some(call) = call {
                    self.hear(call, &text);
                    self.voices.remove(call);
                    self.outcome(call, failed, &text);
                }
            }
            _ => {}
        }
    }
}

impl Collector<'_> {
    fn called(&mut self, tool: &str, input: &str, call: Option<&str>, time: Option<&str>) {
        if !self.limits.calls {
            let voice = call.map(|call| (call.to_string(), Voice::of_tool(tool)));
            return self.voices.extend(voice);
        }
        self.at(None, None, Role::Exchange);
        let act = Act::Called {
            tool: tool.to_string(),
            input: ends_of(input, OUTPUT),
            file: None,
            failed: None,
            output: String::new(),
        };
        self.act(act, call, time);
    }
}

/// The command line in the arguments of a call: `cmd`, or `command` as text or list.
fn command(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let command =
        if arguments["cmd"].is_null() { &arguments["command"] } else { &arguments["cmd"] };
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.last()?.as_str().map(str::to_string),
        _ => None,
    }
}

/// Files that a patch of Codex's own form changes.
fn patched_files(patch: &str) -> Vec<String> {
    const HEADS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let file =
        |line: &str| HEADS.iter().find_map(|head| line.strip_prefix(head)).map(str::to_string);
    patch.lines().filter_map(file).collect()
}
