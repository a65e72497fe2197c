//! A damaged database: what is wrong with it, and what can be had back.
//!
//! The damaged file is only ever read (as a copy) and set aside under a new name. What can be read
//! from it is copied row by row into a new database, around the places that cannot; the words are
//! indexed anew, rows that point at lost ones are dropped. Where the newest verified copy in
//! `backups/` holds more entries, that one is taken instead.

use super::migrate::{self, Schema};
use super::{reading, rebuild_words, rows};
use crate::durable;
use crate::error::{Error, ExitCode, Result};
use crate::regular;
use lifecycle_phases::ContentHash;
use rusqlite::{Connection, params_from_iter};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How the database file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// There is none.
    Missing,
    /// Nothing wrong was found.
    Sound,
    /// A later build wrote it; nothing is wrong with it.
    Newer(i64),
    /// It is empty, although there was a store.
    Emptied,
    /// What is wrong with it: the words of SQLite, or ours.
    Damaged(Vec<String>),
    /// It cannot be looked at, and why.
    Closed(String),
}

/// Looks at every page and every row of the database.
pub fn examine(path: &Path) -> Health {
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Health::Missing,
        Err(error) => return Health::Closed(error.to_string()),
        Ok(meta) if !meta.is_file() => {
            return Health::Damaged(vec!["it is not a regular file".into()]);
        }
        Ok(meta) if migrate::is_empty(&meta) && migrate::was_set_up(path) => {
            return Health::Emptied;
        }
        Ok(meta) if migrate::is_empty(&meta) => return Health::Missing,
        Ok(_) => {}
    }
    if let Err(error) = regular::open(path) {
        return Health::Closed(error.to_string());
    }
    if let Some(what) = migrate::missing_end(path) {
        return Health::Damaged(vec![what]);
    }
    match look(path) {
        Ok(health) => health,
        Err(error) => Health::Damaged(vec![error.message]),
    }
}

fn look(path: &Path) -> Result<Health> {
    let (connection, _copy) = reading::connection(path)?;
    let problems = migrate::integrity(&connection)?;
    if !problems.is_empty() {
        return Ok(Health::Damaged(problems));
    }
    let version = migrate::version(&connection)?;
    if version > Schema::current().version() {
        return Ok(Health::Newer(version));
    }
    migrate::entries(&connection)?;
    // An older one is brought up to date first, by whatever opens it next.
    let is_current = version == Schema::current().version();
    let unread = if is_current { rows::problems(&connection)? } else { Vec::new() };
    Ok(if unread.is_empty() { Health::Sound } else { Health::Damaged(unread) })
}

/// Ids of entries whose text is no longer the one they were stored with: a bit that flipped where
/// SQLite keeps no sum. They cannot be repaired here.
pub fn altered(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT id, text, content_hash FROM entry")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, text, hash): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if ContentHash::of(&text).0 != hash {
            found.push(id);
        }
    }
    Ok(found)
}

/// What a repair found and put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Where the content came from.
    pub from: Origin,
    /// Entries in the new database.
    pub entries: i64,
    /// Rows that could be found in the damaged file and not be read.
    pub lost: usize,
    /// Numbers of entries that were given and are not there: lost, or forgotten before.
    pub missing: i64,
    /// The damaged file under its new name.
    pub aside: Option<PathBuf>,
}

/// Where the content of a repaired database came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What could be read of the damaged file.
    Salvage,
    /// A copy from before a migration.
    Backup(PathBuf),
    /// Nothing could be had back: the next command begins a new store.
    Nothing,
}

