//! What the program puts on a machine, and takes back: the hooks of assistants, the schedule, the
//! settings file.
//!
//! Everything is an [`Edit`]: a place with its bytes before and after. Edits are computed first and
//! shown as a diff; only then are they written, through the one door to users' files. Each is kept
//! in the [`Record`] in the data folder with the bytes it found, so that `--undo` gives those back
//! byte for byte; where somebody changed the place since, only our own part is taken out.
//!
//! Files of others are edited by splicing text at byte positions: what is not ours keeps every
//! byte, its order and its formatting.

mod assistant;
mod hooks;
mod hooks_json;
mod hooks_toml;
mod json;
mod perform;
mod record;
mod schedule_edits;
mod settings_file;

pub use assistant::{Assistant, Handler, program};
pub use hooks::{hooks_edit, strip_hooks, unhook_edits};
pub use perform::{Edit, Place, Undone, diff, put_back, read, undo, writable, write};
pub use record::{Record, Recorded};
pub use schedule_edits::{schedule_edits, strip_schedule};
pub use settings_file::settings_edit;

/// Why a file of somebody else is left alone.
#[derive(Debug, thiserror::Error)]
pub enum SpliceError {
    /// It does not parse.
    #[error("does not parse ({0}); it was left alone")]
    Unparseable(String),
    /// A key has another shape than the assistant reads.
    #[error("`{0}` is not {1}; it was left alone")]
    Shape(String, &'static str),
    /// The same key stands there twice.
    #[error("`{0}` stands there twice; it was left alone")]
    Twice(String),
    /// The result would not read as intended.
    #[error("cannot be edited safely; it was left alone")]
    Unsafe,
}
