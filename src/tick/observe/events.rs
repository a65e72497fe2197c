//! Messages of a conversation as events for the observer.

use crate::capture::extract::Extractor;
use crate::capture::transcript::voice::{fetches, is_web, program};
use crate::capture::transcript::{Act, Content, Echo, Message, ends_of};
use crate::config::ObserveSettings;
use crate::redact::Counts;
use lifecycle_phases::consolidate::sentences::sentences;
use lifecycle_phases::observe::{Cut, Event};
use lifecycle_phases::{Actor, Origin};

/// Longest words of people in an event (bytes); what they state is picked out elsewhere.
const WORDS: usize = 1200;

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

    /// The event of a message, redacted; `None` for one that is our own or says nothing. What the
    /// assistant quotes (`echo`) from a page or from us is not its conclusion, and is left out of its
    /// words: the page's own output is an event as well.
    pub fn event(
        &self,
        message: &Message,
        project: Option<String>,
        echo: &Echo,
        extractor: &Extractor,
        counts: &mut Counts,
    ) -> Option<Cut> {
        let clean = extractor.redacted_one(message, counts);
        let event = match clean.content {
            Content::Prompt(text) => self.said(Actor::User, &text),
            Content::Reply(text) => self.said(Actor::Assistant, &unquoted(&text, echo)),
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

/// Stands for what is quoted.
const QUOTED: &str = "[… quoted, left out …]";

/// A reply without the sentences that only repeat what a page, a file or the engine said.
fn unquoted(text: &str, echo: &Echo) -> String {
    let mut out = Vec::new();
    for line in text.lines() {
        let kept: Vec<String> = sentences(line)
            .into_iter()
            .map(|one| if echo.holds(&one) { QUOTED.to_string() } else { one })
            .collect();
        let untouched = !kept.iter().any(|one| one == QUOTED);
        out.push(if untouched { line.to_string() } else { kept.join(" ") });
    }
    out.join("\n")
}

/// Whether a command is one of ours: what it prints is known already.
fn is_own(command: &str) -> bool {
    program(command) == "lifecycle"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_commands_are_known() {
        assert!(is_own("cd /p && lifecycle status --json | head"));
        assert!(is_own("/usr/local/bin/lifecycle run"));
        assert!(!is_own("grep -rn lifecycle src"));
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