/// Makes a database of what can be had back and puts it in place; with `dry_run` only says what
/// would be. The caller holds the tick lock.
pub fn repair(path: &Path, dry_run: bool) -> Result<Repaired> {
    let lock = if dry_run { None } else { Some(migrate::lock(path)?) };
    let folder = path.parent().unwrap_or(Path::new("."));
    let work = tempfile::Builder::new()
        .prefix("repair-")
        .tempdir_in(folder)
        .map_err(|error| Error::io(folder, &error))?;
    let fresh = work.path().join("fresh.sqlite3");
    let mut lost = 0;
    let salvaged = salvage(path, work.path(), &fresh, &mut lost);
    let backup = best_backup(path);
    let (from, entries) = match (salvaged, backup) {
        (salvaged, Some((copy, held))) if salvaged.as_ref().map_or(-1, |kept| *kept) < held => {
            regular::copy(&copy, &fresh).map_err(|error| Error::io(&copy, &error))?;
            (Origin::Backup(copy), held)
        }
        (Ok(kept), _) => (Origin::Salvage, kept),
        (Err(_), _) => (Origin::Nothing, 0),
    };
    let (lost, missing) = match from {
        Origin::Salvage => (lost, missing_numbers(&fresh).unwrap_or_default()),
        _ => (0, 0),
    };
    if dry_run {
        return Ok(Repaired { from, entries, lost, missing, aside: None });
    }
    let aside = set_aside(path)?;
    if from == Origin::Nothing {
        if let Some(lock) = &lock {
            migrate::forget(lock).map_err(|error| Error::io(path, &error))?;
        }
    } else {
        put(&fresh, path)?;
    }
    Ok(Repaired { from, entries, lost, missing, aside: Some(aside) })
}

fn missing_numbers(fresh: &Path) -> Result<i64> {
    let read = migrate::open_read_only(fresh)?;
    let sql = "SELECT coalesce(max(seq), 0) - count(*) FROM entry";
    Ok(read.query_row(sql, [], |row| row.get(0))?)
}

fn put(fresh: &Path, path: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(path, &error);
    let file = std::fs::File::open(fresh).map_err(io)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(io)?;
    file.sync_all().map_err(io)?;
    std::fs::rename(fresh, path).map_err(io)?;
    let (folder, _) = durable::parts(path).map_err(io)?;
    durable::Folder::open(folder).and_then(|folder| folder.sync()).map_err(io)
}

/// Gives the damaged file and what belongs to it names of their own.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let time = chrono::Utc::now().format("%Y%m%dT%H%M%S%3fZ");
    let aside = migrate::beside(path, &format!(".damaged-{time}"));
    for end in ["-wal", "-shm", ""] {
        let (from, to) = (migrate::beside(path, end), migrate::beside(&aside, end));
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&from, &error));
            }
            _ => {}
        }
    }
    Ok(aside)
}

fn best_backup(path: &Path) -> Option<(PathBuf, i64)> {
    let current = Schema::current().version();
    migrate::backups(path).into_iter().find_map(|copy| {
        let read = migrate::open_read_only(&copy).ok()?;
        let sound = migrate::integrity(&read).ok()?.is_empty();
        let fits = migrate::version(&read).ok()? <= current;
        let held = migrate::entries(&read).ok()?;
        (sound && fits).then_some((copy, held))
    })
}

/// Copies what can be read into a new database at `fresh`; how many entries that are.
fn salvage(path: &Path, work: &Path, fresh: &Path, lost: &mut usize) -> Result<i64> {
    let copy = work.join("damaged.sqlite3");
    for end in ["", "-wal"] {
        let (from, to) = (migrate::beside(path, end), migrate::beside(&copy, end));
        // What stands in the place of the log and is no file holds nothing of the database.
        if from.is_file() {
            regular::copy(&from, &to).map_err(|error| Error::io(&from, &error))?;
        }
    }
    migrate::lengthen(&copy).map_err(|error| Error::io(&copy, &error))?;
    let damaged = Connection::open(&copy)?;
    let mut made = Connection::open(fresh)?;
    Schema::current().fill(&mut made)?;
    made.pragma_update(None, "foreign_keys", false)?;
    for table in tables(&made)? {
        // A table that cannot be read at all is an empty one.
        let _ = copy_table(&damaged, &made, &table, lost);
    }
    drop_orphans(&made)?;
    made.pragma_update(None, "foreign_keys", true)?;
    let tx = made.transaction()?;
    rebuild_words(&tx)?;
    tx.commit()?;
    made.pragma_update(None, "journal_mode", "wal")?;
    match migrate::integrity(&made)?.first() {
        None => {}
        Some(problem) => return Err(Error::new(ExitCode::Store, problem.clone())),
    }
    let kept = migrate::entries(&made)?;
    made.close().map_err(|(_, error)| Error::from(error))?;
    if kept == 0 && migrate::entries(&damaged).unwrap_or(1) != 0 {
        return Err(Error::new(ExitCode::Store, "no entry could be read"));
    }
    Ok(kept)
}

