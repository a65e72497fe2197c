//! The model requests of a tick, summed up.

use crate::error::Result;
use rusqlite::Connection;
use serde::Serialize;

/// Requests of one provider with the same outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallLine {
    /// Name of the provider.
    pub provider: String,
    /// The model as configured.
    pub model: String,
    /// `answered`, `refused`, `timed_out`, `aborted` or `unknown`.
    pub outcome: String,
    /// How many.
    pub calls: u64,
    /// Tokens of the prompts.
    pub tokens_in: u64,
    /// Tokens of the replies, thinking included.
    pub tokens_out: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds spent waiting in the server's queue.
    pub waited: f64,
}

/// The requests of tick `id`.
pub fn calls_of(connection: &Connection, id: i64) -> Result<Vec<CallLine>> {
    let mut statement = connection.prepare_cached(
        "SELECT provider, model, outcome, count(*), sum(coalesce(prompt_tokens, 0)),
                sum(coalesce(completion_tokens, 0) + coalesce(reasoning_tokens, 0)),
                sum(coalesce(total_ms, 0.0)), sum(coalesce(queue_ms, 0.0))
         FROM call WHERE tick = ?1 GROUP BY provider, model, outcome ORDER BY 1, 2, 3",
    )?;
    let rows = statement.query_map([id], |row| {
        Ok(CallLine {
            provider: row.get(0)?,
            model: row.get(1)?,
            outcome: row.get(2)?,
            calls: row.get::<_, i64>(3)?.unsigned_abs(),
            tokens_in: row.get::<_, i64>(4)?.unsigned_abs(),
            tokens_out: row.get::<_, i64>(5)?.unsigned_abs(),
            seconds: row.get::<_, f64>(6)? / 1000.0,
            waited: row.get::<_, f64>(7)? / 1000.0,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
