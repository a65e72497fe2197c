//! What the ledger and the judged replies say about models: quality, latency, queue, warning signs.

use crate::error::Result;
use rusqlite::{Connection, params};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Quality of one model (and day) over a window of judged replies. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// The model as its replies name it.
    pub model: String,
    /// What was asked for: `merge` or `observe`.
    pub purpose: String,
    /// The day (UTC), where the table is by day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Judged replies.
    pub replies: usize,
    /// Of these, with at least one proven entry.
    pub accepted: f64,
    /// With a kind that does not exist.
    pub bad_kind: f64,
    /// That speak of the user although no user spoke.
    pub bad_attribution: f64,
    /// With a title that another entry has.
    pub duplicate_title: f64,
    /// Without any file.
    pub no_file: f64,
    /// With an invented fact.
    pub invented_fact: f64,
    /// That lost too much.
    pub lossy: f64,
    /// That stated a former value, or not the newest.
    pub stale: f64,
    /// That could not be read.
    pub unreadable: f64,
    /// Mean share of the sources' facts that the text itself kept.
    pub coverage: Option<f64>,
    /// Mean length of the text as a share of its sources.
    pub length: Option<f64>,
    /// Share of merges that kept a reason where a source gave one.
    pub kept_reason: Option<f64>,
    /// Replies with the same text as that of another cluster.
    pub identical: f64,
    /// With words of the instructions.
    pub leaked: f64,
    /// Newest replies in a row that cannot be read, after ones that could.
    pub unreadable_run: usize,
}

struct Row {
    model: String,
    purpose: String,
    day: String,
    accepted: bool,
    refused: Vec<String>,
    coverage: Option<f64>,
    flags: [bool; 4],
    kept_reason: Option<bool>,
    chars: (f64, f64),
    cluster: String,
    text_hash: String,
}

/// Names of refusals that say that a reply could not be read.
const UNREADABLE: &[&str] = &[
    "empty_reply",
    "only_reasoning",
    "refusal",
    "no_object",
    "output_truncated",
    "two_objects",
    "wrong_shape",
    "reply_too_long",
];

/// Quality by model over the last `window` judged replies, also by day where that is wanted.
pub fn quality(connection: &Connection, window: u32, by_day: bool) -> Result<Vec<Quality>> {
    let rows = rows(connection, window)?;
    let mut groups: BTreeMap<(String, String, String), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        let day = if by_day { row.day.clone() } else { String::new() };
        groups.entry((row.purpose.clone(), row.model.clone(), day)).or_default().push(row);
    }
    let line = |((purpose, model, day), rows): ((String, String, String), Vec<&Row>)| Quality {
        purpose,
        ..summary(model, day, &rows)
    };
    Ok(groups.into_iter().map(line).collect())
}

fn rows(connection: &Connection, window: u32) -> Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(
        "SELECT model, date(at / 1000, 'unixepoch'), accepted, refused, coverage, bad_kinds,
             bad_attribution, duplicate_title, no_file, kept_reason, chars_in, chars_out, cluster,
             text_hash, purpose
         FROM quality ORDER BY id DESC LIMIT ?1",
    )?;
    let rows = statement.query_map([window], |row| {
        let flag = |column: usize| row.get::<_, i64>(column).map(|value| value > 0);
        let refused: String = row.get(3)?;
        Ok(Row {
            model: row.get(0)?,
            purpose: row.get(14)?,
            day: row.get(1)?,
            accepted: flag(2)?,
            refused: serde_json::from_str(&refused).unwrap_or_default(),
            coverage: row.get(4)?,
            flags: [flag(5)?, flag(6)?, flag(7)?, flag(8)?],
            kept_reason: row.get(9)?,
            chars: (row.get(10)?, row.get(11)?),
            cluster: row.get(12)?,
            text_hash: row.get(13)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[allow(clippy::cast_precision_loss, reason = "a window has few rows")]
fn summary(model: String, day: String, rows: &[&Row]) -> Quality {
    let share = |test: &dyn Fn(&Row) -> bool| {
        rows.iter().filter(|row| test(row)).count() as f64 / rows.len().max(1) as f64
    };
    let refused = |names: &'static [&'static str]| {
        share(&move |row: &Row| row.refused.iter().any(|name| names.contains(&name.as_str())))
    };
    let mean = |values: Vec<f64>| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let made: Vec<&&Row> = rows.iter().filter(|row| row.chars.0 > 0.0).collect();
    let reasons: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.kept_reason)
        .map(|kept| f64::from(u8::from(kept)))
        .collect();
    Quality {
        model,
        purpose: String::new(),
        day: Some(day).filter(|day| !day.is_empty()),
        replies: rows.len(),
        accepted: share(&|row| row.accepted),
        bad_kind: share(&|row| row.flags[0]),
        bad_attribution: share(&|row| row.flags[1]),
        duplicate_title: share(&|row| row.flags[2]),
        no_file: share(&|row| row.flags[3]),
        invented_fact: refused(&["invented_fact", "unsupported"]),
        lossy: refused(&["lossy_merge"]),
        stale: refused(&["stale_value", "newest_missing"]),
        unreadable: refused(UNREADABLE),
        coverage: mean(rows.iter().filter_map(|row| row.coverage).collect()),
        length: mean(made.iter().map(|row| row.chars.1 / row.chars.0).collect()),
        kept_reason: mean(reasons),
        identical: identical(rows),
        leaked: refused(&["leaked_rules", "echo_of_prompt", "markup", "generic_title"]),
        unreadable_run: unreadable_run(rows),
    }
}

/// How many of the newest replies in a row cannot be read; 0 where none ever could. The rows come
/// newest first.
fn unreadable_run(rows: &[&Row]) -> usize {
    let is_unreadable =
        |row: &&Row| row.refused.iter().any(|name| UNREADABLE.contains(&name.as_str()));
    rows.iter().position(|row| !is_unreadable(row)).unwrap_or(0)
}

/// Share of replies whose text another cluster got as well.
#[allow(clippy::cast_precision_loss, reason = "a window has few rows")]
fn identical(rows: &[&Row]) -> f64 {
    let mut clusters: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        clusters.entry(&row.text_hash).or_default().insert(&row.cluster);
    }
    let twice =
        |row: &&&Row| row.model != "extractive" && clusters[row.text_hash.as_str()].len() > 1;
    rows.iter().filter(twice).count() as f64 / rows.len().max(1) as f64
}

/// Latency over *all* requests: one without an answer counts at its elapsed time, which is a lower
/// bound, so that the slow ones do not vanish from the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Requests.
    pub n: usize,
    /// With an answer.
    pub completed: usize,
    /// Given up by us, or left open by a process that died.
    pub aborted: usize,
    /// Refused, or broken.
    pub failed: usize,
    /// Median (milliseconds).
    pub p50_ms: Option<f64>,
    /// 90th percentile (milliseconds).
    pub p90_ms: Option<f64>,
    /// Whether the percentiles are lower bounds.
    pub at_least: bool,
}

