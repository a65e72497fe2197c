//! The SQLite stores of other systems, read and never written.
//!
//! Even opening a database in WAL mode for reading makes files beside it. So one that has a log is
//! copied with it into a temporary folder and read there; one without is opened as immutable.

use super::Parcel;
use crate::capture::project::project_of;
use crate::clock::parse_time;
use crate::error::{Error, ExitCode, Result};
use chrono::{NaiveDateTime, TimeZone, Utc};
use lifecycle_phases::{Actor, Channel, Entry, Kind, Source, State};
use rusqlite::{Connection, OpenFlags, Row};
use std::path::Path;

/// Entries of a claude-memory-lifecycle `buffer.sqlite3`: states, kinds, recalls and reprieves are
/// kept. `permanent` entries become proven, not routed: no file of ours states them yet.
pub fn memory_lifecycle(path: &Path) -> Result<Parcel> {
    entries_of(path).map_err(|error| theirs(path, error))
}

/// It is their database that cannot be read, not ours.
fn theirs(path: &Path, error: Error) -> Error {
    if error.code != ExitCode::Store {
        return error;
    }
    let why = error.message.trim_start_matches("the store is damaged: ");
    Error::input(format!("{} cannot be read: {why}", path.display()))
}

fn entries_of(path: &Path) -> Result<Parcel> {
    let foreign = open(path, "buffer_entries")?;
    let connection = &foreign.connection;
    let has = |column: &str| has_column(connection, "buffer_entries", column);
    let or = |column: &str, otherwise: &str| {
        has(column).map(|has| if has { column.to_string() } else { otherwise.to_string() })
    };
    let sql = format!(
        "SELECT id, text, state, created_at, recall_count, {}, {}, {} FROM buffer_entries ORDER BY id",
        or("project", "NULL")?,
        or("entry_type", "NULL")?,
        or("reprieve_count", "0")?,
    );
    collect(connection, &sql, |row| {
        let state: String = row.get(2)?;
        let kind: Option<String> = row.get(6)?;
        let mut entry = entry(path, row, row.get(1)?, row.get(5)?, &row.get::<_, String>(3)?)?;
        entry.kind = match kind.as_deref() {
            Some("decision") => Kind::Decision,
            Some("user-gedanke") => Kind::Thought,
            Some("session-save" | "auto-session-save") => Kind::Session,
            _ => Kind::Insight,
        };
        entry.state = match state.as_str() {
            "proven" | "permanent" => State::Proven,
            "expired" => State::Expired,
            _ => State::Buffered,
        };
        entry.recalls = row.get::<_, Option<u32>>(4)?.unwrap_or_default();
        entry.reprieves = row.get::<_, Option<u32>>(7)?.unwrap_or_default();
        Ok(entry)
    })
}

/// Observations (title, narrative, facts, files) and session summaries of a claude-mem database.
/// Columns that its version does not have yet are taken as empty.
pub fn claude_mem(path: &Path) -> Result<Parcel> {
    observations_of(path).map_err(|error| theirs(path, error))
}

fn observations_of(path: &Path) -> Result<Parcel> {
    let foreign = open(path, "observations")?;
    let connection = &foreign.connection;
    let columns = ["title", "narrative", "text", "facts", "files_modified", "memory_session_id"];
    let sql = format!(
        "SELECT id, {}, type, project, created_at FROM observations ORDER BY id",
        or_null(connection, "observations", &columns)?
    );
    let mut parcel = collect(connection, &sql, |row| {
        let mut parts: Vec<String> = Vec::new();
        for column in 1..=3 {
            parts.push(row.get::<_, Option<String>>(column)?.unwrap_or_default());
        }
        parts.extend(list(row, 4)?);
        let kind: String = row.get(7)?;
        let text = join(&parts, ". ");
        let mut entry = entry(path, row, text, row.get(8)?, &row.get::<_, String>(9)?)?;
        entry.kind = Kind::parse(&kind.replace('-', "_")).unwrap_or(Kind::Insight);
        entry.source.files = list(row, 5)?;
        entry.source.conversation = row.get(6)?;
        Ok(entry)
    })?;
    if has_column(connection, "session_summaries", "learned")? {
        let columns =
            ["request", "investigated", "learned", "completed", "notes", "memory_session_id"];
        let sql = format!(
            "SELECT id, {}, project, created_at FROM session_summaries ORDER BY id",
            or_null(connection, "session_summaries", &columns)?
        );
        let summaries = collect(connection, &sql, |row| {
            let mut parts: Vec<String> = Vec::new();
            for column in 1..=5 {
                parts.push(row.get::<_, Option<String>>(column)?.unwrap_or_default());
            }
            let text = join(&parts, "\n");
            let mut entry = entry(path, row, text, row.get(7)?, &row.get::<_, String>(8)?)?;
            entry.kind = Kind::Session;
            entry.source.conversation = row.get(6)?;
            Ok(entry)
        })?;
        parcel.entries.extend(summaries.entries);
        parcel.skipped.extend(summaries.skipped);
    }
    Ok(parcel)
}

