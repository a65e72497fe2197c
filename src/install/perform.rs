//! One place, before and after: shown, written, taken back.

use super::record::{Record, Recorded};
use crate::error::{Error, Result};
use crate::paths::{Paths, create_private};
use crate::schedule;
use crate::targets::door;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where something is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// The user's table of cron.
    Crontab,
}

impl Place {
    /// The place that the record names.
    fn parse(text: &str) -> Self {
        if text == "crontab" { Self::Crontab } else { Self::File(PathBuf::from(text)) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Crontab => f.write_str("crontab"),
        }
    }
}

/// What is to change at one place.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Where.
    pub place: Place,
    /// Whose part it is.
    pub owner: &'static str,
    /// The bytes now; none: there is nothing.
    pub before: Option<Vec<u8>>,
    /// The bytes without anything of ours: what undoing gives back.
    pub base: Option<Vec<u8>>,
    /// The bytes to be; none: it goes.
    pub after: Option<Vec<u8>>,
}

impl Edit {
    /// Whether anything would change.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// How taking back went at one place.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// The bytes from before are back.
    Restored,
    /// Somebody had changed it since: only our part was taken out.
    TakenOut,
    /// Nothing of ours was there any more.
    Gone,
    /// It was left alone, and why.
    Left(String),
}

/// The bytes at a place.
pub fn read(place: &Place) -> Result<Option<Vec<u8>>> {
    match place {
        Place::File(path) => door::read(path).map_err(|error| Error::io(path, &error)),
        Place::Crontab => schedule::crontab::read(),
    }
}

/// Whether a file can be written, so that this is known before anything is.
///
/// # Errors
/// It is a link to nothing, or nobody may write it.
pub fn writable(place: &Place) -> Result<()> {
    let Place::File(path) = place else { return Ok(()) };
    let target = resolve(path)?;
    let is_closed = target.metadata().is_ok_and(|meta| meta.permissions().readonly());
    if is_closed {
        return Err(Error::refused(format!("{} is read-only; it was left alone", path.display())));
    }
    Ok(())
}

/// The edit as a unified diff.
pub fn diff(edit: &Edit) -> String {
    let name = edit.place.to_string();
    crate::report::unified(Path::new(&name), edit.before.as_deref(), edit.after.as_deref())
}

/// Writes an edit, after its way back is on record.
pub fn write(paths: &Paths, record: &mut Record, edit: &Edit) -> Result<()> {
    let Some(after) = &edit.after else { return put(&edit.place, edit.before.as_deref(), None) };
    let place = edit.place.to_string();
    let now = edit.before.as_deref().map(door::hash);
    let kept = record.of(&place).filter(|row| Some(&row.after_hash) == now.as_ref()).cloned();
    let (before, folders) = match kept {
        Some(row) => (row.before, row.folders),
        None => (edit.base.as_deref().map(|bytes| STANDARD.encode(bytes)), missing(&edit.place)),
    };
    record.put(Recorded {
        place,
        owner: edit.owner.into(),
        before,
        after_hash: door::hash(after),
        folders,
    });
    record.save(paths)?;
    if let Place::File(path) = &edit.place
        && let Some(folder) = path.parent()
    {
        make_folder(folder)?;
    }
    put(&edit.place, edit.before.as_deref(), Some(after))
}

/// Takes back what `row` records. `strip` gives a changed place without our part.
pub fn undo(
    row: &Recorded,
    strip: impl FnOnce(&Place, &[u8]) -> Result<Vec<u8>>,
) -> Result<Undone> {
    let place = Place::parse(&row.place);
    let Some(now) = read(&place)? else { return Ok(Undone::Gone) };
    let result = if door::hash(&now) == row.after_hash {
        let before = row.before.as_ref().map(|text| STANDARD.decode(text)).transpose();
        let before = before.map_err(|error| Error::input(format!("install.json: {error}")))?;
        put(&place, Some(&now), before.as_deref())?;
        Undone::Restored
    } else {
        match strip(&place, &now) {
            Ok(rest) if rest == now => Undone::Gone,
            Ok(rest) => {
                put(&place, Some(&now), Some(&rest))?;
                Undone::TakenOut
            }
            Err(error) => Undone::Left(error.message),
        }
    };
    for folder in row.folders.iter().rev() {
        // A folder that holds something by now stays.
        let _ = std::fs::remove_dir(folder);
    }
    Ok(result)
}

fn put(place: &Place, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<()> {
    let Place::File(path) = place else { return schedule::crontab::write(after) };
    let target = resolve(path)?;
    let before = before.map(door::hash);
    let done = match (after, before.as_deref()) {
        (Some(after), before) => door::write(&target, before, after),
        (None, Some(before)) => door::remove(&target, before),
        (None, None) => Ok(()),
    };
    done.map_err(|error| Error::io(path, &error))
}

/// The file behind a symbolic link, so that the link stays.
fn resolve(path: &Path) -> Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(_) if std::fs::symlink_metadata(path).is_ok() => Err(Error::refused(format!(
            "{} is a symbolic link to nothing; it was left alone",
            path.display()
        ))),
        Err(_) => Ok(path.to_path_buf()),
    }
}

/// Folders above the place that do not exist yet, outermost first.
fn missing(place: &Place) -> Vec<PathBuf> {
    let Place::File(path) = place else { return Vec::new() };
    let mut folders: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() { Ok(()) } else { create_private(folder) }
}

/// Writes an edit that needs no way back: one that takes our part out.
pub fn put_back(edit: &Edit) -> Result<()> {
    put(&edit.place, edit.before.as_deref(), edit.after.as_deref())
}
