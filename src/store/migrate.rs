//! The schema: ordered migrations, a verified copy of the database before each change, and a word
//! kept beside the database that there is one.
//!
//! A copy is made by `VACUUM INTO`, read back (integrity, version, number of entries) and only then
//! trusted; the migration does not start before that. `store.backups` of them are kept.

use super::name_file;
use crate::durable;
use crate::error::{Error, ExitCode, REPAIR, Result};
use crate::regular;
use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{M, Migrations};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Ordered, additive, never edited once released.
const SCHEMA: &[M<'static>] = &[M::up(include_str!("../../migrations/0001_init.sql"))];

/// The migrations of this build and the version they lead to.
pub struct Schema {
    migrations: Migrations<'static>,
    version: i64,
}

impl Schema {
    /// What this build writes.
    pub fn current() -> Self {
        Self::of(SCHEMA)
    }

    /// The schema that `steps` lead to.
    pub fn of(steps: &'static [M<'static>]) -> Self {
        let version = i64::try_from(steps.len()).unwrap_or(i64::MAX);
        Self { migrations: Migrations::from_slice(steps), version }
    }

    /// The version of this schema.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Brings an empty database to this version.
    pub fn fill(&self, connection: &mut Connection) -> Result<()> {
        self.migrations
            .to_latest(connection)
            .map_err(|error| Error::new(ExitCode::Store, format!("migration failed: {error}")))
    }

    /// Brings the database at `path` to this version; `keep` copies of older ones stay.
    pub fn migrate(&self, connection: &mut Connection, path: &Path, keep: usize) -> Result<()> {
        match version(connection)? {
            found if found == self.version => return Ok(()),
            found if found > self.version => return Err(newer(found, self.version)),
            _ => {}
        }
        // Several processes may meet at a store that does not exist yet: one migrates, the others
        // wait and find it done.
        let mut lock = lock(path)?;
        let found = version(connection)?;
        if found >= self.version {
            return if found == self.version { Ok(()) } else { Err(newer(found, self.version)) };
        }
        if found == 0 {
            connection.pragma_update(None, "journal_mode", "wal")?;
        } else {
            back_up(connection, path, found, keep)?;
        }
        self.fill(connection)?;
        note_version(&mut lock, self.version).map_err(|error| Error::io(&lock_file(path), &error))
    }
}

/// That a later build wrote the store.
pub fn newer(found: i64, known: i64) -> Error {
    Error::new(ExitCode::Store, format!("the store has schema {found}, this build knows {known}"))
        .hint("use the newer version of lifecycle that wrote it")
}

/// The schema version of a database.
pub fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn lock_file(path: &Path) -> PathBuf {
    path.with_extension("migrate.lock")
}

/// Taken by whoever changes the schema or replaces the file.
pub fn lock(path: &Path) -> Result<File> {
    let lock = lock_file(path);
    let mut options = durable::private();
    let file = options
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&lock)
        .map_err(|error| Error::unwritable(&lock, &error))?;
    file.lock().map_err(|error| Error::io(&lock, &error))?;
    Ok(file)
}

fn note_version(lock: &mut File, version: i64) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{version}")?;
    lock.sync_all()
}

/// Forgets that there is a store, after its file was set aside on request.
pub fn forget(lock: &File) -> std::io::Result<()> {
    lock.set_len(0)
}

/// Whether SQLite would take the file for a database that is yet to be made: one byte is as good as
/// none to it.
pub fn is_empty(meta: &std::fs::Metadata) -> bool {
    meta.len() <= 1
}

/// An empty file where a store has been is a loss, not a new store.
pub fn refuse_emptied(path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|meta| is_empty(&meta)) && was_set_up(path) {
        let text = format!("{}: the store is empty, although there was one", path.display());
        return Err(Error::new(ExitCode::Store, text).hint(REPAIR));
    }
    Ok(())
}

/// A file whose name goes on where that of `path` ends.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    PathBuf::from(name)
}

/// Whether pages of the database lie in a log beside it.
pub fn has_log(path: &Path) -> bool {
    let holds = |end: &str| beside(path, end).metadata().is_ok_and(|meta| meta.len() > 0);
    holds("-wal") || holds("-journal")
}

/// A file whose end is missing is not touched: SQLite would take zeros for what was there.
pub fn refuse_cut(path: &Path) -> Result<()> {
    missing_end(path)
        .map_or(Ok(()), |what| Err(Error::damaged(format!("{}: {what}", path.display()))))
}

