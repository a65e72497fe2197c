//! The one door to users' files: read, write as a whole, remove.
//!
//! A write makes a temporary file beside the target, fills and syncs it, gives it the target's
//! permissions and renames it over the target, then syncs the folder. Whatever fails leaves the old
//! file whole and no temporary file behind. The caller passes the resolved path, so a symbolic link
//! stays one. A hard link is broken, as with every write by rename.

use crate::fault;
use std::fs::{File, Permissions};
use std::io::{self, Write};
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
/// Whatever reading gives; a file above [`MAX_BYTES`] is one.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(meta) if meta.is_dir() => return Err(io::Error::other("is a folder")),
        // Opening a pipe would wait for whoever writes into it.
        Ok(meta) if !meta.is_file() => return Err(io::Error::other("is not a regular file")),
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(io::Error::other(format!("is larger than {MAX_BYTES} bytes")));
        }
        Ok(_) => {}
    }
    std::fs::read(path).map(Some)
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

/// Makes `bytes` the content of `path` if it still has `before` (hash; `None`: no file).
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when the content is another one by now; else what writing gave.
pub fn write(path: &Path, before: Option<&str>, bytes: &[u8]) -> io::Result<()> {
    writable(path)?;
    no_link(path)?;
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut file = fresh_file(path, folder)?;
    fill(&mut file, bytes)?;
    file.as_file().set_permissions(permissions(path)?)?;
    file.as_file().sync_all()?;
    expect(path, before)?;
    no_link(path)?;
    fault::point("rename");
    file.persist(path).map_err(|error| error.error)?;
    fault::point("renamed");
    sync_folder(folder)
}

fn fill(file: &mut tempfile::NamedTempFile, bytes: &[u8]) -> io::Result<()> {
    if fault::disk_is_full() {
        file.write_all(&bytes[..bytes.len() / 2])?;
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.write_all(bytes)
}

/// The temporary file beside `path`. Its name follows from that of `path`, so that the one a killed
/// run left is replaced by the run that picks up after it.
fn fresh_file(path: &Path, folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let name = hash(path.file_name().unwrap_or_default().as_encoded_bytes());
    let prefix = format!(".lifecycle-{}", &name[..12]);
    match std::fs::remove_file(folder.join(format!("{prefix}.tmp"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .rand_bytes(0)
            .tempfile_in(folder),
    }
}

/// Removes `path` if it still has `before`.
///
/// # Errors
/// As [`write()`].
pub fn remove(path: &Path, before: &str) -> io::Result<()> {
    expect(path, Some(before))?;
    no_link(path)?;
    fault::point("remove");
    std::fs::remove_file(path)?;
    fault::point("removed");
    path.parent().map_or(Ok(()), sync_folder)
}

/// `path` was resolved when it was chosen. A link in it now was put there since, and would lead the
/// write elsewhere. (What changes between this look and the rename is seen by nobody; the rename
/// then replaces a link instead of following it, so that only a swapped folder could mislead it.)
fn no_link(path: &Path) -> io::Result<()> {
    let changed = || io::Error::other("a link stands where a folder or file was");
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    if path.is_symlink() || folder.canonicalize()? != folder {
        return Err(changed());
    }
    Ok(())
}

fn expect(path: &Path, before: Option<&str>) -> io::Result<()> {
    let now = read(path)?.map(|bytes| hash(&bytes));
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

#[cfg(unix)]
fn new_file_permissions(_path: &Path) -> io::Result<Permissions> {
    Ok(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn new_file_permissions(path: &Path) -> io::Result<Permissions> {
    let folder = path.parent().unwrap_or(path);
    tempfile::NamedTempFile::new_in(folder)?.as_file().metadata().map(|meta| meta.permissions())
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_write_keeps_permissions_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("CLAUDE.md");
        write(&path, None, b"one").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, Some(&hash(b"one")), b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_put_in_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::create_dir_all(root.join("out")).unwrap();
        std::fs::write(root.join("out/CLAUDE.md"), "theirs").unwrap();
        std::os::unix::fs::symlink(root.join("out/CLAUDE.md"), root.join("in/CLAUDE.md")).unwrap();
        std::os::unix::fs::symlink(root.join("out"), root.join("sub")).unwrap();
        for path in [root.join("in/CLAUDE.md"), root.join("sub/CLAUDE.md")] {
            assert!(write(&path, Some(&hash(b"theirs")), b"ours").is_err());
            assert!(remove(&path, &hash(b"theirs")).is_err());
        }
        assert_eq!(std::fs::read(root.join("out/CLAUDE.md")).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(root.join("out")).unwrap().count(), 1);
    }

    #[test]
    fn a_changed_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("CLAUDE.md");
        std::fs::write(&path, "theirs").unwrap();
        let error = write(&path, Some(&hash(b"ours")), b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
