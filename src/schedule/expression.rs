//! Cron expressions of five fields, with the meaning they have in crontab.
//!
//! The `cron` crate evaluates fields, but its dialect differs: six fields, days of the week from
//! 1 = Sunday, day of month *and* day of week. So weekdays become names, a restricted day of month
//! and weekday become two schedules (crontab: either), and both are evaluated on local wall time
//! that the zone is applied to afterwards. A time that a change to summer time skips runs at the
//! first minute that exists; a time that occurs twice runs at its first occurrence only.

use crate::error::{Error, Result};
use chrono::{DateTime, Duration, LocalResult, NaiveDateTime, TimeZone, Utc};
use cron::Schedule;
use std::str::FromStr;

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Short forms of crontab.
const MACROS: &[(&str, &str)] = &[
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// When something runs.
#[derive(Clone, Debug)]
pub struct Expression {
    fields: [String; 5],
    /// One, or two of which either counts.
    schedules: Vec<Schedule>,
}

impl Expression {
    /// Reads `minute hour day month weekday`, or a short form such as `@daily`.
    ///
    /// # Errors
    /// What is wrong with it; six or seven fields among that.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let plain = MACROS.iter().find(|(name, _)| *name == text).map_or(text, |(_, five)| five);
        let fields: Vec<String> = plain.split_whitespace().map(ToString::to_string).collect();
        let fields: [String; 5] = fields.try_into().map_err(|fields: Vec<String>| {
            wrong(text, &format!("it has {} fields, not five", fields.len()))
        })?;
        let [minute, hour, day, month, weekday] = &fields;
        let names = weekdays(weekday).map_err(|why| wrong(text, &why))?;
        let lines = if day.starts_with('*') || names == "*" {
            vec![format!("0 {minute} {hour} {day} {month} {names}")]
        } else {
            vec![
                format!("0 {minute} {hour} {day} {month} *"),
                format!("0 {minute} {hour} * {month} {names}"),
            ]
        };
        let schedules = lines
            .iter()
            .map(|line| Schedule::from_str(line).map_err(|error| wrong(text, &error.to_string())))
            .collect::<Result<_>>()?;
        Ok(Self { fields, schedules })
    }

    /// The five fields as crontab takes them.
    pub fn crontab(&self) -> String {
        self.fields.join(" ")
    }

    /// The schedules of which either counts.
    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }

    /// The first time after `after`, in `zone`; none where the expression never comes true again.
    pub fn next_after<Z: TimeZone>(&self, zone: &Z, after: DateTime<Utc>) -> Option<DateTime<Z>> {
        self.schedules.iter().filter_map(|schedule| next(schedule, zone, after)).min()
    }

    /// The next `count` times after `after`.
    pub fn upcoming<Z: TimeZone>(
        &self,
        zone: &Z,
        after: DateTime<Utc>,
        count: usize,
    ) -> Vec<DateTime<Z>> {
        std::iter::successors(self.next_after(zone, after), |time| {
            self.next_after(zone, time.with_timezone(&Utc))
        })
        .take(count)
        .collect()
    }
}

/// Whether a tick is due: never ran, or a scheduled time lies between the end of the last run and
/// `now`. A last run that lies in the future (the clock was put back) counts as one that ended now.
pub fn due<Z: TimeZone>(
    expression: &Expression,
    zone: &Z,
    last: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> bool {
    match last {
        None => true,
        Some(last) => expression
            .next_after(zone, last.min(now))
            .is_some_and(|time| time.with_timezone(&Utc) <= now),
    }
}

fn next<Z: TimeZone>(schedule: &Schedule, zone: &Z, after: DateTime<Utc>) -> Option<DateTime<Z>> {
    let wall = Utc.from_utc_datetime(&after.with_timezone(zone).naive_local());
    schedule
        .after(&wall)
        .filter_map(|time| on_the_clock(zone, time.naive_utc()))
        .find(|time| time.with_timezone(&Utc) > after)
}

/// The moment at which the wall clock shows `wall`: the first of two, or the first minute after a
/// gap.
fn on_the_clock<Z: TimeZone>(zone: &Z, wall: NaiveDateTime) -> Option<DateTime<Z>> {
    const LONGEST_GAP_MINUTES: i64 = 24 * 60;
    (0..=LONGEST_GAP_MINUTES).find_map(|minutes| {
        match zone.from_local_datetime(&(wall + Duration::minutes(minutes))) {
            LocalResult::Single(time) => Some(time),
            LocalResult::Ambiguous(first, _) => Some(first),
            LocalResult::None => None,
        }
    })
}

/// The weekday field as names; `*` where it is every day.
fn weekdays(field: &str) -> Result<String, String> {
    let mut days = [false; 7];
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, number(step).filter(|step| *step > 0)),
            None => (part, Some(1)),
        };
        let step = step.ok_or_else(|| format!("`{part}` is no weekday"))?;
        let (first, last) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (0, 6),
            Some((first, last)) => (weekday(first, part)?, weekday(last, part)?),
            None if part.contains('/') => (weekday(range, part)?, 6),
            None => (weekday(range, part)?, weekday(range, part)?),
        };
        // 5-7 is Friday to Sunday.
        let last = if last < first { last + 7 } else { last };
        for day in (first..=last).step_by(step) {
            days[day % 7] = true;
        }
    }
    let names: Vec<&str> =
        DAYS.iter().zip(days).filter(|(_, set)| *set).map(|(name, _)| *name).collect();
    Ok(if names.len() == 7 { "*".into() } else { names.join(",") })
}