/// Whether this process has not looked at the file at `path` yet. Only then, before its first
/// connection, may it open the file beside SQLite: closing it drops every lock that the process has
/// on it (POSIX), those of a connection too, and another process could take the log away under that.
pub fn is_first_look(path: &Path) -> bool {
    static LOOKED_AT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf())
}

/// What is missing of a database file as its length alone tells: it ends within a page, or before
/// the last page that its head counts. Another process may be about to lengthen it: it is looked at
/// again.
pub fn missing_end(path: &Path) -> Option<String> {
    let mut found = missing_now(path)?;
    for pause in [20, 80] {
        std::thread::sleep(Duration::from_millis(pause));
        found = missing_now(path)?;
    }
    Some(found)
}

fn missing_now(path: &Path) -> Option<String> {
    let layout = Layout::of(path)?;
    let Layout { page, pages, length } = layout;
    if length % page != 0 {
        return Some(format!("the file ends within a page of {page} bytes, at {length}"));
    }
    (length < layout.whole()).then(|| format!("the file has {} of {pages} pages", length / page))
}

/// How long a database file is, and how long its head says it is.
struct Layout {
    page: u64,
    pages: u64,
    length: u64,
}

impl Layout {
    /// `None` where that cannot be told: it is no database, or pages of it may lie in a log.
    fn of(path: &Path) -> Option<Self> {
        if has_log(path) {
            return None;
        }
        let mut head = [0; 100];
        let mut file = regular::open(path).ok()?;
        file.read_exact(&mut head).ok()?;
        let number =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let page = match u64::from(number(16) >> 16) {
            1 => 1 << 16,
            page => page,
        };
        let is_one =
            head.starts_with(b"SQLite format 3\0") && page.is_power_of_two() && page >= 512;
        // The count of pages holds where the writer that changed the file last has set it.
        let pages = if number(24) == number(92) { u64::from(number(28)) } else { 0 };
        let length = file.metadata().ok()?.len();
        (is_one && !has_log(path)).then_some(Self { page, pages, length })
    }

    fn whole(&self) -> u64 {
        self.length.div_ceil(self.page).max(self.pages) * self.page
    }
}

/// Gives a copy that was cut off its length again, with zeros: SQLite opens no shorter file, and so
/// reads what is there.
pub fn lengthen(copy: &Path) -> std::io::Result<()> {
    match Layout::of(copy) {
        // A head that was hit may claim anything.
        Some(layout) if layout.length < layout.whole() && layout.whole() <= layout.length * 2 => {
            std::fs::OpenOptions::new().write(true).open(copy)?.set_len(layout.whole())
        }
        _ => Ok(()),
    }
}

/// Whether a store has been set up at `path` before.
pub fn was_set_up(path: &Path) -> bool {
    let read = regular::text(&lock_file(path), regular::SMALL);
    read.is_ok_and(|word| !word.trim().is_empty())
}

/// Folder of the copies.
pub fn backups_folder(path: &Path) -> PathBuf {
    path.with_file_name("backups")
}

/// The copies there are, newest first.
pub fn backups(path: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(backups_folder(path)).into_iter().flatten().flatten();
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = listing
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "sqlite3"))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Copies the database, reads the copy back, and lets the newest `keep` copies stay.
pub fn back_up(connection: &Connection, path: &Path, version: i64, keep: usize) -> Result<PathBuf> {
    let folder = backups_folder(path);
    crate::paths::create_private(&folder)?;
    let time = chrono::Utc::now().format("%Y%m%dT%H%M%S%3fZ");
    let copy = folder.join(format!("lifecycle-schema{version}-{time}.sqlite3"));
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(
            ExitCode::Store,
            format!("no copy could be made before the migration, so it was not begun: {error}"),
        )
        .hint("make room for a copy of the database beside it")
    };
    let made = make_copy(connection, &copy).and_then(|()| check_copy(connection, &copy, version));
    if let Err(error) = made {
        // Half a copy must not be taken for one.
        let _ = std::fs::remove_file(&copy);
        return Err(failed(&error.message));
    }
    for old in backups(path).into_iter().skip(keep.max(1)) {
        std::fs::remove_file(&old).map_err(|error| Error::io(&old, &error))?;
    }
    Ok(copy)
}

fn make_copy(connection: &Connection, copy: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(copy, &error);
    // SQLite fills an empty file; this one is the owner's alone from the start.
    durable::private().create_new(true).write(true).open(copy).map_err(io)?;
    crate::fault::effect("backup", &[copy]).map_err(io)?;
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    File::open(copy).and_then(|file| file.sync_all()).map_err(io)?;
    let (folder, _) = durable::parts(copy).map_err(io)?;
    durable::Folder::open(folder).and_then(|folder| folder.sync()).map_err(io)
}

