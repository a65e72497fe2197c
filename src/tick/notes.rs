//! What did not happen in a tick, and why.

use lifecycle_phases::Phase;
use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something waits for a later tick; nothing is wrong.
    Waiting,
    /// Something failed; it is kept and tried again. The run ends with exit code 6.
    Failed,
}

/// One thing that did not happen, or that a reader of the report should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The phase it belongs to.
    pub phase: Phase,
    /// In words, with what to do about it where there is something to do.
    pub text: String,
}
