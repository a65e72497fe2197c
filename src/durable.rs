//! Files that are replaced whole: whatever happens, the name holds the old content or the new one.
//!
//! The order is the guarantee: a temporary file beside the target is created, filled and synced;
//! only then is it renamed over the target; only then is the folder synced. A cut of power before
//! the rename leaves the old file; after it, the new one with all its bytes.
//!
//! The folder is held open meanwhile and everything happens through that handle (on Linux), so that
//! a symbolic link that somebody puts into its path between the check and the write leads nowhere
//! else. A rename replaces a link of the target's own name and never follows it.

use crate::fault;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder held open.
pub struct Folder {
    path: PathBuf,
    /// Path that leads to the held folder, whatever becomes of its name.
    via: PathBuf,
    held: Option<File>,
}

impl Folder {
    /// Opens the folder that `path` leads to.
    ///
    /// # Errors
    /// Whatever opening gives.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let held = hold(path)?;
        let via = held.as_ref().and_then(through).unwrap_or_else(|| path.to_path_buf());
        Ok(Self { path: path.to_path_buf(), via, held })
    }

    /// Opens the folder at the resolved path `path`.
    ///
    /// # Errors
    /// As [`Folder::open`]; and where a symbolic link has come to stand in its path.
    pub fn resolved(path: &Path) -> io::Result<Self> {
        let folder = Self::open(path)?;
        let real = std::fs::read_link(&folder.via).or_else(|_| path.canonicalize())?;
        if real == path {
            return Ok(folder);
        }
        Err(io::Error::other(format!("a link in its path leads to {} now", real.display())))
    }

    /// The path of a file in it, by which no link in the folder's own path is followed.
    pub fn file(&self, name: &OsStr) -> PathBuf {
        self.via.join(name)
    }

    /// Begins a new content for the file `name`. A temporary file that a killed process left is
    /// taken away first.
    ///
    /// # Errors
    /// Whatever creating a file gives.
    pub fn draft(&self, name: &OsStr) -> io::Result<Draft<'_>> {
        let hash = blake3::hash(name.as_encoded_bytes()).to_hex();
        let beside = OsString::from(format!(".lifecycle-{}.tmp", &hash[..12]));
        match std::fs::remove_file(self.file(&beside)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fault::effect("create", &[&self.path.join(&beside)])?;
        let mut options = private();
        options.write(true).create_new(true);
        let file = options.open(self.file(&beside))?;
        Ok(Draft { folder: self, name: name.to_os_string(), beside, file, placed: false })
    }

    /// Removes the file `name` and syncs.
    ///
    /// # Errors
    /// Whatever removing gives.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fault::effect("remove", &[&self.path.join(name)])?;
        std::fs::remove_file(self.file(name))?;
        fault::point("removed");
        self.sync()
    }

    /// Makes renames and removals in it last.
    ///
    /// # Errors
    /// Whatever syncing gives.
    pub fn sync(&self) -> io::Result<()> {
        fault::effect("sync folder", &[&self.path])?;
        self.held.as_ref().map_or(Ok(()), File::sync_all)?;
        fault::point("folder synced");
        Ok(())
    }
}

#[cfg(unix)]
fn hold(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(crate::regular::WITHOUT_WAITING).open(path).map(Some)
}

#[cfg(not(unix))]
fn hold(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn through(held: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let via = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    via.exists().then_some(via)
}

#[cfg(not(target_os = "linux"))]
fn through(_held: &File) -> Option<PathBuf> {
    None
}

/// A content on its way to its name; gone without a trace unless [`Draft::place`] is reached.
pub struct Draft<'a> {
    folder: &'a Folder,
    name: OsString,
    beside: OsString,
    file: File,
    placed: bool,
}

impl Draft<'_> {
    fn beside(&self) -> PathBuf {
        self.folder.path.join(&self.beside)
    }

    /// Writes the content.
    ///
    /// # Errors
    /// Whatever writing gives, as the further steps.
    pub fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        fault::effect("write", &[&self.beside()])?;
        self.file.write_all(bytes)?;
        fault::point("written");
        Ok(())
    }

    /// Gives it permissions other than the owner's alone.
    ///
    /// # Errors
    /// See [`Draft::fill`].
    pub fn permit(&self, permissions: Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    /// Makes the content last.
    ///
    /// # Errors
    /// See [`Draft::fill`].
    pub fn sync(&self) -> io::Result<()> {
        fault::effect("sync", &[&self.beside()])?;
        self.file.sync_all()?;
        fault::point("synced");
        Ok(())
    }

    /// Moves it to its name.
    ///
    /// # Errors
    /// See [`Draft::fill`].
    pub fn place(mut self) -> io::Result<()> {
        let (from, to) = (self.beside(), self.folder.path.join(&self.name));
        fault::effect("rename", &[&from, &to])?;
        std::fs::rename(self.folder.file(&self.beside), self.folder.file(&self.name))?;
        self.placed = true;
        fault::point("renamed");
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // The next draft of this name takes away what cannot be removed now.
            let _ = std::fs::remove_file(self.folder.file(&self.beside));
        }
    }
}

/// Makes `bytes` the content of `path`, readable by the owner alone; a symbolic link is followed.
/// Where the path is no ordinary file (a pipe, a terminal) it is written to as it is.
///
/// # Errors
/// Whatever writing gives; the old content is whole then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return std::fs::write(path, bytes);
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let (folder, name) = parts(&path)?;
    let folder = Folder::open(folder)?;
    let mut draft = folder.draft(name)?;
    draft.fill(bytes)?;
    draft.sync()?;
    draft.place()?;
    folder.sync()
}

/// Makes `bytes` the content of `path` without waiting for the disk: the file is whole whenever it is
/// read, but a cut of power may cost it. For what a hook leaves and nobody misses.
///
/// # Errors
/// Whatever writing gives.
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = parts(path)?;
    let folder = Folder::open(folder)?;
    let mut draft = folder.draft(name)?;
    draft.fill(bytes)?;
    draft.place()
}

/// Folder and name of a file.
///
/// # Errors
/// The path ends in none.
pub fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(|| io::Error::other("it names no file"))
}

/// Options for a file that only its owner reads.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe in the place of a file of ours is an error, not something to wait for.
        options.mode(0o600).custom_flags(crate::regular::WITHOUT_WAITING);
    }
    options
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_draft_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        let mut draft = held.draft("a".as_ref()).unwrap();
        draft.fill(b"half").unwrap();
        drop(draft);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_is_the_owners_alone_and_a_link_stays() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// The folder is swapped for a link between opening it and writing into it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_put_in_the_way_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let held = Folder::resolved(&inside).unwrap();
        std::fs::rename(&inside, root.join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        let mut draft = held.draft("CLAUDE.md".as_ref()).unwrap();
        draft.fill(b"x").unwrap();
        draft.place().unwrap();
        assert!(root.join("moved/CLAUDE.md").exists());
        assert!(!outside.join("CLAUDE.md").exists());
        assert!(Folder::resolved(&inside).is_err(), "the link is noticed");
    }
}
