//! Our own format: JSON lines, the first of which names it.
//!
//! ```text
//! {"type":"lifecycle","version":1}
//! {"type":"entry","entry":{…},"reason":"merged into 4f1c…","sources":["…"]}
//! {"type":"document","document":{…}}
//! ```
//! Times are UTC text. Vectors and links are derived and not exported; the next tick makes them.

use super::Parcel;
use crate::clock::{format_millis, parse_time};
use crate::documents::Draft;
use crate::error::{Error, Result};
use crate::regular;
use crate::store::{self, Document, Filter, Store, StoredEntry};
use lifecycle_phases::{Entry, EntryId};
use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// The version of the format that is written and read.
const VERSION: u64 = 1;

/// Writes every entry and document; returns how many of each.
pub fn export(
    store: &Store,
    project: Option<&str>,
    out: &mut impl Write,
) -> Result<(usize, usize)> {
    let filter = Filter { project: project.map(str::to_string), all: true, ..Filter::default() };
    let entries = store::list(store.reader(), &filter)?;
    let documents = store::documents(store.reader(), project)?;
    line(out, &json!({"type": "lifecycle", "version": VERSION}))?;
    for stored in &entries {
        line(out, &entry_line(stored, &store::sources(store.reader(), stored.seq)?)?)?;
    }
    for document in &documents {
        let mut value = json!(document);
        value["created"] = json!(format_millis(document.created));
        value["updated"] = json!(format_millis(document.updated));
        line(out, &json!({"type": "document", "document": value}))?;
    }
    Ok((entries.len(), documents.len()))
}

fn entry_line(stored: &StoredEntry, sources: &[EntryId]) -> Result<Value> {
    let mut value = serde_json::to_value(&stored.entry)?;
    value["created"] = json!(format_millis(stored.entry.created));
    let mut row = json!({"type": "entry", "entry": value, "reason": stored.state_reason});
    if !sources.is_empty() {
        row["sources"] = json!(sources);
    }
    Ok(row)
}

fn line(out: &mut impl Write, value: &Value) -> Result<()> {
    writeln!(out, "{}", crate::report::escape_json(&value.to_string())).map_err(|error| {
        Error::new(crate::ExitCode::Failure, format!("the export cannot be written: {error}"))
    })
}

/// Reads an export. A line that cannot be used is skipped and named; a first line that is not ours
/// is an error.
pub fn read_lines(mut input: impl BufRead, name: &str) -> Result<Parcel> {
    let (mut parcel, mut line, mut n) = (Parcel::default(), Vec::new(), 0);
    loop {
        n += 1;
        let at = |problem: &dyn std::fmt::Display| format!("{name}:{n}: {problem}");
        let read = regular::next_line(&mut input, &mut line);
        let read = read.map_err(|error| Error::input(at(&error)))?;
        if read == 0 && n > 1 {
            return Ok(parcel);
        }
        let text = std::str::from_utf8(&line).map_err(|error| Error::input(at(&error)))?;
        if n == 1 {
            check_head(text).map_err(|problem| Error::input(at(&problem)))?;
        } else if let (false, Err(problem)) = (text.trim().is_empty(), take(&mut parcel, text)) {
            parcel.skipped.push(at(&problem));
        }
    }
}

fn check_head(text: &str) -> Result<(), String> {
    let head: Value = serde_json::from_str(text).unwrap_or_default();
    match (head["type"].as_str(), head["version"].as_u64()) {
        (Some("lifecycle"), Some(VERSION)) => Ok(()),
        (Some("lifecycle"), version) => {
            Err(format!("version {version:?} of the format; this build reads {VERSION}"))
        }
        _ => Err("this is no export of lifecycle".to_string()),
    }
}

fn take(parcel: &mut Parcel, text: &str) -> Result<(), String> {
    let mut row: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match row["type"].as_str() {
        Some("entry") => {
            millis(&mut row["entry"], "created")?;
            let entry: Entry =
                serde_json::from_value(row["entry"].take()).map_err(|error| error.to_string())?;
            let sources: Vec<EntryId> =
                serde_json::from_value(row["sources"].take()).unwrap_or_default();
            if !sources.is_empty() {
                parcel.sources.push((entry.id.clone(), sources));
            }
            let reason = row["reason"].as_str().unwrap_or("imported").to_string();
            parcel.entries.push((entry, reason));
            Ok(())
        }
        Some("document") => {
            millis(&mut row["document"], "created")?;
            millis(&mut row["document"], "updated")?;
            let document: Document = serde_json::from_value(row["document"].take())
                .map_err(|error| error.to_string())?;
            parcel.documents.push(draft(document));
            Ok(())
        }
        other => Err(format!("a line of type {other:?} is not known")),
    }
}

fn millis(value: &mut Value, key: &str) -> Result<(), String> {
    if let Some(text) = value[key].as_str() {
        value[key] = json!(parse_time(text).map_err(|error| error.message)?);
    }
    Ok(())
}

fn draft(document: Document) -> Draft {
    let origin = match document.origin.as_str() {
        "url" => "url",
        "file" => "file",
        _ => "text",
    };
    Draft {
        source: document.source,
        origin,
        text: document.text,
        title: document.title,
        project: document.project,
        tags: document.tags,
    }
}
