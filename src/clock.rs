//! The clock of a run: the system's, or one fixed by `--now` or `LIFECYCLE_NOW`.
//!
//! Stored, in JSON and in logs a time is UTC ([`format_time`]); people are shown the time of their
//! own zone with its distance from UTC ([`shown`]), everywhere the same.

use crate::error::{Error, ExitCode, Result};
use chrono::{DateTime, Local, SecondsFormat, Utc};

/// Source of the current time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The system's clock.
    System,
    /// Always this time, milliseconds since 1970-01-01 UTC.
    Fixed(i64),
}

impl Clock {
    /// The clock fixed at `text` (RFC 3339), or the system's where there is none.
    pub fn from_text(text: Option<&str>) -> Result<Self> {
        let fixed = |text| {
            parse_time(text).map(Self::Fixed).map_err(|error| Error {
                code: ExitCode::Usage,
                message: format!("--now or LIFECYCLE_NOW: {}", error.message),
                hint: error.hint,
            })
        };
        text.map_or(Ok(Self::System), fixed)
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub fn now(self) -> i64 {
        match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Fixed(now) => now,
        }
    }
}

/// Milliseconds of an RFC 3339 time.
pub fn parse_time(text: &str) -> Result<i64> {
    DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis()).map_err(|error| {
        Error::input(format!("`{text}` is not a time: {error}"))
            .hint("write it like 2026-06-10T00:00:00Z")
    })
}

/// The time as UTC text with `Z`, to the millisecond: what export writes, so that nothing is lost.
pub fn format_millis(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis).map_or_else(
        || millis.to_string(),
        |time| time.to_rfc3339_opts(SecondsFormat::Millis, true),
    )
}

/// The time as UTC text with `Z`, to the second.
pub fn format_time(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The time as people read it: weekday, their own zone, and how far that is from UTC.
pub fn shown(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis).map_or_else(
        || millis.to_string(),
        |time| time.with_timezone(&Local).format("%a %Y-%m-%d %H:%M:%S %:z").to_string(),
    )
}

/// A UTC text of ours as people read it; any other text stays.
pub fn shown_text(text: &str) -> String {
    parse_time(text).map_or_else(|_| text.to_string(), shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_are_told_the_same_moment() {
        let millis = 1_780_000_000_000;
        let for_people = shown(millis);
        let (_, rest) = for_people.split_once(' ').expect("a weekday stands first");
        let back = DateTime::parse_from_str(rest, "%Y-%m-%d %H:%M:%S %:z").expect("a time");
        assert_eq!(format_time(back.timestamp_millis()), format_time(millis));
        assert_eq!(shown_text(&format_time(millis)), for_people);
        assert_eq!(shown_text("yesterday"), "yesterday");
    }
}