fn weekday(word: &str, part: &str) -> Result<usize, String> {
    let named = DAYS.iter().position(|day| day.eq_ignore_ascii_case(word));
    named
        .or_else(|| number(word).filter(|day| *day <= 7))
        .ok_or_else(|| format!("`{part}` is no weekday (0-7 or SUN-SAT)"))
}

fn number(word: &str) -> Option<usize> {
    word.parse().ok()
}

fn wrong(text: &str, why: &str) -> Error {
    Error::config(format!("schedule.cron: `{text}`: {why}"))
        .hint("write `minute hour day month weekday`, e.g. \"30 3 * * *\" for every day at 03:30")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use chrono::SubsecRound;
    use chrono_tz::Europe::Berlin;
    use proptest::prelude::*;

    fn at(text: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
    }

    fn times(cron: &str, after: &str, count: usize) -> Vec<String> {
        Expression::parse(cron)
            .unwrap()
            .upcoming(&Berlin, at(after), count)
            .iter()
            .map(|time| time.format("%a %Y-%m-%d %H:%M %z").to_string())
            .collect()
    }

    #[test]
    fn a_time_that_summer_time_skips_runs_at_the_first_minute_that_exists() {
        assert_eq!(
            times("30 2 * * *", "2026-03-28T12:00:00Z", 2),
            ["Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:30 +0200"]
        );
    }

    #[test]
    fn a_time_that_occurs_twice_runs_once() {
        assert_eq!(
            times("30 2 * * *", "2026-10-24T12:00:00Z", 2),
            ["Sun 2026-10-25 02:30 +0200", "Mon 2026-10-26 02:30 +0100"]
        );
    }

    #[test]
    fn weekdays_count_as_in_crontab() {
        assert_eq!(times("0 9 * * 1", "2026-06-10T00:00:00Z", 1), ["Mon 2026-06-15 09:00 +0200"]);
        assert_eq!(
            times("0 9 * * 7", "2026-06-10T00:00:00Z", 1),
            times("0 9 * * 0", "2026-06-10T00:00:00Z", 1)
        );
        assert_eq!(weekdays("5-7").unwrap(), "SUN,FRI,SAT");
        assert_eq!(weekdays("*/2").unwrap(), "SUN,TUE,THU,SAT");
        assert_eq!(weekdays("mon-fri").unwrap(), "MON,TUE,WED,THU,FRI");
        assert!(weekdays("8").is_err());
    }

    #[test]
    fn day_of_month_or_weekday_as_in_crontab() {
        assert_eq!(
            times("0 9 13 * FRI", "2026-06-10T00:00:00Z", 3),
            [
                "Fri 2026-06-12 09:00 +0200",
                "Sat 2026-06-13 09:00 +0200",
                "Fri 2026-06-19 09:00 +0200"
            ]
        );
    }

    #[test]
    fn other_forms_are_refused_in_words() {
        for (cron, why) in [
            ("0 30 3 * * *", "6 fields"),
            ("61 * * * *", "61"),
            ("30 3 * * xyz", "xyz"),
            ("", "0 fields"),
        ] {
            let error = Expression::parse(cron).unwrap_err();
            assert!(error.message.contains(why), "{cron}: {}", error.message);
        }
        assert!(Expression::parse("@daily").is_ok());
    }

    #[test]
    fn what_is_due_follows_from_the_last_run() {
        let daily = Expression::parse("30 3 * * *").unwrap();
        let now = at("2026-06-10T06:00:00Z");
        let is_due = |last: Option<&str>| due(&daily, &Berlin, last.map(at), now);
        assert!(is_due(None), "never ran");
        assert!(is_due(Some("2026-06-01T00:00:00Z")), "missed for days");
        assert!(is_due(Some("2026-06-10T01:00:00Z")), "before today's time");
        assert!(!is_due(Some("2026-06-10T01:45:00Z")), "ran after it");
        assert!(!is_due(Some("2031-01-01T00:00:00Z")), "the clock was put back");
    }

    proptest! {
        #[test]
        fn times_ascend_and_lie_after_the_start(
            minute in 0..60u32, hour in 0..24u32, start in 1_700_000_000i64..1_900_000_000,
        ) {
            let expression = Expression::parse(&format!("{minute} {hour} * * *")).unwrap();
            let start = Utc.timestamp_opt(start, 0).unwrap().trunc_subsecs(0);
            let times = expression.upcoming(&Berlin, start, 6);
            prop_assert_eq!(times.len(), 6);
            let mut before = start;
            for time in times {
                let time = time.with_timezone(&Utc);
                prop_assert!(time > before);
                prop_assert!(time - before <= Duration::hours(26));
                before = time;
            }
        }
    }
}
