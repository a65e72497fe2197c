//! The inbox: one small file for each thing the engine was told while it was not running.
//!
//! A record is written to a temporary name and renamed, so a reader never sees half of one. It is
//! removed only after what it led to is in the store. A record that does not parse is moved to
//! `inbox/bad`, where nothing deletes it. While the inbox takes none (a file has its name, or it is
//! closed) records go to `inbox-spare` and are read from there; every run says so until it is mended.

use super::Assistant;
use crate::durable::Folder;
use crate::error::{Error, Result};
use crate::paths::{Paths, create_private};
use lifecycle_phases::Kind;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The version of the records that this build writes.
pub const VERSION: u32 = 1;

/// A record holds at most a note or a last message (bytes).
const LONGEST: u64 = 16 << 20;

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A hook announced a conversation.
    Conversation(Announcement),
    /// A briefing showed entries to an assistant.
    Recalled(Shown),
    /// A text that `add` could not store because the store was busy.
    Note(Note),
}

/// What a hook was told. Every field but the time may be missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// Whose conversation.
    pub assistant: Assistant,
    /// Name of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its file, `~/` resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Size of the file in bytes at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The assistant's last message, redacted; the file may lag behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// Milliseconds since 1970-01-01 UTC.
    pub received: i64,
}

/// What a briefing showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The entries that matched, each with its score.
    pub entries: Vec<lifecycle_phases::recall::Recalled>,
}

/// A note that waits for the store, redacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The text.
    pub text: String,
    /// Canonical root of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What it is about.
    pub about: Kind,
    /// Milliseconds since 1970-01-01 UTC.
    pub created: i64,
    /// The notes file it stood in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Versioned<R> {
    version: u32,
    #[serde(flatten)]
    record: R,
}

/// A record and the file it stands in.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The file; removed by [`remove`] once its content is stored.
    pub file: PathBuf,
    /// What it tells.
    pub record: Record,
}

/// What lies in the inbox.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Records in order of arrival.
    pub waiting: Vec<Waiting>,
    /// Files that do not parse, with the reason; still where they were.
    pub bad: Vec<(PathBuf, String)>,
    /// What is wrong with the folders themselves.
    pub closed: Vec<Closed>,
}

/// A folder for records that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The folder.
    pub folder: PathBuf,
    /// Why not.
    pub why: String,
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}: what hooks say waits in inbox-spare; `lifecycle doctor --repair` mends it",
            self.folder.display(),
            self.why
        )
    }
}

/// Writes a record. The folder is made if it is missing. A note lasts when this returns; what a
/// hook says does not wait for the disk, because a cut of power costs nothing there: the scan finds
/// the conversation, and half a record is set aside.
pub fn put(paths: &Paths, record: &Record, now: i64) -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{now:013}-{}-{n}", std::process::id());
    let name = name + ".json";
    let text = serde_json::to_vec(&Versioned { version: VERSION, record })?;
    let lasting = matches!(record, Record::Note(_));
    put_into(paths.inbox(), &name, &text, lasting)
        .or_else(|first| put_into(paths.spare_inbox(), &name, &text, lasting).map_err(|_| first))
}

fn put_into(folder: PathBuf, name: &str, text: &[u8], lasting: bool) -> Result<PathBuf> {
    create_private(&folder)?;
    let file = folder.join(name);
    let written = write(&folder, name.as_ref(), text, lasting);
    written.map(|()| file).map_err(|error| Error::unwritable(&folder, &error))
}

fn write(folder: &Path, name: &OsStr, text: &[u8], lasting: bool) -> std::io::Result<()> {
    let folder = Folder::open(folder)?;
    let mut draft = folder.draft(name)?;
    draft.fill(text)?;
    if lasting {
        draft.sync()?;
    }
    draft.place()?;
    if lasting { folder.sync() } else { Ok(()) }
}

