//! What a step does to the store, and whether what it requires holds.
//!
//! [`apply`] is the only way in which entries, vectors, links and provenance change.

use super::entries::{entry_by_id, seq_of};
use super::fts::{Item, index_words};
use crate::error::{Error, Result};
use lifecycle_phases::{Entry, EntryId, Link, Requirement, State, Step};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// Why `requirement` does not hold, or `None` where it does. Requirements on files are the file
/// writer's, and hold here.
pub fn check(connection: &Connection, requirement: &Requirement) -> Result<Option<String>> {
    Ok(match requirement {
        Requirement::Absent { entry } => {
            entry_by_id(connection, entry)?.map(|_| format!("entry {entry} exists already"))
        }
        Requirement::State { entry, state } => match entry_by_id(connection, entry)? {
            None => Some(format!("entry {entry} is gone")),
            Some(found) if found.entry.state != *state => {
                Some(format!("entry {entry} is {} now, not {state}", found.entry.state))
            }
            Some(_) => None,
        },
        Requirement::Isolated { entry } => {
            has_active_link(connection, entry)?.then(|| format!("entry {entry} has a link now"))
        }
        Requirement::File { .. } => None,
    })
}

/// Whether anything connects to the entry; a link between copies of fixed forms does not count.
fn has_active_link(connection: &Connection, id: &EntryId) -> Result<bool> {
    let found: Option<i64> = connection
        .prepare_cached(
            "SELECT 1 FROM entry e JOIN link ON link.a = e.seq OR link.b = e.seq
                 JOIN entry o ON o.seq = iif(link.a = e.seq, link.b, link.a)
             WHERE e.id = ?1 AND link.active AND (e.form IS NULL OR o.form IS NULL) LIMIT 1",
        )?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.is_some())
}

/// Performs the effect of `step` on the store. Route steps have their effect on files; here only
/// the state of the entry follows. `now` is milliseconds UTC, `reason` is kept with the state.
pub fn apply(tx: &Transaction<'_>, step: &Step, now: i64, reason: &str) -> Result<()> {
    match step {
        Step::Admit { entry } => insert(tx, entry, now, reason).map(drop),
        Step::Withdraw { entry } => delete(tx, &entry.id),
        Step::Recall { entry, to, .. } => set(tx, "recalls", *to, entry),
        Step::Attest { entry, to, .. } => attest(tx, entry, *to),
        Step::SetState { entry, to, .. } => set_state(tx, entry, *to, now, reason),
        Step::Protect { entry, to, .. } => set(tx, "protected", u32::from(*to), entry),
        Step::Embed { entry, descriptor, vector } => embed(tx, entry, descriptor, vector),
        Step::Link { link } => insert_link(tx, link),
        Step::Unlink { link } => delete_link(tx, link),
        Step::Merge { .. } => merge(tx, step, now, reason),
        Step::Unmerge { merge } => unmerge(tx, merge, now, reason),
        Step::RejectCluster { .. } => reject(tx, step, now),
        Step::Route { .. } => Ok(()),
        Step::Reprieve { entry, to, .. } => reprieve(tx, entry, *to),
        Step::Expire { entry, .. } => set_state(tx, entry, State::Expired, now, reason),
    }
}

fn insert(tx: &Transaction<'_>, entry: &Entry, now: i64, reason: &str) -> Result<i64> {
    tx.prepare_cached(
        "INSERT INTO entry (id, text, title, content_hash, kind, project, state, state_at,
             state_reason, created, channel, actor, conversation, path, offset, files,
             generated_by, recalls, reprieves, protected, origin)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
             ?19, ?20, ?21)",
    )?
    .execute(params![
        entry.id.as_str(),
        entry.text,
        entry.title,
        entry.content_hash.0,
        entry.kind.as_str(),
        entry.project,
        entry.state.as_str(),
        now,
        reason,
        entry.created,
        entry.source.channel.as_str(),
        entry.source.actor.as_str(),
        entry.source.conversation,
        entry.source.path,
        entry.source.offset.map(u64::cast_signed),
        serde_json::to_string(&entry.source.files)?,
        entry.generated_by,
        entry.recalls,
        entry.reprieves,
        entry.protected,
        entry.source.origin.map(lifecycle_phases::Origin::as_str),
    ])?;
    let seq = tx.last_insert_rowid();
    index_words(tx, Item::Entry(seq), entry.title.as_deref().unwrap_or(""), &entry.text)?;
    Ok(seq)
}

