//! `lifecycle why`: from a line of a file, or from an entry, to where it came from.

use super::{Session, escape_terminal, print_json, print_text, show};
use crate::error::{Error, ExitCode, Result};
use crate::report::relations_json;
use crate::store::{self, Relations, Store, StoredEntry, relations, routes, routes::RouteRow};
use crate::targets::{self, Format, door};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Options of `why`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle why CLAUDE.md:42    who said line 42, and why it stands there
  lifecycle why 3f9ac2          the same for an entry")]
pub struct WhyArgs {
    /// FILE:LINE, or the id of an entry
    what: String,
}

/// Explains a line or an entry.
pub fn run(session: &Session, args: &WhyArgs) -> Result<ExitCode> {
    let Some((path, line)) = file_and_line(&args.what) else {
        return show::by_id(session, &args.what);
    };
    if line == 0 {
        let error = Error::input(format!("{} has no line 0", path.display()));
        return Err(error.hint("lines are counted from 1, as in an editor"));
    }
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let (row, text) = find(&store, &path, line)?;
    let stored = store::entry_by_id(store.reader(), &row.entry)?.ok_or_else(|| {
        Error::refused(format!("entry {} of that line is no longer stored", row.entry))
    })?;
    let relations = relations(store.reader(), &stored)?;
    if session.global.json {
        let mut value = relations_json(&stored, &relations);
        value["line"] = json!({"path": row.path, "number": line, "text": text,
            "section": row.section, "status": row.status, "score": row.score,
            "runners_up": row.runners_up});
        print_json(&value)?;
    } else {
        print_text(&escape_terminal(&explain(&row, line, &stored, &relations)));
    }
    Ok(ExitCode::Success)
}

fn file_and_line(what: &str) -> Option<(PathBuf, usize)> {
    let (path, line) = what.rsplit_once(':')?;
    Some((PathBuf::from(path), line.parse().ok()?))
}

/// The row behind a line of a file.
fn find(store: &Store, path: &Path, line: usize) -> Result<(RouteRow, String)> {
    let path = path.canonicalize().map_err(|error| Error::io(path, &error))?;
    let bytes = door::read(&path).map_err(|error| Error::io(&path, &error))?.unwrap_or_default();
    let rows = routes::of_path(store.reader(), &path.to_string_lossy())?;
    let text = String::from_utf8_lossy(&bytes);
    let raw = text.lines().nth(line - 1).ok_or_else(|| {
        let lines = text.lines().count();
        Error::input(format!("{} has no line {line}", path.display()))
            .hint(format!("it has {lines} lines"))
    })?;
    let key = rows.first().map_or_else(Vec::new, |row| row.section.clone());
    let format = Format::of(&path).unwrap_or(Format::Markdown);
    let sections = targets::survey(format, &bytes, &key)
        .map_err(|error| Error::input(format!("{} {error}", path.display())))?;
    let items = sections.iter().flat_map(|section| &section.items);
    let item = items.filter(|item| item.line == line).map(|item| item.text.clone()).next();
    let known = targets::value_line(raw.trim_start_matches([' ', '-', '*', '+']));
    let is_it = |row: &&RouteRow| match row.status.as_str() {
        "written" => item.as_ref() == Some(&row.line),
        "known" => !known.is_empty() && row.line.contains(&known),
        _ => false,
    };
    let row = rows.iter().rev().find(is_it).cloned();
    row.map(|row| (row, raw.to_string())).ok_or_else(|| {
        Error::input(format!("no entry stands behind {}:{line}", path.display()))
            .hint("lines of ours stand between the lifecycle markers, or are stated by the user")
    })
}

fn explain(row: &RouteRow, line: usize, stored: &StoredEntry, relations: &Relations) -> String {
    let entry = &stored.entry;
    let how = if row.status == "known" { "stated there before us" } else { "written by us" };
    let place = if row.section.is_empty() { "top".to_string() } else { row.section.join(" › ") };
    let mut out = format!("{}:{line}  ({place}; {how})\n  {}\n", row.path, row.line);
    out.push_str(&format!("\nentry {}  {}  {}\n", entry.id, entry.state, entry.kind));
    if entry.text != row.line {
        out.push_str(&format!("  {}\n", entry.text.replace('\n', " ")));
    }
    out.push_str(&format!("  score {:.2}\n", row.score));
    for (place, score) in &row.runners_up {
        out.push_str(&format!("  next  {score:.2}  {place}\n"));
    }
    if !relations.sources.is_empty() {
        out.push_str("\nmade from:\n");
    }
    for source in &relations.sources {
        out.push_str(&origin(source));
    }
    if relations.sources.is_empty() {
        out.push_str(&origin(stored));
    }
    out
}

/// An entry with the conversation or file it came from.
fn origin(stored: &StoredEntry) -> String {
    let entry = &stored.entry;
    let source = &entry.source;
    let conversation = source.conversation.as_ref().map(|id| format!(", conversation {id}"));
    let place = source.path.as_ref().map(|path| match source.offset {
        Some(offset) => format!(", {path} at byte {offset}"),
        None => format!(", {path}"),
    });
    format!(
        "  {}  {}\n      said by {} via {} at {}{}{}\n",
        super::short_id(&entry.id),
        entry.text.replace('\n', " "),
        source.actor,
        source.channel,
        crate::clock::shown(entry.created),
        conversation.unwrap_or_default(),
        place.unwrap_or_default(),
    )
}