fn check_copy(original: &Connection, copy: &Path, wanted: i64) -> Result<()> {
    let read = open_read_only(copy)?;
    let problems = integrity(&read)?;
    if !problems.is_empty() {
        return Err(Error::new(ExitCode::Store, format!("the copy is damaged: {}", problems[0])));
    }
    let same = version(&read)? == wanted && entries(&read)? == entries(original)?;
    if same { Ok(()) } else { Err(Error::new(ExitCode::Store, "the copy differs")) }
}

/// Opens a database to look at it.
pub fn open_read_only(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).map_err(Error::from);
    opened.map_err(|error| name_file(error, path))
}

/// What SQLite finds wrong with a database, at most ten lines.
pub fn integrity(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check(10)")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut found: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    found.retain(|line| line != "ok");
    Ok(found)
}

/// How many entries a database holds.
pub fn entries(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("SELECT count(*) FROM entry", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FIRST: &str = "CREATE TABLE entry (id TEXT NOT NULL) STRICT;";
    static ONE: &[M<'static>] = &[M::up(FIRST)];
    static TWO: &[M<'static>] =
        &[M::up(FIRST), M::up("ALTER TABLE entry ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';")];
    static BROKEN: &[M<'static>] = &[M::up(FIRST), M::up("ALTER TABLE nothing ADD COLUMN x TEXT;")];

    fn first(folder: &Path, rows: usize) -> (PathBuf, Connection) {
        let path = folder.join("lifecycle.sqlite3");
        let mut connection = Connection::open(&path).unwrap();
        Schema::of(ONE).migrate(&mut connection, &path, 3).unwrap();
        for n in 0..rows {
            connection.execute("INSERT INTO entry VALUES (?1)", [format!("e{n}")]).unwrap();
        }
        (path, connection)
    }

    #[test]
    fn a_second_migration_leaves_a_verified_copy_of_the_first_schema() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = first(folder.path(), 40);
        assert!(backups(&path).is_empty(), "a new store needs no copy");
        Schema::of(TWO).migrate(&mut connection, &path, 3).unwrap();
        assert_eq!((version(&connection).unwrap(), entries(&connection).unwrap()), (2, 40));
        let copies = backups(&path);
        assert_eq!(copies.len(), 1);
        let copy = open_read_only(&copies[0]).unwrap();
        assert_eq!((version(&copy).unwrap(), entries(&copy).unwrap()), (1, 40));
        assert_eq!(integrity(&copy).unwrap(), [""; 0]);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&copies[0]), mode(&backups_folder(&path))), (0o600, 0o700));
        // Once more: nothing to do, no further copy.
        Schema::of(TWO).migrate(&mut connection, &path, 3).unwrap();
        assert_eq!(backups(&path).len(), 1);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_store_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = first(folder.path(), 7);
        let error = Schema::of(BROKEN).migrate(&mut connection, &path, 3).unwrap_err();
        assert_eq!(error.code, ExitCode::Store);
        assert_eq!((version(&connection).unwrap(), entries(&connection).unwrap()), (1, 7));
        assert_eq!(backups(&path).len(), 1);
    }

    #[test]
    fn without_a_copy_no_migration_begins() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = first(folder.path(), 7);
        std::fs::write(backups_folder(&path), "a file is in the way").unwrap();
        assert!(Schema::of(TWO).migrate(&mut connection, &path, 3).is_err());
        assert_eq!(version(&connection).unwrap(), 1);
    }

    #[test]
    fn the_newest_copies_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (path, connection) = first(folder.path(), 1);
        let made: Vec<PathBuf> = (0..5)
            .map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                back_up(&connection, &path, 1, 2).unwrap()
            })
            .collect();
        assert_eq!(backups(&path), [made[4].clone(), made[3].clone()]);
        assert_eq!(std::fs::read_dir(backups_folder(&path)).unwrap().count(), 2);
    }

    #[test]
    fn a_newer_schema_and_an_emptied_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = first(folder.path(), 1);
        Schema::of(TWO).migrate(&mut connection, &path, 3).unwrap();
        let error = Schema::of(ONE).migrate(&mut connection, &path, 3).unwrap_err();
        assert!(error.message.contains("schema 2"), "{}", error.message);
        drop(connection);
        assert!(refuse_emptied(&path).is_ok());
        for rest in [&b""[..], b"x"] {
            std::fs::write(&path, rest).unwrap();
            assert_eq!(refuse_emptied(&path).unwrap_err().code, ExitCode::Store);
        }
    }
}
