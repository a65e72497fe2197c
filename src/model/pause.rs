//! Until when a spent quota pauses a provider.

use super::wire::HttpReply;
use chrono::{DateTime, Datelike, Duration, TimeZone, Utc};
use serde_json::Value;

/// Where nobody says how long (milliseconds).
const DEFAULT: i64 = 60_000;
/// A payment is not made within minutes (milliseconds).
const UNPAID: i64 = 6 * 3_600_000;

/// When to go on (milliseconds UTC) and why not before. A daily quota lasts until its reset at
/// midnight Pacific time, also where the server states a few seconds; else `Retry-After`,
/// `RetryInfo.retryDelay`, or the sentence "try again in 5.2s" decide.
pub fn until(reply: &HttpReply, body: &Value, now: i64) -> (i64, &'static str) {
    if is_daily(body) {
        return (pacific_midnight(now), "the daily quota is spent");
    }
    if let Some(until) = reply.retry_after.as_deref().and_then(|text| retry_after(text, now)) {
        return (until, "the server asks to wait");
    }
    if let Some(seconds) = retry_delay(body).or_else(|| sentence(body)) {
        return (now + millis(seconds), "the quota of the minute is spent");
    }
    if reply.status == 402 || body.pointer("/error/code").and_then(Value::as_u64) == Some(402) {
        return (now + UNPAID, "no credits left");
    }
    (now + DEFAULT, "too many requests")
}

#[allow(clippy::cast_possible_truncation, reason = "bounded to a day")]
fn millis(seconds: f64) -> i64 {
    (seconds.clamp(0.0, 86_400.0) * 1000.0).ceil() as i64
}

fn details(body: &Value) -> impl Iterator<Item = &Value> {
    body.pointer("/error/details").and_then(Value::as_array).into_iter().flatten()
}

fn is_daily(body: &Value) -> bool {
    details(body)
        .flat_map(|detail| detail["violations"].as_array().into_iter().flatten())
        .any(|violation| violation["quotaId"].as_str().is_some_and(|id| id.contains("PerDay")))
}

fn retry_delay(body: &Value) -> Option<f64> {
    details(body).find_map(|detail| detail["retryDelay"].as_str()?.strip_suffix('s')?.parse().ok())
}

/// "Please try again in 1m5.289s."
fn sentence(body: &Value) -> Option<f64> {
    let message = body.pointer("/error/message")?.as_str()?;
    let rest = message.split("try again in ").nth(1)?;
    let (minutes, rest) = match rest.split_once('m') {
        Some((minutes, rest))
            if minutes.chars().all(|ch| ch.is_ascii_digit()) && !rest.starts_with('s') =>
        {
            (minutes.parse().unwrap_or(0.0), rest)
        }
        _ => (0.0, rest),
    };
    let digits: String = rest.chars().take_while(|ch| ch.is_ascii_digit() || *ch == '.').collect();
    let value: f64 = digits.trim_end_matches('.').parse().ok()?;
    let unit = if rest[digits.len()..].starts_with("ms") { 0.001 } else { 1.0 };
    Some(minutes * 60.0 + value * unit)
}

fn retry_after(text: &str, now: i64) -> Option<i64> {
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Some(now + millis(seconds));
    }
    let time = DateTime::parse_from_rfc2822(text.trim()).ok()?;
    Some(time.timestamp_millis().max(now))
}

/// The next midnight in Los Angeles, whose clocks are 7 hours behind UTC from the second Sunday of
/// March to the first Sunday of November, else 8.
fn pacific_midnight(now: i64) -> i64 {
    let now = Utc.timestamp_millis_opt(now).single().unwrap_or_default();
    let behind = |time: DateTime<Utc>| Duration::hours(if is_pacific_summer(time) { 7 } else { 8 });
    let local = now - behind(now);
    let midnight =
        (local.date_naive() + Duration::days(1)).and_hms_opt(0, 0, 0).unwrap_or_default().and_utc();
    (midnight + behind(midnight + Duration::hours(8))).timestamp_millis()
}

fn is_pacific_summer(time: DateTime<Utc>) -> bool {
    let sunday = |month: u32, nth: u32| {
        let first =
            Utc.with_ymd_and_hms(time.year(), month, 1, 10, 0, 0).single().unwrap_or_default();
        first
            + Duration::days(i64::from(
                (7 - first.weekday().num_days_from_sunday()) % 7 + 7 * (nth - 1),
            ))
    };
    time >= sunday(3, 2) && time < sunday(11, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{format_time, parse_time};
    use serde_json::json;

    fn reply(retry_after: Option<&str>) -> HttpReply {
        HttpReply {
            status: 429,
            retry_after: retry_after.map(str::to_string),
            body: Vec::new(),
            wall_ms: 1.0,
        }
    }

    fn at(text: &str) -> i64 {
        parse_time(text).expect("a time")
    }

    #[test]
    fn b9_a_daily_quota_lasts_until_its_reset() {
        let body = json!({"error": {"code": 429, "details": [
            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
            {"retryDelay": "22s"}]}});
        for (now, reset) in [
            ("2026-06-10T12:00:00Z", "2026-06-11T07:00:00Z"),
            ("2026-06-10T03:00:00Z", "2026-06-10T07:00:00Z"),
            ("2026-12-10T12:00:00Z", "2026-12-11T08:00:00Z"),
        ] {
            assert_eq!(format_time(until(&reply(None), &body, at(now)).0), reset);
        }
    }

    #[test]
    fn b9_the_stated_wait_is_kept() {
        let now = at("2026-06-10T12:00:00Z");
        let wait = |reply: &HttpReply, body: Value| until(reply, &body, now).0 - now;
        assert_eq!(wait(&reply(Some("30")), json!({})), 30_000);
        assert_eq!(wait(&reply(Some("Wed, 10 Jun 2026 12:01:00 GMT")), json!({})), 60_000);
        assert_eq!(
            wait(&reply(None), json!({"error": {"details": [{"retryDelay": "22s"}]}})),
            22_000
        );
        assert_eq!(
            wait(&reply(None), json!({"error": {"message": "Please try again in 5.289s. Visit"}})),
            5_289
        );
        assert_eq!(
            wait(&reply(None), json!({"error": {"message": "Please try again in 1m2s."}})),
            62_000
        );
        assert_eq!(wait(&reply(None), json!({"error": {"message": "try again in 320ms"}})), 320);
        assert_eq!(wait(&reply(None), json!({})), 60_000);
    }
}
