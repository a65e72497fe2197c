//! Which descriptor serves, and the way from one to the next.
//!
//! Vectors of two descriptors are never compared. When the settings name another model than the
//! one the entries are embedded with, the old one goes on serving (new entries, links, searches)
//! while each tick embeds some entries under the new one; it takes over once no active entry lacks
//! its vector. Nothing records this: it follows from which vectors there are, so a killed tick, a
//! change of mind or a lost setting need no repair. Where the old model cannot be opened any more,
//! the new one serves at once with what it has.

use super::{Context, Doors, Guarded, Level};
use crate::config::Settings;
use crate::embed::{self, CHUNK, Descriptor, EmbedError, Embedder, Measured, Role, text_hash};
use crate::error::Result;
use crate::paths::Paths;
use crate::progress::Progress;
use crate::store;
use lifecycle_phases::Phase;
use rusqlite::{Connection, Transaction};
use std::sync::Arc;

/// Only texts that are all but equal have a higher cosine.
const HIGHEST: f32 = 0.995;

/// The embedder that serves the store, behind its door.
pub fn open(
    connection: &Connection,
    settings: &Settings,
    paths: &Paths,
) -> Result<Arc<dyn Embedder>> {
    open_with(connection, settings, paths, Doors::new(&settings.redact))
}

/// As [`open`], with the account of a run.
pub fn open_with(
    connection: &Connection,
    settings: &Settings,
    paths: &Paths,
    doors: Doors,
) -> Result<Arc<dyn Embedder>> {
    let wanted = embed::open(settings, paths)?;
    let ahead = store::ahead_of(connection, &wanted.descriptor().id())?;
    let old = ahead.and_then(|id| embed::open_installed(&id, settings, paths).ok().flatten());
    let serving = old.unwrap_or(wanted);
    let id = serving.descriptor().id();
    if let Some(dimensions) = store::dimensions(connection, &id)? {
        serving.expect_dimensions(dimensions);
    }
    Ok(Arc::new(Guarded::new(serving, doors)))
}

/// Embeds some entries under the descriptor of the settings, where another one serves yet. Bounded
/// by `embed.refill_entries`; what was done is kept if the tick is killed.
///
/// Also says, in every report, when the link line is one that no two entries can reach.
pub fn refill(ctx: &mut Context<'_>) -> Result<()> {
    let embedder = ctx.embedder()?;
    let serving = embedder.descriptor().id();
    if let Some(warning) = dead_line(ctx, embedder.descriptor(), &serving)? {
        ctx.note(Level::Waiting, Phase::Connect, warning);
    }
    let wanted = Guarded::new(embed::open(ctx.settings, ctx.paths)?, ctx.doors.clone());
    let id = wanted.descriptor().id();
    if serving == id {
        return Ok(());
    }
    let limit = ctx.settings.embed.refill_entries;
    let entries = store::some_lacking(ctx.store.reader(), &serving, &id, limit)?;
    let progress = Progress::of("embedding anew", entries.len());
    for chunk in entries.chunks(CHUNK) {
        progress.add(chunk.len());
        if let Some(problem) = refill_chunk(ctx, &wanted, &id, chunk)? {
            ctx.note(Level::Waiting, Phase::Connect, format!("{id} cannot be filled: {problem}"));
            break;
        }
    }
    let left = store::lacking(ctx.store.reader(), &serving, &id)?;
    let text = match left {
        0 => format!("every entry is embedded with {id}; it serves from the next run on"),
        _ => {
            format!("{left} entries are yet to be embedded with {id}; {serving} serves until then")
        }
    };
    ctx.note(Level::Info, Phase::Connect, text);
    Ok(())
}

/// A link line that can never fire: nearly 1, or above the highest cosine that calibration saw.
fn dead_line(ctx: &Context<'_>, descriptor: &Descriptor, id: &str) -> Result<Option<String>> {
    let similarity = ctx.settings.connect.link_similarity;
    let line = descriptor.cosine(similarity);
    let highest = Measured::load(ctx.paths, id)?.map_or(HIGHEST, |measured| measured.highest);
    Ok((line > highest).then(|| {
        format!(
            "connect.link_similarity = {similarity} is cosine {line:.3} under {id}, but two \
             different entries reach {highest:.3} at most: nothing new will ever be linked; lower \
             it, or run `lifecycle model calibrate`"
        )
    }))
}

/// Returns the problem that stops all further work, if there is one.
fn refill_chunk(
    ctx: &mut Context<'_>,
    wanted: &dyn Embedder,
    id: &str,
    chunk: &[store::Unembedded],
) -> Result<Option<EmbedError>> {
    let texts: Vec<String> = chunk.iter().map(|entry| entry.text.clone()).collect();
    let results = wanted.embed(&texts, Role::Document);
    let max_attempts = ctx.settings.embed.max_attempts;
    ctx.store.write(|tx| {
        for (entry, result) in chunk.iter().zip(&results) {
            keep(tx, wanted, id, entry, result, max_attempts)?;
        }
        Ok(())
    })?;
    let transient = |result: embed::Embedding| result.err().filter(EmbedError::is_transient);
    Ok(results.into_iter().find_map(transient))
}

fn keep(
    tx: &Transaction<'_>,
    wanted: &dyn Embedder,
    id: &str,
    entry: &store::Unembedded,
    result: &embed::Embedding,
    max_attempts: u32,
) -> Result<()> {
    match result {
        Ok(vector) => {
            let hash = text_hash(&entry.text, wanted.descriptor());
            store::put_vector(tx, entry.seq, id, &hash, vector)
        }
        Err(error) if error.is_transient() => Ok(()),
        Err(error) => store::count_failure(tx, entry.seq, id, &error.to_string(), max_attempts),
    }
}
