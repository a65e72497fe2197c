//! What people and programs are shown.

pub use crate::report::{escape_terminal, one_line};

use crate::error::Result;
use crate::progress;
use crate::report::{escape_json, fold};
use lifecycle_phases::EntryId;
use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Digits of an id that are shown to people; enough to name an entry in any ordinary store.
const SHORT: usize = 8;

/// The start of an id, for people.
pub fn short_id(id: &EntryId) -> &str {
    id.as_str().get(..SHORT).unwrap_or(id.as_str())
}

/// Prints one JSON value and a line feed.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_raw(&format!("{}\n", escape_json(&text)));
    Ok(())
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on [`print_text`] prints nothing: `--quiet` of a command that does something.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints text for people: no line is wider than 80 columns.
pub fn print_text(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        print_raw(&fold(text));
    }
}

/// Prints what programs read, or what is laid out already; a reader that went away (`| head`) is no
/// failure.
pub fn print_raw(text: &str) {
    progress::aside(|| {
        let _ = std::io::stdout().write_all(text.as_bytes());
    });
}

/// Prints a line for people beside the output: to standard error, as wide as the rest.
pub fn print_aside(text: &str) {
    progress::aside(|| {
        let _ = std::io::stderr().write_all(fold(&format!("{text}\n")).as_bytes());
    });
}
