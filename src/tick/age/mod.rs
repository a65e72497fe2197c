//! Glue of the age phase: which entries stand alone, and what is done about them.

mod judge;

use super::{Context, Level};
use crate::error::{ExitCode, Result};
use crate::store;
use lifecycle_phases::age::{self, Candidate, Limits};
use lifecycle_phases::{EntryId, Phase};
use rusqlite::Connection;

/// Judges the isolated entries whose project has moved on.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let limits = limits(ctx);
    let candidates = candidates(ctx.store.reader(), &limits)?;
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
        growth: age.growth,
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

/// The isolated entries that may be judged, in order of arrival.
fn candidates(connection: &Connection, limits: &Limits) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for project in projects(connection)? {
        // An entry that is yet to be embedded may be what connects to another.
        if has_pending(connection, project.as_deref())? {
            continue;
        }
        let arrivals = arrivals(connection, project.as_deref())?;
        let newer = usize::try_from(limits.newer_entries).unwrap_or(usize::MAX);
        let line = match arrivals.len().checked_sub(newer) {
            None => continue,
            Some(place) => arrivals.get(place).copied().unwrap_or(i64::MAX),
        };
        for lone in isolated(connection, project.as_deref(), line)? {
            found.extend(lone.candidate(connection, &arrivals, limits)?);
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

/// The keys of the entries of the project that people or tools brought in, ascending.
fn arrivals(connection: &Connection, project: Option<&str>) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq FROM entry WHERE project IS ?1 AND channel <> 'tick' ORDER BY seq",
    )?;
    let rows = statement.query_map([project], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// An isolated entry.
struct Lone {
    seq: i64,
    /// Its own key, or the newest of its project at its last reprieve.
    since: i64,
    reprieves: u32,
    connected: bool,
    is_copy: bool,
}

/// Entries from before `line` that nothing connects to. Among copies of fixed forms, what connects
/// is form, or a subject that none of them says anything of.
fn isolated(connection: &Connection, project: Option<&str>, line: i64) -> Result<Vec<Lone>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, max(seq, reprieved_seq), reprieves, connected IS NOT NULL, form IS NOT NULL
         FROM entry
         WHERE state = 'buffered' AND project IS ?1 AND seq < ?2 AND reprieved_seq < ?2
           AND NOT EXISTS (SELECT 1 FROM link JOIN entry o ON o.seq = link.b
               WHERE link.a = entry.seq AND active AND (entry.form IS NULL OR o.form IS NULL))
           AND NOT EXISTS (SELECT 1 FROM link JOIN entry o ON o.seq = link.a
               WHERE link.b = entry.seq AND active AND (entry.form IS NULL OR o.form IS NULL))
         ORDER BY seq",
    )?;
    let rows = statement.query_map((project, line), |row| {
        Ok(Lone {
            seq: row.get(0)?,
            since: row.get(1)?,
            reprieves: row.get(2)?,
            connected: row.get(3)?,
            is_copy: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Lone {
    /// The entry as a candidate; `None` where its project has not moved on far enough.
    fn candidate(
        &self,
        connection: &Connection,
        arrivals: &[i64],
        limits: &Limits,
    ) -> Result<Option<Candidate>> {
        let then = arrivals.partition_point(|seq| *seq <= self.since);
        let (newer, then) = ((arrivals.len() - then) as u64, then as u64);
        if newer < age::needed(self.reprieves, then, limits) {
            return Ok(None);
        }
        let Some(stored) = store::entry_by_seq(connection, self.seq)? else { return Ok(None) };
        let copies = match self.is_copy {
            true => store::copies(connection, self.seq)?,
            false => None,
        };
        let entry = stored.entry;
        Ok(Some(Candidate {
            protected: entry.is_protected(),
            entry: entry.id,
            text: entry.text,
            state: entry.state,
            reprieves: self.reprieves,
            newer,
            then,
            connected: self.connected,
            copies,
        }))
    }
}
