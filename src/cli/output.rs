//! What people and programs are shown.

pub use crate::report::{escape_terminal, one_line};

use crate::error::Result;
use crate::report::escape_json;
use lifecycle_phases::EntryId;
use serde::Serialize;
use std::io::Write;

/// Digits of an id that are shown to people; enough to name an entry in any ordinary store.
const SHORT: usize = 8;

/// The start of an id, for people.
pub fn short_id(id: &EntryId) -> &str {
    id.as_str().get(..SHORT).unwrap_or(id.as_str())
}

/// Prints one JSON value and a line feed.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_text(&format!("{}\n", escape_json(&text)));
    Ok(())
}

/// Prints text; a reader that went away (`| head`) is no failure.
pub fn print_text(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
