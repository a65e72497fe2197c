//! Capture: how what was said in conversations reaches the store.
//!
//! ```text
//! hook  ─→ inbox record ─┐
//! scan  ─→ conversation ─┴→ transcript (bytes → messages) → extract (messages → finds)
//! ```
//!
//! * [`hook`] is the hot path. It reads one JSON object, leaves one [`inbox`] record and returns:
//!   no database, no settings, no transcript. Everything else belongs to the tick.
//! * [`scan`] finds the conversations that no hook announced; hooks are killed, and never run at
//!   all after a crash.
//! * [`transcript`] reads a conversation file as a stream of bytes from a remembered [`Cursor`],
//!   and leaves out what nobody said: rewound branches, sub-agents, machine text, our own echo.
//! * [`extract`] picks the statements worth an entry out of what was said.
//! * [`project`] turns a working folder into the one name of its project.
//!
//! Nothing here writes to an assistant's folders, and nothing here decides what is stored: the
//! buffer phase does.
//!
//! [`Cursor`]: transcript::Cursor

pub mod extract;
pub mod hook;
pub mod inbox;
pub mod object;
pub mod project;
pub mod scan;
pub mod transcript;

use lifecycle_phases::entry::hex;

/// Environment variable that marks processes started by the engine itself. Conversations that
/// they hold are never captured.
pub const INTERNAL: &str = "LIFECYCLE_INTERNAL";

/// First words of every prompt that the engine sends to a model; a conversation whose first prompt
/// starts with one of them is the engine's own.
pub const PROMPT_MARK: &str = "<lifecycle-prompt";

/// An assistant whose conversations are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assistant {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl Assistant {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::ClaudeCode, Self::Codex];

    /// The word on the command line and in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The assistant that `word` names; unknown words mean Claude Code, whose hooks came first.
    pub fn parse(word: &str) -> Self {
        if word == Self::Codex.as_str() { Self::Codex } else { Self::ClaudeCode }
    }
}

/// Hash of a few bytes as 32 hex digits.
fn short_hash(bytes: &[u8]) -> String {
    hex(bytes, 32)
}
