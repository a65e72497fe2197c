//! Opening the store for a command that only reads: nothing is made where there is no store, and a
//! store that cannot be written (another user's, a read-only file system) is read as it lies there.
//!
//! SQLite wants to make files beside a database in WAL mode even to read it. Where that is not
//! allowed a database without a log is opened as immutable, and one with a log is copied with it.

use super::migrate::{self, Schema};
use super::{Store, name_file};
use crate::config::Settings;
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use crate::regular;
use rusqlite::{Connection, OpenFlags};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl Store {
    /// Opens the user's database for reading; an empty one in memory where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn open_reading(paths: &Paths, settings: &Settings) -> Result<Self> {
        let path = paths.database();
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::in_memory(),
            Err(error) => return Err(Error::unwritable(&path, &error)),
            Ok(_) => {}
        }
        match Self::open(paths, settings) {
            Err(error) if error.code == ExitCode::Store && cannot_write(&path) => {
                as_it_lies(&path).map_err(|second| name_file(worse(error, second), &path))
            }
            opened => opened,
        }
    }
}

/// Of two errors the one that says more: that the store cannot be read counts more than that it
/// cannot be written.
fn worse(first: Error, second: Error) -> Error {
    if second.hint.is_some() { second } else { first }
}

/// Whether the file or its folder takes no writes from us.
fn cannot_write(path: &Path) -> bool {
    let refused = |error: std::io::Error| {
        matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
    };
    let file = regular::open_with(std::fs::OpenOptions::new().write(true), path).map(drop);
    let folder = path.parent().unwrap_or(Path::new("."));
    // A file without a name: it leaves no trace.
    file.is_err_and(refused) || tempfile::tempfile_in(folder).map(drop).is_err_and(refused)
}

fn as_it_lies(path: &Path) -> Result<Store> {
    migrate::refuse_cut(path)?;
    let (connection, copy) = connection(path)?;
    let (found, known) = (migrate::version(&connection)?, Schema::current().version());
    if found > known {
        return Err(migrate::newer(found, known));
    }
    if found < known {
        let text = format!("the store has schema {found} and must be brought to {known} first");
        return Err(Error::new(ExitCode::Store, text)
            .hint("run any command once where the store can be written"));
    }
    Ok(Store { connection, path: path.to_path_buf(), _scratch: copy })
}

/// A connection that changes nothing, and the folder of the copy that it reads, if it reads one.
///
/// # Errors
/// It is no database that can be read.
pub(super) fn connection(path: &Path) -> Result<(Connection, Option<tempfile::TempDir>)> {
    // Only a first look at the database tells whether SQLite can make the files it wants.
    let tried = |connection: Connection| migrate::version(&connection).map(|_| connection);
    match migrate::open_read_only(path).and_then(tried) {
        Ok(connection) => Ok((connection, None)),
        Err(_) if !migrate::has_log(path) => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            let opened = Connection::open_with_flags(immutable_address(path), flags)?;
            Ok((tried(opened)?, None))
        }
        Err(_) => {
            let (folder, copy) = copy_with_log(path)?;
            Ok((tried(Connection::open(copy)?)?, Some(folder)))
        }
    }
}

fn copy_with_log(path: &Path) -> Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().map_err(|error| Error::io(&std::env::temp_dir(), &error))?;
    let copy = folder.path().join("copy.sqlite3");
    for end in ["", "-wal"] {
        let (from, to) = (migrate::beside(path, end), migrate::beside(&copy, end));
        regular::copy(&from, &to).map_err(|error| Error::io(&from, &error))?;
    }
    Ok((folder, copy))
}

/// The address of a file that SQLite must take as it is.
pub fn immutable_address(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut address = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b':' => {
                address.push(char::from(byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address + "?immutable=1"
}