/// Everything that waits, without changing anything.
pub fn read(paths: &Paths) -> Result<Inbox> {
    let mut inbox = Inbox::default();
    let mut files = Vec::new();
    for folder in [paths.inbox(), paths.spare_inbox()] {
        let (found, wrong) = records(&folder);
        files.extend(found);
        inbox.closed.extend(wrong.map(|why| Closed { folder, why }));
    }
    // The name of a record begins with its time.
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    for file in files {
        match parse(&file) {
            Ok(Some(record)) => inbox.waiting.push(Waiting { file, record }),
            Ok(None) => {}
            Err(reason) => inbox.bad.push((file, reason)),
        }
    }
    Ok(inbox)
}

/// The files of records in a folder, however they read, and what is wrong with the folder: it is
/// none, or it gives nothing or takes nothing.
pub fn records(folder: &Path) -> (Vec<PathBuf>, Option<String>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Vec::new(), None),
        Err(_) if folder.is_file() => return (Vec::new(), Some("is a file, not a folder".into())),
        Err(error) => return (Vec::new(), Some(format!("cannot be read: {error}"))),
    };
    let is_record = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "json");
    let files = entries.flatten().map(|entry| entry.path()).filter(is_record).collect();
    let is_closed = std::fs::metadata(folder).is_ok_and(|meta| meta.permissions().readonly());
    (files, is_closed.then(|| "is closed, nothing can be put into it or taken out".into()))
}

/// `None` when the file has gone meanwhile.
fn parse(file: &Path) -> Result<Option<Record>, String> {
    match crate::regular::read(file, LONGEST) {
        Ok(bytes) => match serde_json::from_slice::<Versioned<Record>>(&bytes) {
            Ok(versioned) => Ok(Some(versioned.record)),
            Err(error) => Err(error.to_string()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Removes the file of a record whose content is stored. One that has gone already is no error.
pub fn remove(file: &Path) -> Result<()> {
    let removed =
        crate::fault::effect("remove record", &[file]).and_then(|()| std::fs::remove_file(file));
    crate::fault::point("record removed");
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(file, &error)),
        _ => Ok(()),
    }
}

/// Moves a file that does not parse to the folder `bad` beside it and returns its new place.
pub fn set_aside(file: &Path) -> Result<PathBuf> {
    let folder = file.with_file_name("bad");
    create_private(&folder)?;
    let target = folder.join(file.file_name().unwrap_or_default());
    std::fs::rename(file, &target).map_err(|error| Error::io(file, &error))?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn paths(folder: &tempfile::TempDir) -> Paths {
        let data = folder.path().join("deep/data");
        Paths { config_file: data.join("config.toml"), home: folder.path().into(), data }
    }

    fn note(text: &str) -> Record {
        let text = text.into();
        Record::Note(Note { text, project: None, about: Kind::Insight, created: 5, path: None })
    }

    #[test]
    fn records_come_back_in_order_and_stay_until_removed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths(&folder);
        assert!(read(&paths).unwrap().waiting.is_empty());
        for (text, now) in [("b", 20), ("a", 3), ("c", 100)] {
            put(&paths, &note(text), now).unwrap();
        }
        let waiting = read(&paths).unwrap().waiting;
        let records: Vec<_> = waiting.iter().map(|w| w.record.clone()).collect();
        assert_eq!(records, [note("a"), note("b"), note("c")]);
        remove(&waiting[0].file).unwrap();
        remove(&waiting[0].file).unwrap();
        assert_eq!(read(&paths).unwrap().waiting.len(), 2);
    }

    #[test]
    fn what_does_not_parse_is_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths(&folder);
        put(&paths, &note("a"), 1).unwrap();
        std::fs::write(paths.inbox().join("9.json"), b"{\"kind\":").unwrap();
        let inbox = read(&paths).unwrap();
        assert_eq!((inbox.waiting.len(), inbox.bad.len()), (1, 1));
        let moved = set_aside(&inbox.bad[0].0).unwrap();
        assert_eq!(std::fs::read(moved).unwrap(), b"{\"kind\":");
        assert!(read(&paths).unwrap().bad.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let paths = paths(&folder);
        let file = put(&paths, &note("a"), 1).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&paths.inbox())), (0o600, 0o700));
    }
}
