//! Glue of the age phase: which entries stand alone, and what is done about them.

mod judge;

use super::{Context, Level};
use crate::error::{ExitCode, Result};
use crate::store;
use lifecycle_phases::age::{self, Candidate, Limits};
use lifecycle_phases::connect::form::Form;
use lifecycle_phases::{EntryId, Phase};
use rusqlite::{Connection, OptionalExtension};

/// Judges the isolated entries whose project has moved on.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let limits = limits(ctx);
    let candidates = candidates(ctx.store.reader(), limits.newer_entries)?;
    let active = store::count_states(ctx.store.reader())?
        .iter()
        .filter(|(state, _)| state.is_active())
        .map(|(_, count)| usize::try_from(*count).unwrap_or(usize::MAX))
        .sum();
    let answers = judge::ask(ctx, &age::ask(&candidates, &limits))?;
    let decision = age::decide(&candidates, &answers, active, &limits, ctx.unbraked);
    if let Some(brake) = decision.brake {
        let text = format!(
            "{} of {} active entries would expire at once, so none did; look at \
             `lifecycle run --dry-run --yes`, then allow it with `lifecycle run --yes`, or decide \
             on each with `lifecycle review`",
            brake.would_expire, brake.active
        );
        ctx.note(Level::Failed, Phase::Age, text);
        ctx.failure.get_or_insert(ExitCode::Refused);
    }
    if !decision.unanswered.is_empty() {
        let text = unanswered(&decision.unanswered);
        ctx.note(Level::Waiting, Phase::Age, text);
    }
    ctx.perform(decision.steps)
}

fn limits(ctx: &Context<'_>) -> Limits {
    let age = &ctx.settings.age;
    Limits {
        newer_entries: age.newer_entries,
        max_reprieves: age.max_reprieves,
        max_expire_share: age.max_expire_share,
        max_expire_free: age.max_expire_free,
    }
}

fn unanswered(ids: &[EntryId]) -> String {
    format!(
        "{} isolated {} neither clearly knowledge nor clearly chatter; kept until a model says",
        ids.len(),
        if ids.len() == 1 { "entry is" } else { "entries are" }
    )
}

/// The isolated entries old enough to be judged, in order of arrival.
fn candidates(connection: &Connection, newer_entries: u64) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for project in projects(connection)? {
        // An entry that is yet to be embedded may be what connects to another.
        if has_pending(connection, project.as_deref())? {
            continue;
        }
        if let Some(line) = due_line(connection, project.as_deref(), newer_entries)? {
            found.extend(isolated(connection, project.as_deref(), line)?);
        }
    }
    Ok(found)
}

fn projects(connection: &Connection) -> Result<Vec<Option<String>>> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT project FROM entry WHERE state = 'buffered'")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether entries of the project wait for a vector or for links; parked ones are not waited for.
fn has_pending(connection: &Connection, project: Option<&str>) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM entry WHERE project IS ?1 AND connected IS NULL
                 AND state IN ('buffered', 'proven', 'routed') AND NOT EXISTS (
                     SELECT 1 FROM embed_failure f WHERE f.entry = entry.seq AND f.parked))",
        )?
        .query_row([project], |row| row.get(0))?)
}

/// The key of the `newer_entries`-th newest entry of the project that people or tools brought in:
/// what came before it has that many newer ones.
fn due_line(connection: &Connection, project: Option<&str>, newer: u64) -> Result<Option<i64>> {
    let Some(offset) = newer.checked_sub(1).and_then(|n| i64::try_from(n).ok()) else {
        return Ok(Some(i64::MAX));
    };
    Ok(connection
        .prepare_cached(
            "SELECT seq FROM entry WHERE project IS ?1 AND channel <> 'tick'
             ORDER BY seq DESC LIMIT 1 OFFSET ?2",
        )?
        .query_row((project, offset), |row| row.get(0))
        .optional()?)
}

fn isolated(connection: &Connection, project: Option<&str>, line: i64) -> Result<Vec<Candidate>> {
    let sql = "SELECT seq, reprieved_seq, connected IS NOT NULL FROM entry
         WHERE state = 'buffered' AND project IS ?1 AND seq < ?2 AND reprieved_seq < ?2
           AND NOT EXISTS (SELECT 1 FROM link WHERE a = entry.seq AND active)
           AND NOT EXISTS (SELECT 1 FROM link WHERE b = entry.seq AND active)
         ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((project, line), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (seq, reprieved, connected) = row?;
        if let Some(stored) = store::entry_by_seq(connection, seq)? {
            let newer = newer_than(connection, project, seq.max(reprieved))?;
            found.push(candidate(&stored, newer, connected));
        }
    }
    Ok(found)
}

fn newer_than(connection: &Connection, project: Option<&str>, seq: i64) -> Result<u64> {
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM entry WHERE project IS ?1 AND seq > ?2 AND channel <> 'tick'",
        )?
        .query_row((project, seq), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn candidate(stored: &store::StoredEntry, newer: u64, connected: bool) -> Candidate {
    let entry = &stored.entry;
    Candidate {
        entry: entry.id.clone(),
        text: entry.text.clone(),
        state: entry.state,
        reprieves: entry.reprieves,
        newer,
        protected: entry.is_protected(),
        connected,
        template: Form::of(&entry.text).formal,
    }
}
