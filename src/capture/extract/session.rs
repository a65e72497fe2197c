//! Files that words name.

use super::Find;
use crate::capture::transcript::Message;
use regex::Regex;
use std::sync::LazyLock;

static FILE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:[\w.@~-]+/)+[\w.-]*\w|`[\w-]+\.[A-Za-z]{1,6}`";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Most files that are noted for one entry.
const MOST: usize = 16;

/// Paths and back-quoted file names in `text`, in order, each once.
pub(super) fn files_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in FILE.find_iter(text).map(|m| m.as_str().trim_matches('`').to_string()) {
        if !found.contains(&file) && found.len() < MOST {
            found.push(file);
        }
    }
    found
}

/// The compact record of a conversation that changed something.
pub(super) fn entries(_messages: &[Message]) -> Vec<Find> {
    Vec::new()
}
