//! What was put where, with the bytes that stood there before: the way back.

use crate::error::{Error, Result};
use crate::paths::{Paths, create_private};
use crate::targets::door;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that is installed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// One row a place, in the order of the first writing.
    pub places: Vec<Recorded>,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The file, or `crontab`.
    pub place: String,
    /// Whose part it is: `claude-code`, `codex`, `schedule` or `settings`.
    pub owner: String,
    /// The bytes before, base64; none: there was no such file.
    pub before: Option<String>,
    /// Hash of what was written.
    pub after_hash: String,
    /// Folders that had to be made, outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

impl Record {
    /// The file of the record.
    pub fn path(paths: &Paths) -> PathBuf {
        paths.data.join("install.json")
    }

    /// Reads the record; an empty one where nothing was installed.
    pub fn load(paths: &Paths) -> Result<Self> {
        let path = Self::path(paths);
        let Some(bytes) = door::read(&path).map_err(|error| Error::io(&path, &error))? else {
            return Ok(Self::default());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            Error::input(format!("{} is damaged: {error}", path.display()))
                .hint("take the hooks out with `lifecycle uninstall-hooks`, then remove that file")
        })
    }

    /// Writes the record, or removes the file when nothing is installed.
    pub fn save(&self, paths: &Paths) -> Result<()> {
        let path = Self::path(paths);
        let before = door::read(&path).map_err(|error| Error::io(&path, &error))?;
        let hash = before.as_deref().map(door::hash);
        let done = match (&hash, self.places.is_empty()) {
            (None, true) => return Ok(()),
            (Some(hash), true) => door::remove(&path, hash),
            (_, false) => {
                create_private(&paths.data)?;
                let text = serde_json::to_string_pretty(self)?;
                door::write(&path, hash.as_deref(), text.as_bytes())
            }
        };
        done.map_err(|error| Error::io(&path, &error))
    }

    /// The row of a place.
    pub fn of(&self, place: &str) -> Option<&Recorded> {
        self.places.iter().find(|recorded| recorded.place == place)
    }

    /// Puts a row in, over the earlier one of the same place.
    pub fn put(&mut self, recorded: Recorded) {
        match self.places.iter_mut().find(|other| other.place == recorded.place) {
            Some(other) => *other = recorded,
            None => self.places.push(recorded),
        }
    }
}
