//! Which descriptor serves, and the way from one to the next.
//!
//! Vectors of two descriptors are never compared. When the settings name another model than the
//! one the entries are embedded with, the old one goes on serving (new entries, links, searches)
//! while each tick embeds some entries under the new one; it takes over once no active entry lacks
//! its vector. Nothing records this: it follows from which vectors there are, so a killed tick, a
//! change of mind or a lost setting need no repair. Where the old model cannot be opened any more,
//! the new one serves at once with what it has.

use super::{Context, Doors, Guarded, Level, connect};
use crate::config::Settings;
use crate::embed::{self, CHUNK, EmbedError, Embedder, Measured, Role};
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
pub fn refill(ctx: &mut Context<'_>) -> Result<()> {
    let embedder = ctx.embedder()?;
    let serving = embedder.descriptor().id();
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

/// Warns, in the report of every run whatever its phases, of a line that can never fire: one that not
/// even the two most alike entries reach, be they of many words in common. What those are calibration
/// has measured; without it only texts that are all but equal are taken for the limit.
pub fn warn_of_dead_lines(ctx: &mut Context<'_>) {
    // A model that cannot be opened has been said by the phase that wanted it.
    let Ok(embedder) = ctx.embedder() else { return };
    let descriptor = embedder.descriptor();
    let measured = Measured::load(ctx.paths, &descriptor.id()).ok().flatten();
    let highest = measured.map_or(HIGHEST, |measured| measured.highest);
    let reach = connect::scale(descriptor).reach(highest);
    let lines = [
        ("connect.link_similarity", ctx.settings.connect.link_similarity, "linked"),
        ("consolidate.cluster_similarity", ctx.settings.consolidate.cluster_similarity, "merged"),
    ];
    for (key, line, what) in lines.into_iter().filter(|(_, line, _)| *line > reach) {
        let text = format!(
            "{key} = {line} can never be reached under {}: the two most alike entries have cosine \
             {highest:.3}, similarity {reach:.2} at most, so nothing new will be {what}; lower it, \
             or run `lifecycle model calibrate`",
            descriptor.id()
        );
        ctx.note(Level::Waiting, Phase::Connect, text);
    }
}

/// Returns the problem that stops all further work, if there is one. A text that has a vector under
/// the new model already, of whatever entry, is not embedded again.
fn refill_chunk(
    ctx: &mut Context<'_>,
    wanted: &dyn Embedder,
    id: &str,
    chunk: &[store::Unembedded],
) -> Result<Option<EmbedError>> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for entry in chunk {
        match store::vectors::vector_of_text(ctx.store.reader(), id, &entry.content_hash)? {
            Some(vector) => known.push((entry, Ok(vector))),
            None => unknown.push(entry),
        }
    }
    let texts: Vec<String> = unknown.iter().map(|entry| entry.text.clone()).collect();
    let results = embed::embed_distinct(wanted, &texts, Role::Document);
    let max_attempts = ctx.settings.embed.max_attempts;
    ctx.store.write(|tx| {
        for (entry, result) in known.into_iter().chain(unknown.into_iter().zip(results.clone())) {
            keep(tx, id, entry, &result, max_attempts)?;
        }
        Ok(())
    })?;
    let transient = |result: embed::Embedding| result.err().filter(EmbedError::is_transient);
    Ok(results.into_iter().find_map(transient))
}

fn keep(
    tx: &Transaction<'_>,
    id: &str,
    entry: &store::Unembedded,
    result: &embed::Embedding,
    max_attempts: u32,
) -> Result<()> {
    match result {
        Ok(vector) => store::put_vector(tx, entry.seq, id, &entry.content_hash, vector),
        Err(error) if error.is_transient() => Ok(()),
        Err(error) => store::count_failure(tx, entry.seq, id, &error.to_string(), max_attempts),
    }
}
