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
    /// The store is damaged, of a newer version, or cannot be opened or written.
    Store = 4,
    /// Another tick runs, or the store stayed locked.
    Busy = 5,
    /// The tick ended, but something in it failed and waits.
    Incomplete = 6,
    /// Refused: not allowed by the settings, a step's requirement no longer holds, a conflict, or
    /// the brake.
    Refused = 7,
    /// The input cannot be used: it is missing, no regular file, too large, empty, or not what it
    /// should be.
    Input = 8,
    /// A model file or the runtime library is missing.
    Missing = 9,
}

/// What to do about a damaged store.
pub const REPAIR: &str = "nothing was overwritten; `lifecycle doctor --repair` brings back what can \
    be read, `lifecycle doctor --repair --dry-run` says what that is";
/// What to do about a store that cannot be written.
const UNWRITABLE: &str = "the store cannot be written here: it belongs to another user, or lies on a \
    read-only file system; what only reads works, and LIFECYCLE_HOME names another folder";
/// What to do about a full disk.
pub const MAKE_ROOM: &str = "make room and run it again";

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

    /// A file somebody named that cannot be read, or is none.
    pub fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::input(format!("{}: {error}", path.display()))
    }

    /// A file or folder of the store that cannot be made or written.
    pub fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
        let text = format!("{}: {error}", path.display());
        match error.kind() {
            PermissionDenied | ReadOnlyFilesystem => {
                Self::new(ExitCode::Store, text).hint(UNWRITABLE)
            }
            StorageFull => Self::new(ExitCode::Store, text).hint(MAKE_ROOM),
            _ => Self::new(ExitCode::Failure, text),
        }
    }

    /// A store that cannot be read as it should be: every command that meets it says the same.
    pub fn damaged(what: impl fmt::Display) -> Self {
        Self::new(ExitCode::Store, format!("the store is damaged: {what}")).hint(REPAIR)
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
            OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => {
                Self::new(ExitCode::Busy, "the store is busy: another process holds its write lock")
                    .hint("try again, or raise store.busy_timeout_ms")
            }
            Some(NotADatabase | DatabaseCorrupt) => Self::damaged(error),
            Some(SystemIoFailure) if is_short(&error) => Self::damaged(error),
            Some(DiskFull) => {
                Self::new(ExitCode::Store, "the disk is full; this change was not made")
                    .hint(MAKE_ROOM)
            }
            Some(SystemIoFailure) => Self::new(
                ExitCode::Store,
                format!("the disk reports an error: {error}; this change was not made"),
            ),
            Some(ReadOnly | PermissionDenied | CannotOpen) => {
                Self::new(ExitCode::Store, format!("the store cannot be written: {error}"))
                    .hint(UNWRITABLE)
            }
            Some(OutOfMemory) => Self::new(ExitCode::Store, format!("store: {error}")),
            // Our own statements and rows are tested: what SQLite refuses of them, or what does not
            // read as it was written, was changed by something else.
            _ => Self::damaged(error),
        }
    }
}

/// Whether a read found less than there must be: the file is cut off, the disk is well.
fn is_short(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_DATA, SQLITE_IOERR_SHORT_READ};
    let codes = [SQLITE_IOERR_SHORT_READ, SQLITE_IOERR_DATA, SQLITE_IOERR_CORRUPTFS];
    error.sqlite_error().is_some_and(|inner| codes.contains(&inner.extended_code))
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::input(format!("JSON: {error}"))
    }
}
