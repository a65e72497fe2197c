//! The one door to users' files: read, write as a whole, remove.
//!
//! A write goes the way of [`crate::durable`] and keeps the target's permissions. Whatever fails
//! leaves the old file whole and no temporary file behind. The caller passes the resolved path, so
//! a symbolic link stays one; a link that came into that path since is an error. A hard link is
//! broken, as with every write by rename.

use crate::durable::{self, Folder};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::path::Path;

/// Files above this size are not read (bytes): Claude Code's own limit for an instruction file.
pub const MAX_BYTES: u64 = 4 << 20;

/// BLAKE3 of `bytes`, 64 hex digits.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The file's bytes; `None` when there is no such file.
///
/// # Errors
/// Whatever [`crate::regular::read`] gives; a file above [`MAX_BYTES`] is one.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match crate::regular::read(path, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Whether a write could succeed: the file is not write-protected and the folder takes files.
///
/// # Errors
/// The reason in words.
pub fn writable(path: &Path) -> io::Result<()> {
    if let Ok(meta) = std::fs::metadata(path)
        && meta.permissions().readonly()
    {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    match path.parent().map(std::fs::metadata) {
        Some(Ok(meta)) if meta.permissions().readonly() => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is read-only"))
        }
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(error),
        None => Err(io::Error::other("it has no folder")),
    }
}

/// Makes `bytes` the content of the resolved `path` if it still has `before` (hash; `None`: no
/// file).
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when the content is another one by now; else what writing gave.
/// An error after the rename leaves the new content, of which is not known whether it lasts: read
/// the file to tell.
pub fn write(path: &Path, before: Option<&str>, bytes: &[u8]) -> io::Result<()> {
    writable(path)?;
    let (folder, name) = durable::parts(path)?;
    let folder = Folder::resolved(folder)?;
    let mut draft = folder.draft(name)?;
    draft.fill(bytes)?;
    draft.permit(permissions(path)?)?;
    draft.sync()?;
    expect(&folder, name, before)?;
    draft.place()?;
    folder.sync()
}

/// Removes `path` if it still has `before`.
///
/// # Errors
/// As [`write()`].
pub fn remove(path: &Path, before: &str) -> io::Result<()> {
    let (folder, name) = durable::parts(path)?;
    let folder = Folder::resolved(folder)?;
    expect(&folder, name, Some(before))?;
    folder.remove(name)
}

/// Makes what was last done beside `path` last.
///
/// # Errors
/// Whatever syncing gives.
pub fn confirm(path: &Path) -> io::Result<()> {
    Folder::open(durable::parts(path)?.0)?.sync()
}

fn expect(folder: &Folder, name: &OsStr, before: Option<&str>) -> io::Result<()> {
    let path = folder.file(name);
    if path.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is a symbolic link now"));
    }
    let now = read(&path)?.map(|bytes| hash(&bytes));
    if now.as_deref() == before {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file has changed meanwhile"))
}

fn permissions(path: &Path) -> io::Result<Permissions> {
    match std::fs::metadata(path) {
        Ok(meta) => Ok(meta.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_file_permissions(path),
        Err(error) => Err(error),
    }
}

/// A new file is no more open than its folder.
#[cfg(unix)]
fn new_file_permissions(path: &Path) -> io::Result<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::fs::metadata(durable::parts(path)?.0)?.permissions().mode();
    Ok(Permissions::from_mode(if folder & 0o077 == 0 { 0o600 } else { 0o644 }))
}

#[cfg(not(unix))]
fn new_file_permissions(path: &Path) -> io::Result<Permissions> {
    let folder = path.parent().unwrap_or(path);
    tempfile::NamedTempFile::new_in(folder)?.as_file().metadata().map(|meta| meta.permissions())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_write_keeps_permissions_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CLAUDE.md");
        write(&path, None, b"one").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, Some(&hash(b"one")), b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_is_no_more_open_than_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        for (open, wanted) in [(0o700, 0o600), (0o755, 0o644)] {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(open)).unwrap();
            let path = folder.path().canonicalize().unwrap().join(format!("{open}"));
            write(&path, None, b"x").unwrap();
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, wanted);
        }
    }

    #[test]
    fn a_changed_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CLAUDE.md");
        std::fs::write(&path, "theirs").unwrap();
        let error = write(&path, Some(&hash(b"ours")), b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
