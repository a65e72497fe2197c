//! Folders of Markdown: Claude Code's auto-memory, whose files are notes, and any other, whose files
//! are documents.

use super::Parcel;
use crate::capture::project::project_of;
use crate::config::DocumentSettings;
use crate::documents::{self};
use crate::error::{Error, Result};
use lifecycle_phases::text::printable;
use lifecycle_phases::{Actor, Channel, Entry, Kind, Source};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Every Markdown and text file below `root` that may be read, as a document.
pub fn folder(root: &Path, home: &Path, settings: &DocumentSettings) -> Result<Parcel> {
    let mut parcel = Parcel::default();
    let project = project_of(root);
    for file in files(root)? {
        match documents::from_file(&file, home, settings) {
            Ok(mut draft) => {
                draft.project.clone_from(&project);
                parcel.documents.push(draft);
            }
            Err(error) => parcel.skipped.push(error.message),
        }
    }
    Ok(parcel)
}

/// The notes of an auto-memory folder: each list item or paragraph of `*.md` is an entry. The index
/// `MEMORY.md` only repeats the other files, where there are others.
pub fn auto_memory(root: &Path, project: Option<String>) -> Result<Parcel> {
    let mut all = files(root)?;
    all.retain(|file| file.extension().is_some_and(|end| end == "md"));
    if all.len() > 1 {
        all.retain(|file| file.file_name().is_none_or(|name| name != "MEMORY.md"));
    }
    let mut parcel = Parcel::default();
    for file in all {
        match crate::regular::text(&file, crate::regular::SMALL) {
            Ok(text) => {
                let created = modified(&file);
                for note in notes(&printable(&text)) {
                    let entry = entry(&note, &file, project.clone(), created);
                    parcel.entries.push((entry, "imported".into()));
                }
            }
            Err(error) => parcel.skipped.push(format!("{}: {error}", file.display())),
        }
    }
    Ok(parcel)
}

fn entry(text: &str, file: &Path, project: Option<String>, created: i64) -> Entry {
    let mut source = Source::new(Channel::Import, Actor::Assistant);
    source.path = Some(file.to_string_lossy().into_owned());
    Entry::new(text, Kind::Insight, project, created, source)
}

fn files(root: &Path) -> Result<Vec<PathBuf>> {
    if !root.is_dir() {
        return Err(Error::input(format!("{} is no folder", root.display())));
    }
    let mut found: Vec<PathBuf> = WalkDir::new(root)
        .into_iter()
        .filter_entry(|item| item.depth() == 0 || !is_hidden(item.file_name()))
        .filter_map(std::result::Result::ok)
        .filter(|item| item.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    found.sort();
    Ok(found)
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with('.')
}

fn modified(file: &Path) -> i64 {
    let time = std::fs::metadata(file).and_then(|meta| meta.modified()).ok();
    let since = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// List items and paragraphs. Headings, front matter and code blocks are no notes by themselves.
fn notes(text: &str) -> Vec<String> {
    let body = match text.strip_prefix("---\n") {
        Some(rest) => rest.split_once("\n---").map_or(rest, |(_, body)| body),
        None => text,
    };
    let mut notes: Vec<String> = Vec::new();
    let mut open = false;
    let mut code = false;
    for line in body.lines() {
        let bare = line.trim();
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
        code ^= bare.starts_with("```");
        if code || bare.starts_with("```") || bare.is_empty() || bare.starts_with('#') {
            open = false;
        } else if let Some(item) = item {
            notes.push(item.trim().to_string());
            open = true;
        } else if let (true, Some(last)) = (open, notes.last_mut()) {
            last.push(' ');
            last.push_str(bare.trim_start_matches("- "));
        } else {
            notes.push(bare.to_string());
            open = true;
        }
    }
    notes.retain(|note| note.chars().any(char::is_alphanumeric));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_paragraphs_are_notes() {
        let text = "---\nname: x\n---\n# Head\n- first item\n  goes on\n- second\n\nA paragraph\nof two lines.\n\n```\ncode\n```\n***\n";
        assert_eq!(notes(text), ["first item goes on", "second", "A paragraph of two lines."]);
    }
}
