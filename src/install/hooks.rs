//! Which file takes an assistant's hooks, and what it holds with and without ours.

use super::{Assistant, Edit, Place, SpliceError, hooks_json, hooks_toml, read, writable};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The edit that puts our hooks into an assistant's settings; with `prompts` also the one on each
/// prompt.
///
/// # Errors
/// The file cannot be read, does not parse, or has another shape; it is left alone.
pub fn hooks_edit(assistant: Assistant, home: &Path, program: &str, prompts: bool) -> Result<Edit> {
    let path = file(assistant, home)?;
    let place = Place::File(path.clone());
    let before = read(&place)?;
    writable(&place)?;
    let (mark, text) = text(&path, before.as_deref())?;
    let wanted = assistant.wanted_with(program, prompts);
    let spliced = |result: Result<String, SpliceError>| result.map_err(|why| left(&path, &why));
    let (after, base) = if is_toml(&path) {
        let text = text.unwrap_or_default();
        (
            spliced(hooks_toml::install(text, assistant, &wanted))?,
            spliced(hooks_toml::uninstall(text, assistant))?,
        )
    } else {
        let filled = text.filter(|text| !text.trim().is_empty());
        (
            spliced(hooks_json::install(text, assistant, &wanted))?,
            match filled {
                Some(text) => spliced(hooks_json::uninstall(text, assistant))?,
                None => text.unwrap_or_default().to_string(),
            },
        )
    };
    Ok(Edit {
        place,
        owner: assistant.name(),
        base: before.as_ref().map(|_| format!("{mark}{base}").into_bytes()),
        before,
        after: Some(format!("{mark}{after}").into_bytes()),
    })
}

/// The edits that take our hooks out of every file of an assistant that may hold them, whoever put
/// them there.
///
/// # Errors
/// As [`hooks_edit`].
pub fn unhook_edits(assistant: Assistant, home: &Path) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for path in candidates(assistant, home) {
        let place = Place::File(path);
        let Some(before) = read(&place)? else { continue };
        let after = strip_hooks(assistant, &place, &before)?;
        edits.push(Edit {
            place,
            owner: assistant.name(),
            base: None,
            before: Some(before),
            after: Some(after),
        });
    }
    Ok(edits)
}

/// The bytes of a file without our hooks.
///
/// # Errors
/// As [`hooks_edit`].
pub fn strip_hooks(assistant: Assistant, place: &Place, bytes: &[u8]) -> Result<Vec<u8>> {
    let Place::File(path) = place else { return Ok(bytes.to_vec()) };
    let (mark, text) = text(path, Some(bytes))?;
    let text = text.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(bytes.to_vec());
    }
    let rest = if is_toml(path) {
        hooks_toml::uninstall(text, assistant)
    } else {
        hooks_json::uninstall(text, assistant)
    };
    rest.map(|rest| format!("{mark}{rest}").into_bytes()).map_err(|why| left(path, &why))
}

/// The file that takes the hooks. Codex reads `hooks.json` or the tables of `config.toml`, not both:
/// the place that has hooks already is the one.
fn file(assistant: Assistant, home: &Path) -> Result<PathBuf> {
    let files = candidates(assistant, home);
    let [json, toml] = files.as_slice() else { return Ok(files[0].clone()) };
    if json.exists() {
        return Ok(json.clone());
    }
    let bytes = read(&Place::File(toml.clone()))?;
    let has = match text(toml, bytes.as_deref())?.1 {
        Some(text) => hooks_toml::has_events(text).map_err(|why| left(toml, &why))?,
        None => false,
    };
    Ok(if has { toml.clone() } else { json.clone() })
}

fn candidates(assistant: Assistant, home: &Path) -> Vec<PathBuf> {
    let folder = assistant.folder(home);
    match assistant {
        Assistant::ClaudeCode => vec![folder.join("settings.json")],
        Assistant::Codex => vec![folder.join("hooks.json"), folder.join("config.toml")],
    }
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "toml")
}

/// The file's mark of its byte order, which some editors write and which stays, and its text.
fn text<'a>(path: &Path, bytes: Option<&'a [u8]>) -> Result<(&'static str, Option<&'a str>)> {
    const MARK: &str = "\u{feff}";
    let Some(bytes) = bytes else { return Ok(("", None)) };
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Error::refused(format!("{} is not UTF-8; it was left alone", path.display()))
    })?;
    Ok(match text.strip_prefix(MARK) {
        Some(rest) => (MARK, Some(rest)),
        None => ("", Some(text)),
    })
}

fn left(path: &Path, why: &SpliceError) -> Error {
    Error::refused(format!("{} {why}", path.display()))
        .hint("mend the file and run the command again")
}
