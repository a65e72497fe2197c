//! Vectors for a chunk of entries: known ones first, the rest by the embedder.
//!
//! A failure that is the text's own counts against its entry and is tried a bounded number of
//! times; a failure of the surroundings (server down, library missing) counts against none, is
//! noted once and ends the embedding of this tick.

use super::super::{Context, Level};
use crate::embed::{EmbedError, Role, embed_distinct};
use crate::error::Result;
use crate::store::{self, StoredEntry, vectors as stored};
use lifecycle_phases::Phase;

/// An entry with its vector.
pub struct Embedded {
    /// The entry.
    pub stored: StoredEntry,
    /// Unit length.
    pub vector: Vec<f32>,
    /// The vector was stored already, of this entry or of another one with the same text.
    pub known: bool,
    /// It was stored for this entry.
    pub own: bool,
}

/// What came of a chunk.
pub struct Chunk {
    /// Entries with their vectors, in order of arrival.
    pub entries: Vec<Embedded>,
    /// The embedder cannot be used for now.
    pub stopped: bool,
}

/// Gets vectors for `chunk`.
pub fn embed(ctx: &mut Context<'_>, descriptor: &str, chunk: Vec<StoredEntry>) -> Result<Chunk> {
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    for entry in chunk {
        match stored::known_vector(ctx.store.reader(), descriptor, &entry)? {
            Some((vector, own)) => {
                entries.push(Embedded { stored: entry, vector, known: true, own });
            }
            None => unknown.push(entry),
        }
    }
    let stopped = embed_unknown(ctx, descriptor, unknown, &mut entries)?;
    entries.sort_by_key(|entry| entry.stored.seq);
    Ok(Chunk { entries, stopped })
}

/// Returns whether the embedder cannot be used for now.
fn embed_unknown(
    ctx: &mut Context<'_>,
    descriptor: &str,
    unknown: Vec<StoredEntry>,
    entries: &mut Vec<Embedded>,
) -> Result<bool> {
    if unknown.is_empty() {
        return Ok(false);
    }
    let embedder = ctx.embedder()?;
    let texts: Vec<String> = unknown.iter().map(|entry| entry.entry.text.clone()).collect();
    let results = embed_distinct(&*embedder, &texts, Role::Document);
    for note in embedder.notes() {
        ctx.note(Level::Info, Phase::Connect, note);
    }
    let mut outage = None;
    for (stored, result) in unknown.into_iter().zip(results) {
        match result {
            Ok(vector) => entries.push(Embedded { stored, vector, known: false, own: false }),
            Err(error) if error.is_transient() => outage = outage.or(Some(error)),
            Err(error) => count(ctx, descriptor, &stored, &error)?,
        }
    }
    let stopped = outage.is_some();
    if let Some(error) = outage {
        ctx.fail(Phase::Connect, error.into())?;
    }
    Ok(stopped)
}

fn count(
    ctx: &mut Context<'_>,
    descriptor: &str,
    entry: &StoredEntry,
    error: &EmbedError,
) -> Result<()> {
    let (seq, reason, most) = (entry.seq, error.to_string(), ctx.settings.embed.max_attempts);
    ctx.store.write(|tx| store::count_failure(tx, seq, descriptor, &reason, most))?;
    let id = lifecycle_phases::EntryId::as_str(&entry.entry.id);
    let text = format!("{} could not be embedded: {reason}", id.get(..8).unwrap_or(id));
    ctx.note(Level::Failed, Phase::Connect, text);
    Ok(())
}
