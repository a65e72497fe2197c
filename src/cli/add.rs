//! `lifecycle add`: a note by hand, or many from a file. Storing needs no server and no model.
//!
//! When the store stays busy the notes are left in the inbox, the command says so and ends with
//! exit code 5; the next tick takes them in.

use super::{Session, escape_terminal, one_line, print_aside, print_json, print_text};
use crate::capture::inbox::{self, Note, Record};
use crate::capture::project;
use crate::clock::parse_time;
use crate::error::{Error, ExitCode, Result};
use crate::redact::{Counts, Redactor};
use crate::regular;
use crate::store::Store;
use crate::tick::buffer;
use clap::Args;
use lifecycle_phases::buffer::{Arrival, clean};
use lifecycle_phases::{Actor, Channel, Entry, EntryId, Kind, Source};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Options of `add`.
#[derive(Args)]
pub struct AddArgs {
    /// The text, or `-` to read it from standard input
    #[arg(required_unless_present_any = ["file", "file_text"])]
    text: Option<String>,
    /// A file of notes, one JSON object a line: text, project, kind, created
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "file_text"])]
    file: Option<PathBuf>,
    /// A file whose whole text becomes one entry
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file_text: Option<PathBuf>,
    /// The project's folder [default: the current one's]
    #[arg(long, value_name = "PATH")]
    project: Option<PathBuf>,
    /// What it is about: insight, decision, thought, …
    #[arg(long, default_value = "insight")]
    kind: String,
}

/// A line of a notes file.
#[derive(Deserialize)]
struct NoteLine {
    text: String,
    project: Option<PathBuf>,
    kind: Option<String>,
    #[serde(alias = "ts", alias = "created_at")]
    created: Option<serde_json::Value>,
}

/// What was read, and what could not be.
#[derive(Default)]
struct Batch {
    arrivals: Vec<Arrival>,
    bad: Vec<String>,
    /// What the user should know although nothing is wrong.
    notes: BTreeSet<String>,
    redacted: Counts,
    redactor: Redactor,
    /// Longest text of an entry.
    max_bytes: usize,
}

/// Stores the notes and prints their ids.
pub fn run(session: &Session, args: &AddArgs) -> Result<ExitCode> {
    let read = read(session, args)?;
    let entries: Vec<Entry> = read.arrivals.iter().filter_map(entry_of).collect();
    let known = if read.arrivals.is_empty() { Vec::new() } else { store(session, &read.arrivals)? };
    say(session, &read, &entries, &known)?;
    match read.bad.first() {
        None => Ok(ExitCode::Success),
        Some(reason) if read.bad.len() == 1 && entries.is_empty() => {
            Err(Error::input(reason.clone()).hint("nothing was stored"))
        }
        Some(_) => {
            read.bad.iter().for_each(|reason| print_aside(&format!("error: {reason}")));
            Err(Error::input(format!("{} of the notes could not be used", read.bad.len()))
                .hint(format!("the other {} are stored", entries.len())))
        }
    }
}

fn read(session: &Session, args: &AddArgs) -> Result<Batch> {
    let redactor = Redactor::new(&session.settings.redact.patterns)?;
    let max_bytes = session.settings.capture.max_entry_bytes;
    let mut read = Batch { redactor, max_bytes, ..Batch::default() };
    let source = Source::new(Channel::Cli, Actor::User);
    let project = args.project.clone().unwrap_or_else(|| ".".into());
    if let Some(file) = &args.file {
        read_lines(session, args, file, &mut read)?;
        return Ok(read);
    }
    // What is a little too long is told with the setting; what has no end is not read to it.
    let most = (max_bytes as u64).max(regular::SMALL);
    let (text, source) = match (&args.file_text, args.text.as_deref()) {
        (Some(file), _) => {
            let path = Some(absolute(file).to_string_lossy().into_owned());
            (read_text(file, most)?, Source { path, ..source })
        }
        (None, Some("-")) => (read_input(most)?, source),
        (None, text) => (text.unwrap_or("").to_string(), source),
    };
    read.notes.extend(missing(&project));
    let arrival = Arrival {
        text,
        kind: kind(&args.kind)?,
        project: named_project(session, &project)?,
        created: session.clock.now(),
        source,
    };
    if let Err(reason) = read.take(arrival) {
        read.bad.push(reason);
    }
    Ok(read)
}

impl Batch {
    /// Redacts and keeps an arrival, or says why it is none.
    fn take(&mut self, arrival: Arrival) -> Result<(), String> {
        if clean(&arrival.text).is_none() {
            return Err("the text is empty".to_string());
        }
        if arrival.text.len() > self.max_bytes {
            return Err(format!(
                "the text has {} bytes, an entry at most {} (capture.max_entry_bytes); \
                 a longer text is a document: `lifecycle add-file`",
                arrival.text.len(),
                self.max_bytes
            ));
        }
        let (text, counts) = self.redactor.redact(&arrival.text);
        self.redacted.add(&counts);
        self.arrivals.push(Arrival { text, ..arrival });
        Ok(())
    }
}

fn read_lines(session: &Session, args: &AddArgs, file: &Path, read: &mut Batch) -> Result<()> {
    let opened = regular::open(file).map_err(|error| unreadable(file, &error))?;
    let mut lines = std::io::BufReader::new(opened);
    let (mut line, mut number, mut next) = (Vec::new(), 0, 0);
    loop {
        let offset = next;
        number += 1;
        let length = regular::next_line(&mut lines, &mut line);
        if length.map_err(|error| unreadable(file, &error))? == 0 {
            return Ok(());
        }
        next += line.len() as u64;
        let bytes = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let taken = arrival_of_line(session, args, (file, offset), bytes).and_then(|arrival| {
            read.notes.extend(arrival.project.as_deref().and_then(|it| missing(Path::new(it))));
            read.take(arrival)
        });
        if let Err(reason) = taken {
            read.bad.push(format!("{}:{number}: {reason}", file.display()));
        }
    }
}