/// Tables with rows of their own: not those of the word index.
pub(super) fn tables(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
             AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn columns(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Reads a table from its start, from its end, and around what cannot be read between.
fn copy_table(from: &Connection, to: &Connection, table: &str, lost: &mut usize) -> Result<()> {
    // A store of an older schema lacks some columns; they keep their defaults.
    let there = columns(from, table).unwrap_or_default();
    let mut columns = columns(to, table)?;
    columns.retain(|column| there.is_empty() || there.contains(column));
    let mut copy = Copy { from, to, table, columns: &columns, insert: String::new(), lost };
    let named: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let marks: Vec<String> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
    let (list, marks) = (named.join(", "), marks.join(", "));
    copy.insert = format!("INSERT OR IGNORE INTO \"{table}\" ({list}) VALUES ({marks})");
    let has_rowid = from.prepare(&format!("SELECT rowid FROM \"{table}\" LIMIT 0")).is_ok();
    if !has_rowid {
        for order in ["ASC", "DESC"] {
            let key = &named[0];
            let sql = format!("SELECT {list} FROM \"{table}\" ORDER BY {key} {order}");
            // What was read before the damage stays.
            let _ = copy.rows(&sql, 0);
        }
        return Ok(());
    }
    let (mut after, mut gap) = (i64::MIN, 1i64);
    for _ in 0..96 {
        let sql =
            format!("SELECT {list}, rowid FROM \"{table}\" WHERE rowid > {after} ORDER BY rowid");
        let (last, ended) = copy.rows(&sql, columns.len());
        if ended {
            return Ok(());
        }
        match last {
            Some(last) => (after, gap) = (last, 1),
            None => (after, gap) = (after.max(0).saturating_add(gap), gap.saturating_mul(2)),
        }
    }
    let sql = format!("SELECT {list}, rowid FROM \"{table}\" ORDER BY rowid DESC");
    copy.rows(&sql, columns.len());
    Ok(())
}

/// Rows of one table on their way.
struct Copy<'a> {
    from: &'a Connection,
    to: &'a Connection,
    table: &'a str,
    columns: &'a [String],
    insert: String,
    lost: &'a mut usize,
}

impl Copy<'_> {
    /// Copies rows until one cannot be read: the key of the last (column `key`), and whether it was
    /// the last of all.
    fn rows(&mut self, sql: &str, key: usize) -> (Option<i64>, bool) {
        let mut last = None;
        let Ok(mut statement) = self.from.prepare(sql) else { return (last, false) };
        let Ok(mut found) = statement.query([]) else { return (last, false) };
        loop {
            match found.next() {
                Ok(Some(row)) => {
                    let read = rows::read(self.table, self.columns, row);
                    let values = read.ok().and_then(|reading| reading.values);
                    // A row that the schema refuses was damaged itself.
                    let put = values.map(|it| self.to.execute(&self.insert, params_from_iter(it)));
                    *self.lost += usize::from(!matches!(put, Some(Ok(_))));
                    last = row.get(key).ok().or(last);
                }
                Ok(None) => return (last, true),
                Err(_) => return (last, false),
            }
        }
    }
}

/// Takes out rows that point at a lost one.
fn drop_orphans(connection: &Connection) -> Result<()> {
    for _ in 0..8 {
        let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
        let found = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?)))?;
        let orphans: Vec<(String, Option<i64>)> = found.collect::<rusqlite::Result<_>>()?;
        if orphans.is_empty() {
            return Ok(());
        }
        for (table, rowid) in orphans {
            match rowid {
                Some(rowid) => {
                    connection
                        .execute(&format!("DELETE FROM \"{table}\" WHERE rowid = ?1"), [rowid])?;
                }
                None => drop_keyed_orphans(connection, &table)?,
            }
        }
    }
    Ok(())
}

/// The same for a table without row numbers: by its columns that point elsewhere.
fn drop_keyed_orphans(connection: &Connection, table: &str) -> Result<()> {
    let mut statement = connection
        .prepare("SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1)")?;
    let keys = statement.query_map([table], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    for key in keys {
        let (column, parent, parent_column) = key?;
        connection.execute(
            &format!(
                "DELETE FROM \"{table}\" WHERE \"{column}\" IS NOT NULL AND \"{column}\" NOT IN
                     (SELECT \"{parent_column}\" FROM \"{parent}\")"
            ),
            [],
        )?;
    }
    Ok(())
}