/// These columns of a table as SQL, NULL for those that it lacks.
fn or_null(connection: &Connection, table: &str, columns: &[&str]) -> Result<String> {
    let mut parts = Vec::new();
    for column in columns {
        parts.push(if has_column(connection, table, column)? { column } else { "NULL" });
    }
    Ok(parts.join(", "))
}

/// A JSON array of texts; what is none is empty.
fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text: Option<String> = row.get(column)?;
    Ok(serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default())
}

/// A foreign database, and the folder of its copy where one was made.
struct Foreign {
    connection: Connection,
    _copy: Option<tempfile::TempDir>,
}

fn open(path: &Path, table: &str) -> Result<Foreign> {
    if !path.is_file() {
        return Err(Error::input(format!("{}: there is no such file", path.display())));
    }
    let wrong = |why: String| Error::input(format!("{}: {why}", path.display()));
    let copy = copy_with_log(path).map_err(|error| wrong(error.to_string()))?;
    let connection = match &copy {
        Some(folder) => Connection::open(folder.path().join(COPY)),
        None => Connection::open_with_flags(
            crate::store::immutable_address(path),
            OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI,
        ),
    };
    let connection = connection.map_err(|error| wrong(error.to_string()))?;
    match has_column(&connection, table, "id") {
        Ok(true) => Ok(Foreign { connection, _copy: copy }),
        Ok(false) => Err(wrong(format!("there is no table `{table}` in it"))),
        Err(error) => Err(error),
    }
}

/// Name of the copy in its folder.
const COPY: &str = "copy.sqlite3";

/// Copies a database that has a log, since its newest rows may be there alone.
fn copy_with_log(path: &Path) -> std::io::Result<Option<tempfile::TempDir>> {
    let mut log = path.as_os_str().to_os_string();
    log.push("-wal");
    if !std::fs::metadata(&log).is_ok_and(|meta| meta.len() > 0) {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join(COPY);
    crate::regular::copy(path, &copy)?;
    crate::regular::copy(Path::new(&log), &folder.path().join(format!("{COPY}-wal")))?;
    Ok(Some(folder))
}

fn has_column(connection: &Connection, table: &str, column: &str) -> Result<bool> {
    Ok(connection.query_row(
        "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
        [table, column],
        |row| row.get::<_, i64>(0).map(|count| count > 0),
    )?)
}

/// Reads all rows; one that cannot be used is skipped and named.
fn collect(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<Entry>,
) -> Result<Parcel> {
    let mut parcel = Parcel::default();
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        match read(row) {
            Ok(entry) if entry.text.trim().is_empty() => {
                parcel.skipped.push(format!("row {id} has no text"));
            }
            Ok(entry) => parcel.entries.push((entry, "imported".to_string())),
            Err(error) => parcel.skipped.push(format!("row {id}: {error}")),
        }
    }
    Ok(parcel)
}

fn entry(
    path: &Path,
    row: &Row<'_>,
    text: String,
    project: Option<String>,
    created: &str,
) -> rusqlite::Result<Entry> {
    let mut source = Source::new(Channel::Import, Actor::Assistant);
    source.path = Some(path.to_string_lossy().into_owned());
    source.offset = row.get::<_, i64>(0).ok().map(i64::unsigned_abs);
    // A name that is no path stays as it is: the other system knew projects by name.
    let project = project.filter(|name| !name.trim().is_empty());
    let project = project.map(|name| project_of(&name).unwrap_or(name));
    let text = lifecycle_phases::text::printable(text.trim());
    Ok(Entry::new(&text, Kind::Insight, project, millis(created), source))
}

/// The time, or the epoch where it cannot be read. A time without a zone is taken as UTC.
fn millis(text: &str) -> i64 {
    let naive = |format: &str| NaiveDateTime::parse_from_str(text.trim(), format).ok();
    parse_time(text.trim()).ok().unwrap_or_else(|| {
        let found = naive("%Y-%m-%dT%H:%M:%S%.f").or_else(|| naive("%Y-%m-%d %H:%M:%S%.f"));
        found.map_or(0, |time| Utc.from_utc_datetime(&time).timestamp_millis())
    })
}

/// The parts that say something no other part contains.
fn join(parts: &[String], between: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in parts.iter().map(|part| part.trim().trim_end_matches('.')) {
        if !part.is_empty() && !kept.iter().any(|known| known.contains(part)) {
            kept.push(part);
        }
    }
    kept.join(between)
}
