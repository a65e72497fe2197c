//! The assistants on a machine: where their files are and what they are asked to tell.

use crate::error::{Error, ExitCode, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An assistant with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assistant {
    /// Claude Code: `settings.json` in `CLAUDE_CONFIG_DIR` or `~/.claude`.
    ClaudeCode,
    /// Codex: `hooks.json` or `config.toml` in `CODEX_HOME` or `~/.codex`.
    Codex,
}

/// One hook of the template.
#[derive(Debug, Deserialize)]
struct Wanted {
    event: String,
    timeout: u32,
    /// Only where prompts are briefed.
    #[serde(default)]
    on_prompt: bool,
}

#[derive(Debug, Deserialize)]
struct Template {
    hook: Vec<Wanted>,
}

/// What an assistant runs on an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handler {
    /// Always `command`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The program, or a shell line where `args` is missing.
    pub command: String,
    /// Arguments; given, no shell is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Seconds.
    pub timeout: u32,
}

impl Assistant {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::ClaudeCode, Self::Codex];

    /// Its name as `lifecycle hook` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// Its settings folder; it need not exist.
    pub fn folder(self, home: &Path) -> PathBuf {
        let (variable, default) = match self {
            Self::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
            Self::Codex => ("CODEX_HOME", ".codex"),
        };
        match std::env::var_os(variable).filter(|value| !value.is_empty()) {
            Some(folder) => PathBuf::from(folder),
            None => home.join(default),
        }
    }

    /// Whether it is on this machine: its folder exists, or its program is on the search path.
    pub fn is_here(self, home: &Path) -> bool {
        let program = match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
        };
        self.folder(home).is_dir() || crate::schedule::find_program(program).is_some()
    }

    /// The hooks it is asked to run by default: event and handler, in order.
    pub fn wanted(self, program: &str) -> Vec<(String, Handler)> {
        self.wanted_with(program, false)
    }

    /// As [`Assistant::wanted`]; with `prompts` it also tells of each prompt.
    pub fn wanted_with(self, program: &str, prompts: bool) -> Vec<(String, Handler)> {
        let text = match self {
            Self::ClaudeCode => include_str!("../../config/hooks/claude-code.toml"),
            Self::Codex => include_str!("../../config/hooks/codex.toml"),
        };
        let template: Template = toml_edit::de::from_str(text).expect("hook templates are valid");
        template
            .hook
            .into_iter()
            .filter(|wanted| prompts || !wanted.on_prompt)
            .map(|wanted| (wanted.event, self.handler(program, wanted.timeout)))
            .collect()
    }

    fn handler(self, program: &str, timeout: u32) -> Handler {
        let (command, args) = match self {
            Self::ClaudeCode => (program.into(), Some(vec!["hook".into(), self.name().into()])),
            Self::Codex => {
                (format!("{} hook {}", crate::schedule::shell_word(program), self.name()), None)
            }
        };
        Handler { kind: "command".into(), command, args, timeout }
    }

    /// Whether a handler is one of ours, whatever place the program had when it was written.
    pub fn owns(self, command: &str, args: Option<&[String]>) -> bool {
        match args {
            Some([hook, name]) => is_lifecycle(command) && hook == "hook" && name == self.name(),
            Some(_) => false,
            None => command
                .strip_suffix(&format!(" hook {}", self.name()))
                .is_some_and(|program| is_lifecycle(program.trim_matches(['\'', '"']))),
        }
    }
}

/// Whether the path names a program of ours.
fn is_lifecycle(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name) == "lifecycle"
}

/// The absolute path of the running program, as text.
pub fn program() -> Result<String> {
    let failure = |why: String| Error::new(ExitCode::Failure, why);
    let path = std::env::current_exe()
        .map_err(|error| failure(format!("cannot tell where this program lies: {error}")))?;
    path.to_str().map(ToString::to_string).ok_or_else(|| {
        failure(format!("{} is not UTF-8 and cannot be written into settings", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_recognised_wherever_it_lies() {
        let args = ["hook".to_string(), "claude-code".to_string()];
        assert!(Assistant::ClaudeCode.owns("/old place/lifecycle", Some(&args)));
        assert!(!Assistant::ClaudeCode.owns("/opt/other/hook", Some(&args)));
        assert!(Assistant::Codex.owns("'/a b/lifecycle' hook codex", None));
        assert!(!Assistant::Codex.owns("lifecycle-lint hook codex", None));
    }

    #[test]
    fn every_limit_is_a_few_seconds() {
        for assistant in Assistant::ALL {
            for (event, handler) in assistant.wanted("/p/lifecycle") {
                assert!((1..=5).contains(&handler.timeout), "{event}");
            }
        }
    }
}
