//! Messages of a conversation as events for the observer.

use crate::capture::extract::Extractor;
use crate::capture::transcript::{Act, Content, Message, ends_of};
use crate::config::ObserveSettings;
use crate::redact::Counts;
use lifecycle_phases::observe::{Cut, Event};
use lifecycle_phases::{Actor, Origin};
use std::path::Path;

/// Longest words of people in an event (bytes); what they state is picked out elsewhere.
const WORDS: usize = 1200;

/// Tools that fetch pages, by a part of their name.
const WEB_TOOLS: &[&str] =
    &["webfetch", "websearch", "web_search", "fetch", "browser", "puppeteer"];

/// Programs that fetch pages.
const WEB_PROGRAMS: &[&str] = &["curl", "wget", "http", "lynx"];

/// Turns messages into events.
pub struct Watcher {
    output: usize,
    banners: Vec<String>,
}

impl Watcher {
    /// With the bounds and banners of the settings.
    pub fn new(settings: &ObserveSettings) -> Self {
        let banners = settings.banners.iter().map(|banner| banner.to_lowercase());
        Self {
            output: settings.output_bytes,
            banners: banners.filter(|banner| !banner.is_empty()).collect(),
        }
    }

    /// The event of a message, redacted; `None` for one that is our own or says nothing.
    pub fn event(
        &self,
        message: &Message,
        project: Option<String>,
        extractor: &Extractor,
        counts: &mut Counts,
    ) -> Option<Cut> {
        let clean = extractor.redacted_one(message, counts);
        let event = match clean.content {
            Content::Prompt(text) => self.said(Actor::User, &text),
            Content::Reply(text) => self.said(Actor::Assistant, &text),
            Content::Act(act) => self.did(act),
        }?;
        let said = message.said.unwrap_or_default();
        Some(Cut { event, said, offset: message.offset, project })
    }

    fn said(&self, by: Actor, text: &str) -> Option<Event> {
        let text = ends_of(self.without_banners(text).trim(), WORDS);
        (!text.is_empty()).then_some(Event::Said { by, text })
    }

    fn did(&self, act: Act) -> Option<Event> {
        match act {
            Act::Edited { file, change, failed } => Some(Event::Did {
                tool: "Edit".into(),
                input: format!("{file}\n{}", ends_of(&change, self.output)),
                output: String::new(),
                failed,
                files: vec![file],
                changes: true,
                origin: Origin::Tool,
            }),
            Act::Ran { command, .. } if is_own(&command) => None,
            Act::Ran { command, failed, output } => Some(Event::Did {
                tool: "Bash".into(),
                origin: if fetches(&command) { Origin::Web } else { Origin::Tool },
                input: command,
                output: self.shown(&output),
                failed,
                files: Vec::new(),
                changes: false,
            }),
            Act::Called { tool, input, file, failed, output } => Some(Event::Did {
                origin: if is_web(&tool) { Origin::Web } else { Origin::Tool },
                tool,
                input,
                output: self.shown(&output),
                failed,
                files: file.into_iter().collect(),
                changes: false,
            }),
        }
    }

    fn shown(&self, output: &str) -> String {
        ends_of(self.without_banners(output).trim(), self.output)
    }

    /// Lines without those that hold a banner.
    fn without_banners(&self, text: &str) -> String {
        if self.banners.is_empty() {
            return text.to_string();
        }
        let is_banner = |line: &&str| {
            let line = line.to_lowercase();
            self.banners.iter().any(|banner| line.contains(banner))
        };
        text.lines().filter(|line| !is_banner(line)).collect::<Vec<_>>().join("\n")
    }
}

/// Whether a command is one of ours: what it prints is known already.
fn is_own(command: &str) -> bool {
    program(command) == "lifecycle"
}

/// Whether a command brings in a page.
fn fetches(command: &str) -> bool {
    command.split(['|', ';', '&', '(', '`']).any(|part| WEB_PROGRAMS.contains(&program(part)))
}

fn program(command: &str) -> &str {
    let after_cd = command.trim().strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let command = after_cd.map_or(command, |(_, rest)| rest);
    let is_variable = |word: &&str| word.contains('=') || matches!(*word, "sudo" | "env" | "$");
    let first = command.split_whitespace().find(|word| !is_variable(word)).unwrap_or("");
    Path::new(first).file_name().and_then(|name| name.to_str()).unwrap_or("")
}

fn is_web(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    WEB_TOOLS.iter().any(|part| tool.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_commands_and_pages_are_known() {
        assert!(is_own("cd /p && lifecycle status --json | head"));
        assert!(is_own("/usr/local/bin/lifecycle run"));
        assert!(!is_own("grep -rn lifecycle src"));
        assert!(fetches("cd /p && curl -s https://example.org | sh"));
        assert!(fetches("X=1 wget https://example.org"));
        assert!(!fetches("cargo test curl"));
        assert!(is_web("WebFetch") && is_web("mcp__fetch__get") && !is_web("Read"));
    }

    #[test]
    fn banners_are_taken_out_line_by_line() {
        let settings = ObserveSettings { banners: vec!["memory engine:".into()], ..defaults() };
        let watcher = Watcher::new(&settings);
        assert_eq!(watcher.without_banners("a\nMemory engine: 3 failing\nb"), "a\nb");
        assert!(watcher.said(Actor::User, "Memory engine: 3 failing").is_none());
    }

    fn defaults() -> ObserveSettings {
        crate::config::Layers::defaults().settings().map(|all| all.observe).expect("defaults hold")
    }
}
