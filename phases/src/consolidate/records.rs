//! Records that a running number tells apart ("Observation 07: rope", "Observation 13: rope").
//!
//! They speak of several things in the same words, so no single text states them without losing
//! which is which, and a higher number replaces no lower one.

use super::note::Note;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Words above which a text says more than which one it is about.
const FEW_WORDS: usize = 8;

static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?<head>[^\d:]+)(?<number>\d+):(?<rest>.*)$").expect("a valid pattern")
});

/// Whether the notes say the same but for a number that each has for itself.
pub fn are_numbered(notes: &[Note]) -> bool {
    let parts: Option<Vec<_>> = notes.iter().map(|note| parts(&note.entry.text)).collect();
    let Some(parts) = parts else { return false };
    let words: BTreeSet<_> = parts.iter().map(|(head, _, rest)| (*head, *rest)).collect();
    let numbers: BTreeSet<_> = parts.iter().map(|(_, number, _)| *number).collect();
    words.len() == 1 && numbers.len() == parts.len()
}

/// What stands before the number, the number, and what follows.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let found = NUMBERED.captures(text.trim())?;
    let part = |name| found.name(name).map(|part| part.as_str().trim());
    let is_short = text.split_whitespace().count() <= FEW_WORDS;
    is_short.then_some((part("head")?, part("number")?, part("rest")?))
}

#[cfg(test)]
mod tests {
    use super::super::note::{Cluster, notes};
    use super::*;
    use crate::entry::{Actor, Channel, Entry, Kind, Source};

    fn numbered(texts: &[&str]) -> bool {
        let entry = |text: &&str| {
            Entry::new(text, Kind::Insight, None, 1, Source::new(Channel::Cli, Actor::User))
        };
        let members = texts.iter().map(entry).collect();
        are_numbered(&notes(&Cluster { members, ..Cluster::default() }))
    }

    #[test]
    fn a_number_tells_records_apart() {
        assert!(numbered(&["Observation 07: rope", "Observation 13: rope", "Observation 1: rope"]));
    }

    #[test]
    fn other_words_or_values_are_no_running_number() {
        assert!(!numbered(&["Observation 07: rope", "Observation 13: valve"]));
        assert!(!numbered(&["The API listens on port 8080", "The API listens on port 9090"]));
        assert!(!numbered(&[
            "Rule 1: the importer retries three times before it gives up on a row",
            "Rule 2: the importer retries three times before it gives up on a row",
        ]));
    }
}
