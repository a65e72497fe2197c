//! The fields of an expression in the words of systemd and launchd.

use super::Expression;
use cron::{Schedule, TimeUnitSpec};

/// The values of a field, none where it is every one.
fn values(field: &impl TimeUnitSpec, is_all: bool) -> Option<Vec<u32>> {
    if is_all { None } else { Some(field.iter().collect()) }
}

/// The restricted fields of one schedule: minutes, hours, days, months, weekdays (0 = Sunday).
struct Fields {
    minutes: Option<Vec<u32>>,
    hours: Option<Vec<u32>>,
    days: Option<Vec<u32>>,
    months: Option<Vec<u32>>,
    weekdays: Option<Vec<u32>>,
}

impl Fields {
    fn of(schedule: &Schedule) -> Self {
        Self {
            minutes: values(schedule.minutes(), schedule.minutes().count() == 60),
            hours: values(schedule.hours(), schedule.hours().count() == 24),
            days: values(schedule.days_of_month(), schedule.days_of_month().count() == 31),
            months: values(schedule.months(), schedule.months().count() == 12),
            weekdays: values(schedule.days_of_week(), schedule.days_of_week().count() == 7)
                .map(|days| days.into_iter().map(|day| day - 1).collect()),
        }
    }
}

/// `OnCalendar=` of a systemd timer, one a schedule.
pub fn on_calendar(expression: &Expression) -> Vec<String> {
    expression.schedules().iter().map(|schedule| one_on_calendar(&Fields::of(schedule))).collect()
}

fn one_on_calendar(fields: &Fields) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let list = |values: &Option<Vec<u32>>| {
        values.as_ref().map_or_else(
            || "*".to_string(),
            |values| values.iter().map(|value| format!("{value:02}")).collect::<Vec<_>>().join(","),
        )
    };
    let weekdays = fields.weekdays.as_ref().map_or(String::new(), |days| {
        let names: Vec<&str> =
            days.iter().filter_map(|day| DAYS.get(*day as usize).copied()).collect();
        format!("{} ", names.join(","))
    });
    format!(
        "{weekdays}*-{}-{} {}:{}:00",
        list(&fields.months),
        list(&fields.days),
        list(&fields.hours),
        list(&fields.minutes)
    )
}

/// The dictionaries of `StartCalendarInterval` of a launchd agent: key and value pairs, every
/// combination of the restricted fields.
pub fn intervals(expression: &Expression) -> Vec<Vec<(&'static str, u32)>> {
    expression.schedules().iter().flat_map(|schedule| product(&Fields::of(schedule))).collect()
}

fn product(fields: &Fields) -> Vec<Vec<(&'static str, u32)>> {
    let named = [
        ("Month", &fields.months),
        ("Day", &fields.days),
        ("Weekday", &fields.weekdays),
        ("Hour", &fields.hours),
        ("Minute", &fields.minutes),
    ];
    let mut all = vec![Vec::new()];
    for (name, values) in named {
        let Some(values) = values else { continue };
        all = all
            .iter()
            .flat_map(|start: &Vec<(&'static str, u32)>| {
                values.iter().map(move |value| {
                    let mut longer = start.clone();
                    longer.push((name, *value));
                    longer
                })
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_same_times_in_each_dialect() {
        let daily = Expression::parse("30 3 * * *").unwrap();
        assert_eq!(on_calendar(&daily), ["*-*-* 03:30:00"]);
        assert_eq!(intervals(&daily), [vec![("Hour", 3), ("Minute", 30)]]);
        let twice = Expression::parse("0 9,18 * * 1-5").unwrap();
        assert_eq!(on_calendar(&twice), ["Mon,Tue,Wed,Thu,Fri *-*-* 09,18:00:00"]);
        assert_eq!(intervals(&twice).len(), 10);
        let either = Expression::parse("0 9 1 * MON").unwrap();
        assert_eq!(on_calendar(&either), ["*-*-01 09:00:00", "Mon *-*-* 09:00:00"]);
    }
}