fn delete(tx: &Transaction<'_>, id: &EntryId) -> Result<()> {
    tx.prepare_cached("DELETE FROM entry WHERE id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

fn set(tx: &Transaction<'_>, column: &'static str, value: u32, id: &EntryId) -> Result<()> {
    let sql = format!("UPDATE entry SET {column} = ?1 WHERE id = ?2");
    tx.prepare_cached(&sql)?.execute(params![value, id.as_str()])?;
    Ok(())
}

fn attest(tx: &Transaction<'_>, id: &EntryId, to: lifecycle_phases::Origin) -> Result<()> {
    tx.prepare_cached("UPDATE entry SET origin = ?1 WHERE id = ?2")?
        .execute(params![to.as_str(), id.as_str()])?;
    Ok(())
}

/// An entry that comes back from being expired is judged again only once its project has moved on.
fn set_state(tx: &Transaction<'_>, id: &EntryId, to: State, now: i64, reason: &str) -> Result<()> {
    tx.prepare_cached(
        "UPDATE entry SET state = ?1, state_at = ?2, state_reason = ?3,
             connected = CASE WHEN state IN ('merged', 'expired') THEN NULL ELSE connected END,
             reprieved_seq = CASE WHEN state <> 'expired' THEN reprieved_seq ELSE
                 (SELECT max(seq) FROM entry newer WHERE newer.project IS entry.project) END
         WHERE id = ?4",
    )?
    .execute(params![to.as_str(), now, reason, id.as_str()])?;
    set_links(tx, id, to.is_active())
}

/// Switches the links of an entry off, or on again where the other end is active as well.
fn set_links(tx: &Transaction<'_>, id: &EntryId, active: bool) -> Result<()> {
    let seq = seq_of(tx, id)?;
    tx.prepare_cached(
        "UPDATE link SET active = ?1 WHERE (a = ?2 OR b = ?2) AND (NOT ?1 OR NOT EXISTS (
             SELECT 1 FROM entry e WHERE e.seq IN (link.a, link.b)
                 AND e.state IN ('merged', 'expired')))",
    )?
    .execute(params![active, seq])?;
    Ok(())
}

fn embed(tx: &Transaction<'_>, id: &EntryId, descriptor: &str, vector: &[f32]) -> Result<()> {
    let seq = seq_of(tx, id)?;
    if !vector.is_empty() {
        insert_vector(tx, seq, descriptor, vector)?;
    }
    tx.prepare_cached("UPDATE entry SET connected = ?1 WHERE seq = ?2")?
        .execute(params![descriptor, seq])?;
    tx.prepare_cached("DELETE FROM embed_failure WHERE entry = ?1 AND descriptor = ?2")?
        .execute(params![seq, descriptor])?;
    Ok(())
}

fn insert_vector(tx: &Transaction<'_>, seq: i64, descriptor: &str, vector: &[f32]) -> Result<()> {
    let data: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    tx.prepare_cached(
        "INSERT OR REPLACE INTO vector (entry, descriptor, text_hash, data)
         VALUES (?1, ?2, (SELECT content_hash FROM entry WHERE seq = ?1), ?3)",
    )?
    .execute(params![seq, descriptor, data])?;
    Ok(())
}

fn insert_link(tx: &Transaction<'_>, link: &Link) -> Result<()> {
    let (a, b) = ends(tx, link)?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO link (a, b, descriptor, similarity, cosine, differing, active)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)",
    )?
    .execute(params![
        a,
        b,
        link.descriptor,
        link.similarity,
        link.cosine,
        link.differing.map(lifecycle_phases::Differing::as_str),
    ])?;
    Ok(())
}

