//! A cluster as the phase works on it: its notes in the order of time.

use super::facts::Facts;
use super::sentences::sentences;
use crate::entry::{Actor, Entry, EntryId, State, hex};
use crate::step::Link;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A cluster of connected entries, as the connect phase found it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// The entries to consolidate: originals only, never a proven entry made of them.
    pub members: Vec<Entry>,
    /// Active links that touch them.
    pub links: Vec<Link>,
    /// Proven entries made of some of the members, which the result replaces.
    pub replaces: Vec<Entry>,
    /// Which members each of those was made of.
    #[serde(default)]
    pub origins: BTreeMap<EntryId, Vec<EntryId>>,
}

impl Cluster {
    /// Name of the cluster: hash of the sorted member ids, 16 hex digits.
    pub fn key(&self) -> String {
        let mut ids: Vec<&str> = self.members.iter().map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        hex(ids.join(",").as_bytes(), 16)
    }

    /// Whether it holds an entry that has yet to be consolidated. A protected one stays buffered
    /// when a proven entry quotes it, so it counts only where nothing was proven yet.
    pub fn is_fresh(&self) -> bool {
        let fresh = |entry: &Entry| {
            entry.state == State::Buffered && (self.replaces.is_empty() || !entry.is_protected())
        };
        self.members.iter().any(fresh)
    }
}

/// A sentence of a note.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// Word for word.
    pub text: String,
    /// What it states.
    pub facts: Facts,
}

/// A member with what it states.
#[derive(Clone, Debug)]
pub struct Note {
    /// Its name within one prompt: `n1`, `n2`, …
    pub label: String,
    /// The entry.
    pub entry: Entry,
    /// When it holds from (milliseconds UTC): a date at the head of the text, else its creation.
    pub time: i64,
    /// The same as an ISO day.
    pub day: String,
    /// Its sentences in order.
    pub sentences: Vec<Sentence>,
    /// What the whole text states.
    pub facts: Facts,
}

impl Note {
    /// The id.
    pub fn id(&self) -> &EntryId {
        &self.entry.id
    }

    /// Whether it speaks for the user.
    pub fn is_user(&self) -> bool {
        self.entry.source.actor == Actor::User
    }
}

/// The members as notes, oldest first (then by id, so that the order never depends on arrival).
pub fn notes(cluster: &Cluster) -> Vec<Note> {
    let mut notes: Vec<Note> = cluster.members.iter().map(note).collect();
    notes.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.entry.id.cmp(&b.entry.id)));
    for (i, note) in notes.iter_mut().enumerate() {
        note.label = format!("n{}", i + 1);
    }
    notes
}

/// One member by itself, not named yet.
pub(crate) fn note(entry: &Entry) -> Note {
    let time = leading_date(&entry.text).unwrap_or(entry.created);
    let sentences = sentences(&entry.text)
        .into_iter()
        .map(|text| Sentence { facts: Facts::of(&text), text })
        .collect();
    Note {
        label: String::new(),
        entry: entry.clone(),
        time,
        day: day(time),
        sentences,
        facts: Facts::of(&entry.text),
    }
}

static LEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*[\[(]?(\d{4})-(\d{2})-(\d{2})\b").expect("the pattern is valid")
});

/// Start of the day that stands at the head of a note.
fn leading_date(text: &str) -> Option<i64> {
    let found = LEADING.captures(text)?;
    let part = |i: usize| found[i].parse::<i64>().ok();
    let (year, month, day) = (part(1)?, part(2)?, part(3)?);
    let valid =
        (1970..3000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| days_from_civil(year, month, day) * 86_400_000)
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (H. Hinnant, "chrono-compatible
/// low-level date algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The ISO day of a time (milliseconds UTC).
pub fn day(time: i64) -> String {
    let days = time.div_euclid(86_400_000) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_there_and_back() {
        for (time, text) in [(0, "1970-01-01"), (951_782_400_000, "2000-02-29")] {
            assert_eq!(day(time), text);
            assert_eq!(leading_date(&format!("{text} something")), Some(time));
        }
        assert_eq!(leading_date("on 2026-01-01"), None);
    }
}
