//! Config files that take knowledge: which there are, what stands in them, and how a line gets in
//! and out while every other byte stays as it was.
//!
//! An edit is a pure function of the file's bytes ([`render`]); what it returns was parsed again
//! and compared, so a file this module does not understand is left alone with a [`TargetError`].
//!
//! | format   | where our lines stand                                   | how they are told apart    |
//! |----------|---------------------------------------------------------|----------------------------|
//! | Markdown | one block per section, at the end of the section's body | block markers              |
//! | TOML     | an array under a key                                    | by their text              |
//! | YAML     | a sequence under a key                                  | by their text              |
//! | JSON     | an array under a key                                    | by their text              |
//!
//! A key that a TOML or YAML file does not have yet is added between two comment markers, so that
//! the last withdrawn line takes the key with it; in JSON and in TOML's inline tables, which have
//! no comments, the blanks around the colon or equals sign tell a key of ours. Only `door` writes, and `confine` says what it
//! may write to.

mod confine;
mod discover;
pub mod door;
mod excludes;
mod front;
mod json;
mod json_key;
mod line;
mod list;
mod markdown;
mod spec;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

pub use confine::{Confinement, Denied};
pub use discover::{Found, discover, expand};
pub use excludes::excludes;
pub use front::{FrontMatter, front_matter};
pub use line::{item_line, value_line};
pub use spec::{Moved, Scope, TargetSpec, Targets};

use std::ops::Range;

/// First line of our block in Markdown; in TOML and YAML the word stands after `#`.
pub const BEGIN: &str = "<!-- lifecycle:begin -->";
/// Last line of our block.
pub const END: &str = "<!-- lifecycle:end -->";

/// A format that can be edited without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Markdown, with or without front matter (`.md`, `.mdc`).
    Markdown,
    /// TOML 1.1.
    Toml,
    /// YAML 1.2, one document of block mappings down to the key.
    Yaml,
    /// JSON without comments.
    Json,
}

impl Format {
    /// The format with this name in the settings.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "markdown" => Some(Self::Markdown),
            "toml" => Some(Self::Toml),
            "yaml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The format that a file name's ending stands for.
    pub fn of(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "mdc" | "markdown" => Some(Self::Markdown),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// What happens to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is appended, unless it stands there already.
    Add,
    /// It takes the place of another line of ours.
    Replace {
        /// The line that stands there now.
        old: String,
    },
    /// It is taken out, if it stands there.
    Withdraw,
}

/// A change of one line in one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOp {
    /// Heading path, outermost first; for TOML, YAML and JSON the key path.
    pub section: Vec<String>,
    /// The line without list mark or quotes.
    pub line: String,
    /// What is done.
    pub change: Change,
}

/// A place in a file that can take lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading path, outermost first; for TOML, YAML and JSON the key path.
    pub path: Vec<String>,
    /// The user's own text of the section, its heading included; an empty line for each of ours.
    pub body: String,
    /// The lines in our block (Markdown), or every item of the list.
    pub items: Vec<Item>,
    /// Lines of surplus blocks of ours in this section, which the next edit takes out.
    pub surplus: Vec<Item>,
    /// 1-based number of the first line of `body` in the file.
    pub first_line: usize,
}

/// One line of a block or item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The text without list mark or quotes.
    pub text: String,
    /// 1-based number of the line it starts on.
    pub line: usize,
}

/// Why a file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The bytes are not UTF-8.
    #[error("is not UTF-8 (byte {0})")]
    NotUtf8(usize),
    /// A parser refused it.
    #[error("does not parse: line {line}: {message}")]
    Unparseable {
        /// 1-based line.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// The front matter has no end or is not YAML.
    #[error("line 1: the front matter is broken: {0}")]
    FrontMatter(String),
    /// Markers of ours without partner, in the wrong order or inside another block.
    #[error("line {line}: the block markers are damaged: {message}")]
    Markers {
        /// 1-based line of the marker.
        line: usize,
        /// What is wrong with it.
        message: &'static str,
    },
    /// The section is not there.
    #[error("has no section `{}`", .0.join(" > "))]
    NoSection(Vec<String>),
    /// The line that is to be replaced is not there.
    #[error("no longer holds the line `{0}`")]
    LineGone(String),
    /// The key is there, but is not a list that can be edited.
    #[error("key `{key}`: {message}")]
    Key {
        /// The key path, dotted.
        key: String,
        /// What is wrong with it.
        message: &'static str,
    },
    /// The result did not parse to what was wanted; nothing is written.
    #[error("cannot be edited safely: {0}")]
    Unsafe(&'static str),
}

/// The places of a file. `key` is the key path for TOML, YAML and JSON.
///
/// # Errors
/// Every reason for which the file has to be left alone.
pub fn survey(format: Format, bytes: &[u8], key: &[String]) -> Result<Vec<Section>, TargetError> {
    let text = utf8(bytes)?;
    match format {
        Format::Markdown => markdown::survey(text),
        Format::Toml => list_section(key, toml::locate(text, key)?, text),
        Format::Yaml => list_section(key, yaml::locate(text, key)?, text),
        Format::Json => list_section(key, json::locate(text, key)?, text),
    }
}

/// The bytes after `ops`. Operations that change nothing give the same bytes back.
///
/// # Errors
/// Every reason for which the file has to be left alone.
pub fn render(format: Format, base: &[u8], ops: &[LineOp]) -> Result<Vec<u8>, TargetError> {
    let mut text = utf8(base)?.to_string();
    if format == Format::Markdown {
        return Ok(markdown::render(&text, ops)?.into_bytes());
    }
    for op in ops {
        text = match format {
            Format::Toml => toml::edit(&text, op)?,
            Format::Yaml => yaml::edit(&text, op)?,
            Format::Json | Format::Markdown => json::edit(&text, op)?,
        };
    }
    Ok(text.into_bytes())
}

/// The bytes without anything of ours: Markdown blocks go, lines in them that are not among `ours`
/// stay as the user's; in lists the items among `ours` go.
///
/// # Errors
/// Every reason for which the file has to be left alone.
pub fn strip(
    format: Format,
    base: &[u8],
    key: &[String],
    ours: &[String],
) -> Result<Vec<u8>, TargetError> {
    if format == Format::Markdown {
        return Ok(markdown::strip(utf8(base)?, ours)?.into_bytes());
    }
    let withdraw = |line: &String| LineOp {
        section: key.to_vec(),
        line: line.clone(),
        change: Change::Withdraw,
    };
    render(format, base, &ours.iter().map(withdraw).collect::<Vec<_>>())
}

fn utf8(bytes: &[u8]) -> Result<&str, TargetError> {
    std::str::from_utf8(bytes).map_err(|error| TargetError::NotUtf8(error.valid_up_to()))
}

fn list_section(
    key: &[String],
    place: list::Place,
    text: &str,
) -> Result<Vec<Section>, TargetError> {
    let items = match place {
        list::Place::List(found) => found.items,
        list::Place::Absent => Vec::new(),
    };
    let items: Vec<Item> = items
        .into_iter()
        .filter_map(|item| {
            Some(Item { text: item.value?, line: line_number(text, item.span.start) })
        })
        .collect();
    Ok(vec![Section {
        path: key.to_vec(),
        body: String::new(),
        first_line: items.first().map_or(1, |item| item.line),
        items,
        surplus: Vec::new(),
    }])
}

/// 1-based number of the line that holds byte `at`.
fn line_number(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// The line end that the text uses most.
fn line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

/// `text` with each range replaced; ranges do not overlap and may come in any order.
fn splice(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}