/// Latency of the requests since a time (milliseconds UTC).
pub fn latency(connection: &Connection, since: i64) -> Result<Latency> {
    let mut statement = connection.prepare_cached(
        "SELECT outcome, coalesce(total_ms, 0) FROM call
         WHERE opened >= ?1 AND outcome <> 'open' AND purpose <> 'canary'",
    )?;
    let rows = statement
        .query_map([since], |row| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let count = |words: &[&str]| {
        rows.iter().filter(|(outcome, _)| words.contains(&outcome.as_str())).count()
    };
    let aborted = count(&["timed_out", "aborted"]);
    let mut times: Vec<f64> = rows
        .iter()
        .filter(|(outcome, _)| matches!(outcome.as_str(), "answered" | "timed_out" | "aborted"))
        .map(|(_, ms)| *ms)
        .collect();
    times.sort_by(f64::total_cmp);
    Ok(Latency {
        n: rows.len(),
        completed: count(&["answered"]),
        aborted,
        failed: count(&["refused", "unknown"]),
        p50_ms: percentile(&times, 50),
        p90_ms: percentile(&times, 90),
        at_least: aborted > 0,
    })
}

/// The smallest value that `percent` of the values do not exceed (nearest rank).
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Median queue wait of the requests since a time, of those whose server tells.
pub fn queue_wait(connection: &Connection, since: i64) -> Result<Option<f64>> {
    let mut statement = connection.prepare_cached(
        "SELECT queue_ms FROM call
         WHERE opened >= ?1 AND queue_ms IS NOT NULL AND purpose <> 'canary' ORDER BY queue_ms",
    )?;
    let times = statement
        .query_map([since], |row| row.get::<_, f64>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(percentile(&times, 50))
}

/// Who generated: configured name, name in the replies, provider, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Generator {
    /// The user's name for the provider.
    pub provider: String,
    /// The model as configured.
    pub configured: String,
    /// The model as the replies name it.
    pub answered: String,
    /// Answers.
    pub answers: i64,
}

/// Who answered since a time.
pub fn generators(connection: &Connection, since: i64) -> Result<Vec<Generator>> {
    let mut statement = connection.prepare_cached(
        "SELECT provider, model, coalesce(response_model, model), count(*) FROM call
         WHERE opened >= ?1 AND outcome = 'answered' AND purpose <> 'canary'
         GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1",
    )?;
    let rows = statement.query_map([since], |row| {
        Ok(Generator {
            provider: row.get(0)?,
            configured: row.get(1)?,
            answered: row.get(2)?,
            answers: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Providers whose reported prompt tokens stay flat while the bytes sent grow: the sign of a
/// context that cuts. Looks at the last 20 answers of each.
pub fn flat_prompts(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT DISTINCT provider FROM call")?;
    let providers = statement
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut flat = Vec::new();
    for provider in providers {
        if is_flat(&series(connection, &provider)?) {
            flat.push(provider);
        }
    }
    Ok(flat)
}

fn series(connection: &Connection, provider: &str) -> Result<Vec<(f64, f64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT bytes_sent, prompt_tokens FROM call
         WHERE provider = ?1 AND outcome = 'answered' AND prompt_tokens >= 16
             AND purpose <> 'canary' ORDER BY id DESC LIMIT 20",
    )?;
    let rows = statement.query_map(params![provider], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Bytes that grow by half and more while the tokens move by less than a fiftieth.
fn is_flat(series: &[(f64, f64)]) -> bool {
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let values = series.iter().map(pick);
        values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (bytes, tokens) = (range(|pair| pair.0), range(|pair| pair.1));
    series.len() >= 3 && bytes.1 > bytes.0 * 1.5 && tokens.1 < tokens.0 * 1.02
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_a_plateau_of_prompt_tokens_is_noticed() {
        assert!(is_flat(&[(4000.0, 2050.0), (9000.0, 2050.0), (14_000.0, 2051.0)]));
        assert!(!is_flat(&[(4000.0, 1000.0), (9000.0, 2050.0), (14_000.0, 3300.0)]));
    }

    #[test]
    fn percentiles_take_the_nearest_rank() {
        assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0, 5.0], 90), Some(5.0));
        assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0], 50), Some(2.0));
        assert_eq!(percentile(&[], 50), None);
    }
}
