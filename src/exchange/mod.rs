//! Export and import: entries and documents as JSON lines, whole and with their provenance, and the
//! notes of other systems.
//!
//! An import is a tick of its own: it stands in the history and `undo` takes its entries back. What
//! is known already is skipped, so repeating an import changes nothing. What is imported has no
//! vectors yet; the next tick makes them. Foreign stores are opened for reading only.

mod foreign;
mod lines;
mod markdown;

pub use foreign::{claude_mem, memory_lifecycle};
pub use lines::{export, read_lines};
pub use markdown::{auto_memory, folder};

use crate::documents::{self, Draft};
use crate::error::Result;
use crate::progress::Progress;
use crate::redact::redact;
use crate::store::{self, Store, TickStatus};
use lifecycle_phases::{Entry, EntryId, Phase, PlannedStep, Step};
use rusqlite::{Transaction, params};
use serde::Serialize;

/// What is to be brought in.
#[derive(Clone, Debug, Default)]
pub struct Parcel {
    /// Entries, each with why it is in its state.
    pub entries: Vec<(Entry, String)>,
    /// Which entries a proven one was made from.
    pub sources: Vec<(EntryId, Vec<EntryId>)>,
    /// Documents.
    pub documents: Vec<Draft>,
    /// What could not be read, in words.
    pub skipped: Vec<String>,
}

/// What an import did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Imported {
    /// Entries that are new.
    pub entries: usize,
    /// Entries that were there.
    pub known: usize,
    /// Documents that are new or have new content.
    pub documents: usize,
    /// Secrets that were taken out.
    pub redacted: u64,
    /// What could not be used, in words.
    pub skipped: Vec<String>,
}

/// Entries that share a transaction, so that no writer waits long.
const PORTION: usize = 500;

/// Brings a parcel in.
pub fn import(store: &mut Store, parcel: Parcel, now: i64) -> Result<Imported> {
    let mut done = Imported { skipped: parcel.skipped, ..Imported::default() };
    let mut entries = Vec::new();
    for (entry, reason) in parcel.entries {
        let (entry, secrets) = redacted(entry);
        done.redacted += secrets;
        entries.push((entry, reason));
    }
    let mut tick = None;
    let mut n = 0;
    let progress = Progress::of("importing", entries.len());
    for portion in entries.chunks(PORTION) {
        store.write(|tx| admit(tx, portion, now, &mut tick, &mut n, &mut done))?;
        progress.add(portion.len());
    }
    drop(progress);
    let sources = parcel.sources;
    store.write(|tx| {
        for (proven, from) in &sources {
            from.iter().try_for_each(|source| relate(tx, proven, source))?;
        }
        match tick {
            Some(id) => store::finish_tick(tx, id, now, TickStatus::Done, "[]"),
            None => Ok(()),
        }
    })?;
    let progress = Progress::of("importing documents", parcel.documents.len());
    for draft in parcel.documents {
        progress.add(1);
        let added = documents::add(store, draft, now)?;
        done.documents +=
            usize::from(matches!(added.stored, store::Stored::Added | store::Stored::Replaced));
        done.redacted += added.redacted;
    }
    Ok(done)
}

/// The entry without secrets. Its name follows its content, unless a merge gave it one.
fn redacted(mut entry: Entry) -> (Entry, u64) {
    let (text, counts) = redact(&entry.text);
    if counts.total() > 0 {
        let was_derived = entry.id == EntryId::derive(entry.project.as_deref(), &entry.text);
        entry.content_hash = lifecycle_phases::ContentHash::of(&text);
        entry.text = text;
        if was_derived {
            entry.id = EntryId::derive(entry.project.as_deref(), &entry.text);
        }
    }
    (entry, counts.total())
}

fn admit(
    tx: &Transaction<'_>,
    portion: &[(Entry, String)],
    now: i64,
    tick: &mut Option<i64>,
    n: &mut usize,
    done: &mut Imported,
) -> Result<()> {
    for (entry, reason) in portion {
        if store::entry_by_id(tx, &entry.id)?.is_some() {
            done.known += 1;
            continue;
        }
        let id = match *tick {
            Some(id) => id,
            None => {
                *tick.insert(store::begin_tick(tx, now, "import", &[Phase::Buffer], None, None)?)
            }
        };
        *n += 1;
        let step = Step::Admit { entry: Box::new(entry.clone()) };
        let mut planned = PlannedStep::new(Phase::Buffer, step, reason.clone());
        planned.n = *n;
        store::apply(tx, &planned.step, now, reason)?;
        store::record_step(tx, id, &planned, "done", "")?;
        done.entries += 1;
    }
    Ok(())
}

fn relate(tx: &Transaction<'_>, proven: &EntryId, source: &EntryId) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO provenance (proven, source, from_state, active)
         SELECT p.seq, s.seq, 'buffered', 1 FROM entry p, entry s WHERE p.id = ?1 AND s.id = ?2",
    )?
    .execute(params![proven.as_str(), source.as_str()])?;
    Ok(())
}
