//! The one error of the shell: what went wrong, what to do next, and the exit code.
//!
//! Inside an adapter a failure has its own typed enum where somebody decides on it (an embedding
//! that is refused, a target that does not parse). At the edge it becomes an [`Error`].

use std::fmt;

/// Documented exit codes of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything asked for was done.
    Success = 0,
    /// A failure that no other code names.
    Failure = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A setting is wrong.
    Config = 3,
    /// The store is damaged, of a newer version, or cannot be opened.
    Store = 4,
    /// Another tick runs, or the store stayed locked.
    Busy = 5,
    /// The tick ended, but something in it failed and waits.
    Incomplete = 6,
    /// Refused: a step's requirement no longer holds, a conflict, or the brake.
    Refused = 7,
    /// The input cannot be used.
    Input = 8,
    /// A model file or the runtime library is missing.
    Missing = 9,
}

/// A failure with its kind and, where there is one, the next thing to do.
#[derive(Debug)]
pub struct Error {
    /// The exit code it leads to.
    pub code: ExitCode,
    /// What went wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Result with the shell's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of the given kind.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same failure with the next thing to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Input that cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Input, message)
    }

    /// A wrong setting.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Config, message)
    }

    /// Something refused because what it was decided on has changed.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Refused, message)
    }

    /// A failure with a file.
    pub fn io(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(ExitCode::Failure, format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
            PermissionDenied, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => {
                Self::new(ExitCode::Busy, "the store is busy: another process holds its write lock")
                    .hint("try again, or raise store.busy_timeout_ms")
            }
            Some(NotADatabase | DatabaseCorrupt) => {
                Self::new(ExitCode::Store, format!("the store is damaged: {error}"))
                    .hint("nothing was overwritten; `lifecycle doctor --repair --dry-run` says what can be had back")
            }
            Some(DiskFull) => Self::new(ExitCode::Store, "the disk is full; this change was not made")
                .hint("make room and run it again"),
            Some(SystemIoFailure) => {
                Self::new(ExitCode::Store, format!("the disk reports an error: {error}; this change was not made"))
            }
            Some(ReadOnly | PermissionDenied | CannotOpen) => {
                Self::new(ExitCode::Store, format!("the store cannot be written: {error}"))
                    .hint("it may belong to another user or lie on a read-only file system")
            }
            _ => Self::new(ExitCode::Store, format!("store: {error}")),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::input(format!("JSON: {error}"))
    }
}