fn delete_link(tx: &Transaction<'_>, link: &Link) -> Result<()> {
    let (a, b) = ends(tx, link)?;
    tx.prepare_cached("DELETE FROM link WHERE a = ?1 AND b = ?2 AND descriptor = ?3")?
        .execute(params![a, b, link.descriptor])?;
    // Whether anything connects to the two must be looked at again.
    tx.prepare_cached("UPDATE entry SET connected = NULL WHERE seq IN (?1, ?2)")?
        .execute([a, b])?;
    Ok(())
}

/// The keys of both ends, the smaller first, which is how links are stored.
fn ends(tx: &Transaction<'_>, link: &Link) -> Result<(i64, i64)> {
    let (a, b) = (seq_of(tx, &link.a)?, seq_of(tx, &link.b)?);
    Ok((a.min(b), a.max(b)))
}

fn merge(tx: &Transaction<'_>, step: &Step, now: i64, reason: &str) -> Result<()> {
    let Step::Merge { cluster, proven, sources, replaces, descriptor, vector, calls, .. } = step
    else {
        return Err(Error::refused("not a merge"));
    };
    super::use_calls(tx, calls)?;
    let seq = insert(tx, proven, now, reason)?;
    insert_vector(tx, seq, descriptor, vector)?;
    tx.prepare_cached("DELETE FROM cluster WHERE key = ?1")?.execute([cluster])?;
    let lives_on = format!("merged into {}", proven.id);
    for source in sources.iter().chain(replaces).filter(|source| !source.kept) {
        set_state(tx, &source.entry, State::Merged, now, &lives_on)?;
    }
    for old in replaces {
        set_provenance(tx, &old.entry, false)?;
    }
    for source in sources {
        tx.prepare_cached(
            "INSERT OR REPLACE INTO provenance (proven, source, from_state, active)
             VALUES (?1, ?2, ?3, 1)",
        )?
        .execute(params![seq, seq_of(tx, &source.entry)?, source.state.as_str()])?;
    }
    Ok(())
}

fn unmerge(tx: &Transaction<'_>, merge: &Step, now: i64, reason: &str) -> Result<()> {
    let Step::Merge { proven, sources, links, replaces, .. } = merge else {
        return Err(Error::refused("not a merge"));
    };
    delete(tx, &proven.id)?;
    for source in sources.iter().chain(replaces).filter(|source| !source.kept) {
        set_state(tx, &source.entry, source.state, now, reason)?;
    }
    for old in replaces {
        set_provenance(tx, &old.entry, true)?;
    }
    links.iter().try_for_each(|link| insert_link(tx, link))
}

fn set_provenance(tx: &Transaction<'_>, proven: &EntryId, active: bool) -> Result<()> {
    tx.prepare_cached("UPDATE provenance SET active = ?1 WHERE proven = ?2")?
        .execute(params![active, seq_of(tx, proven)?])?;
    Ok(())
}

fn reject(tx: &Transaction<'_>, step: &Step, now: i64) -> Result<()> {
    let Step::RejectCluster { cluster, members, outcome, reason, attempts, next_try } = step else {
        return Err(Error::refused("not a rejected cluster"));
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO cluster (key, members, outcome, reason, attempts, next_try, updated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        cluster,
        serde_json::to_string(members)?,
        outcome.as_str(),
        reason,
        attempts,
        next_try,
        now
    ])?;
    Ok(())
}

fn reprieve(tx: &Transaction<'_>, id: &EntryId, to: u32) -> Result<()> {
    tx.prepare_cached(
        "UPDATE entry SET reprieves = ?1, reprieved_seq =
             (SELECT max(seq) FROM entry newer WHERE newer.project IS entry.project)
         WHERE id = ?2",
    )?
    .execute(params![to, id.as_str()])?;
    Ok(())
}
