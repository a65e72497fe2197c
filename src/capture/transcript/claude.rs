//! Claude Code's conversation files: one JSON object a line, linked into a tree by `uuid`.

use super::json::strings_in;
use super::own::cut_reminders;
use super::tree::Role;
use super::{Act, Collector, OUTPUT, Voice, ends_of, machine};
use serde_json::Value;

/// Tools that change a file, with the field that names it.
const EDITORS: &[(&str, &str)] = &[
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("Write", "file_path"),
    ("NotebookEdit", "notebook_path"),
];

/// Fields by which other tools name a file.
const FILE_FIELDS: &[&str] = &["file_path", "notebook_path", "path"];

/// Attachments in which our own words come back.
const ECHOES: &[&str] =
    &["hook_success", "hook_additional_context", "relevant_memories", "nested_memory", "file"];

impl Collector<'_> {
    /// Takes in one line of a Claude Code conversation.
    pub(super) fn claude_line(&mut self, line: &Value) {
        if is_side_talk(line) {
            return;
        }
        if let Some(session) = line["sessionId"].as_str() {
            self.session.get_or_insert_with(|| session.to_string());
        }
        if let Some(cwd) = line["cwd"].as_str() {
            self.cwd = Some(cwd.to_string());
        }
        match line["type"].as_str() {
            Some("user") => self.user(line),
            Some("assistant") => self.assistant(line),
            Some("attachment") => self.attachment(line),
            _ => {
                self.node(line, Role::Remark);
            }
        }
    }

    fn node(&mut self, line: &Value, role: Role) -> bool {
        let name = line["uuid"].as_str();
        let parent = line["parentUuid"].as_str().or(line["logicalParentUuid"].as_str());
        if name.is_none() && role == Role::Remark {
            return false;
        }
        self.at(name, parent, role)
    }

    fn user(&mut self, line: &Value) {
        let content = &line["message"]["content"];
        if has_block(content, "tool_result") {
            if self.node(line, Role::Exchange) {
                self.results(content);
            }
            return;
        }
        let is_human = !flag(line, "isMeta") && !flag(line, "isCompactSummary") && typed(line);
        let text = if is_human { self.own_words(content) } else { String::new() };
        if text.is_empty() {
            self.node(line, Role::Remark);
        } else if self.node(line, Role::Prompt) {
            self.prompt(&text, line["timestamp"].as_str());
        }
    }

    /// The text blocks that a person wrote, without what programs put between.
    fn own_words(&mut self, content: &Value) -> String {
        let words: Vec<String> = texts(content)
            .map(|text| cut_reminders(&self.echo.cut(text)))
            .filter(|text| !machine::is_machine_text(text))
            .map(|text| text.trim().to_string())
            .collect();
        words.join("\n\n")
    }

    fn results(&mut self, content: &Value) {
        for block in content.as_array().into_iter().flatten() {
            // What the engine itself put there is no output of the tool.
            let output: Vec<String> =
                texts(&block["content"]).map(|text| self.echo.cut(text)).collect();
            if let Some(call) = block["tool_use_id"].as_str() {
                output.iter().for_each(|text| self.hear(call, text));
                // A document that a page came as, and whatever other kind of block.
                for other in block["content"].as_array().into_iter().flatten() {
                    if other["type"] != "text" {
                        self.hear(call, &strings_in(other));
                    }
                }
                self.voices.remove(call);
                self.outcome(call, flag(block, "is_error"), &output.join("\n"));
            }
        }
    }

    fn assistant(&mut self, line: &Value) {
        if !self.node(line, Role::Exchange) || flag(line, "isApiErrorMessage") {
            return;
        }
        let message = &line["message"];
        let time = line["timestamp"].as_str();
        // Tools of the model's own server answer within the reply: searches, pages.
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result")) {
                self.echo.hear_page(&strings_in(block));
            }
        }
        for text in texts(&message["content"]) {
            self.reply(text, message["id"].as_str(), time);
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                self.tool_use(block, time);
            }
        }
    }

    fn tool_use(&mut self, block: &Value, time: Option<&str>) {
        let Some(name) = block["name"].as_str() else { return };
        let input = &block["input"];
        let editor = EDITORS.iter().find(|(editor, _)| *editor == name);
        if let Some(file) = editor.and_then(|(_, field)| input[*field].as_str()) {
            let change = if self.limits.calls { change_of(input) } else { String::new() };
            let act = Act::Edited { file: file.to_string(), change, failed: None };
            self.act(act, block["id"].as_str(), time);
        } else if let ("Bash", Some(command)) = (name, input["command"].as_str()) {
            self.act(Act::ran(command), block["id"].as_str(), time);
        } else if !self.limits.calls {
            if let Some(call) = block["id"].as_str() {
                self.voices.insert(call.to_string(), Voice::of_tool(name));
            }
        } else {
            let file = FILE_FIELDS.iter().find_map(|field| input[*field].as_str());
            let act = Act::Called {
                tool: name.to_string(),
                input: ends_of(&words_of(input), OUTPUT),
                file: file.map(str::to_string),
                failed: None,
                output: String::new(),
            };
            self.act(act, block["id"].as_str(), time);
        }
    }

    fn attachment(&mut self, line: &Value) {
        let attachment = &line["attachment"];
        let kind = attachment["type"].as_str().unwrap_or("");
        let is_prompt = kind == "queued_command" && attachment["commandMode"] == "prompt";
        let text = if is_prompt { self.own_words(&attachment["prompt"]) } else { String::new() };
        if text.is_empty() {
            self.node(line, Role::Remark);
            if ECHOES.contains(&kind) {
                self.echo_strings(attachment);
            }
        } else if self.node(line, Role::Prompt) {
            self.prompt(&text, line["timestamp"].as_str());
        }
    }

    fn echo_strings(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.echo.cut(text);
            }
            Value::Array(items) => items.iter().for_each(|item| self.echo_strings(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.echo_strings(field)),
            _ => {}
        }
    }
}

/// What an editor was asked to do, shortened: the texts of its fields in order.
fn change_of(input: &Value) -> String {
    const FIELDS: &[(&str, &str)] =
        &[("old_string", "- "), ("new_string", "+ "), ("content", ""), ("new_source", "")];
    let mut change = String::new();
    let edits = input["edits"].as_array().into_iter().flatten();
    for one in std::iter::once(input).chain(edits) {
        for (field, sign) in FIELDS {
            if let Some(text) = one[*field].as_str().filter(|text| !text.is_empty()) {
                change.push_str(&format!("{sign}{}\n", ends_of(text, OUTPUT / 4)));
            }
        }
    }
    ends_of(change.trim_end(), OUTPUT)
}

/// The input of a tool for people: its one text, else its fields.
fn words_of(input: &Value) -> String {
    let Some(fields) = input.as_object() else { return input.to_string() };
    let line = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A sub-agent's or a team's line: not part of this conversation.
fn is_side_talk(line: &Value) -> bool {
    flag(line, "isSidechain") || line["agentId"].is_string() || line["teamName"].is_string()
}

/// Newer versions say where a prompt came from; what a task reported was not typed.
fn typed(line: &Value) -> bool {
    line["origin"]["kind"].as_str().is_none_or(|kind| kind != "task-notification")
}

fn flag(value: &Value, field: &str) -> bool {
    value[field].as_bool() == Some(true)
}

fn has_block(content: &Value, kind: &str) -> bool {
    content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
}

/// The texts of a content that is a string or a list of blocks.
fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text").filter_map(|b| b["text"].as_str());
    content.as_str().into_iter().chain(texts)
}
