//! The clock of a run: the system's, or one fixed by `--now` or `LIFECYCLE_NOW`.

use crate::error::{Error, ExitCode, Result};
use chrono::{DateTime, SecondsFormat, Utc};

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