fn arrival_of_line(
    session: &Session,
    args: &AddArgs,
    (file, offset): (&Path, u64),
    line: &[u8],
) -> Result<Arrival, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))?;
    let note: NoteLine = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let folder = note.project.or_else(|| args.project.clone()).unwrap_or_else(|| ".".into());
    let message = |error: Error| error.message;
    Ok(Arrival {
        text: note.text,
        kind: kind(note.kind.as_deref().unwrap_or(&args.kind)).map_err(message)?,
        project: named_project(session, &folder).map_err(message)?,
        created: note
            .created
            .map_or(Ok(session.clock.now()), |time| time_of(&time))
            .map_err(message)?,
        source: Source {
            path: Some(absolute(file).to_string_lossy().into_owned()),
            offset: Some(offset),
            ..Source::new(Channel::Cli, Actor::User)
        },
    })
}

/// RFC 3339, or seconds or milliseconds since 1970.
fn time_of(value: &serde_json::Value) -> Result<i64> {
    const FIRST_MILLISECONDS: i64 = 100_000_000_000;
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => parse_time(text),
        (None, Some(number)) if (number as i64) < FIRST_MILLISECONDS => {
            Ok((number * 1000.0) as i64)
        }
        (None, Some(number)) => Ok(number as i64),
        _ => Err(Error::input(format!("`{value}` is not a time"))),
    }
}

fn kind(word: &str) -> Result<Kind> {
    Kind::parse(word).ok_or_else(|| {
        let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        Error::input(format!("`{word}` is not a kind"))
            .hint(format!("the kinds are {}", all.join(", ")))
    })
}

/// The project that a folder belongs to; one that is not captured is refused.
fn named_project(session: &Session, folder: &Path) -> Result<Option<String>> {
    let folder = absolute(folder);
    let gate = buffer::Gate::new(&session.settings.capture, &session.paths)?;
    if gate.is_closed(&folder) {
        return Err(Error::refused(format!("{} is not captured", folder.display())).hint(format!(
            "its project has a file {} or is listed in capture.exclude",
            project::OPT_OUT
        )));
    }
    Ok(project::project_of(&folder))
}

/// What to say of a project whose folder is not there: it is kept under that name, but nothing is
/// ever written into its files.
fn missing(folder: &Path) -> Option<String> {
    let folder = absolute(folder);
    (!folder.exists()).then(|| {
        format!("{} does not exist; the note is kept for a project of that name", folder.display())
    })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn read_text(file: &Path, most: u64) -> Result<String> {
    regular::text(file, most).map_err(|error| unreadable(file, &error))
}

/// What standard input gives up to its end; one without an end is given up.
pub(super) fn read_input(most: u64) -> Result<String> {
    let read = regular::bounded(std::io::stdin().lock(), most);
    let text = read.and_then(regular::into_text);
    text.map_err(|error| unreadable(Path::new("standard input"), &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    Error::unreadable(file, error).hint("nothing was stored")
}

/// Stores the arrivals, or leaves them in the inbox when the store stays busy. Returns those that
/// were known.
fn store(session: &Session, arrivals: &[Arrival]) -> Result<Vec<EntryId>> {
    let now = session.clock.now();
    let own = &session.settings.capture.own_wordings;
    let arrivals = &buffer::without_wordings(arrivals, own);
    let stored = Store::open(&session.paths, &session.settings)
        .and_then(|mut store| buffer::admit(&mut store, arrivals, now, "add"));
    match stored {
        Err(error) if error.code == ExitCode::Busy => {
            for arrival in arrivals {
                inbox::put(&session.paths, &Record::Note(note_of(arrival)), now)?;
            }
            Err(Error::new(ExitCode::Busy, error.message).hint(
                "nothing is lost: the text waits in the inbox, the next `lifecycle run` stores it",
            ))
        }
        other => other,
    }
}

fn note_of(arrival: &Arrival) -> Note {
    Note {
        text: arrival.text.clone(),
        project: arrival.project.clone(),
        about: arrival.kind,
        created: arrival.created,
        path: arrival.source.path.clone(),
    }
}

fn entry_of(arrival: &Arrival) -> Option<Entry> {
    let Arrival { text, kind, project, created, source } = arrival.clone();
    Some(Entry::new(&clean(&text)?, kind, project, created, source))
}

fn say(session: &Session, read: &Batch, entries: &[Entry], known: &[EntryId]) -> Result<()> {
    if session.global.json {
        let redacted: serde_json::Map<_, _> =
            read.redacted.iter().map(|(rule, n)| (rule.to_string(), json!(n))).collect();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        return print_json(&json!({
            "ids": ids, "known": known, "redacted": redacted, "refused": read.bad,
            "notes": read.notes,
        }));
    }
    for entry in entries {
        let again = if known.contains(&entry.id) { "  (known already)" } else { "" };
        print_text(&format!("{}  {}{again}\n", entry.id, one_line(&entry.text, 60)));
    }
    for note in &read.notes {
        print_aside(&format!("note: {}", escape_terminal(note)));
    }
    if entries.len() > 1 {
        print_text(&format!("{} notes\n", entries.len()));
    }
    if read.redacted.total() > 0 {
        print_aside(&format!("redacted before storing: {}", read.redacted));
    }
    Ok(())
}
