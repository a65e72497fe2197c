//! `lifecycle reindex`: everything that is derived, made anew from what is stored.
//!
//! Nothing is emptied before its successor is there: words and vectors are replaced a portion at a
//! time, a document's pieces in one transaction, and searches go on meanwhile. Killed, it leaves a
//! mixture of old and new that is sound; running it again finishes. The files of the link index are
//! removed, and the next tick makes them from the vectors.

use super::TickLock;
use crate::config::Settings;
use crate::documents::{self, chunk};
use crate::embed::{CHUNK, Embedder, Role};
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::store::{self, Store};
use serde::Serialize;

/// What was made anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reindexed {
    /// Texts whose words were cut anew.
    pub texts: u64,
    /// Documents that are cut into other pieces than before.
    pub recut: usize,
    /// Vectors that were computed.
    pub vectors: usize,
    /// Files of the link index that were removed.
    pub files: usize,
    /// What could not be done, in words.
    pub notes: Vec<String>,
}

/// Makes words, pieces and missing vectors of documents anew; with `vectors` every vector of the
/// serving model too. No tick runs meanwhile.
pub fn reindex(settings: &Settings, paths: &Paths, vectors: bool) -> Result<Reindexed> {
    let _lock = TickLock::take(paths)?;
    let mut store = Store::open(paths, settings)?;
    let mut done = Reindexed { recut: recut(&mut store)?, ..Reindexed::default() };
    done.texts = store::refresh_words(&mut store)?;
    done.files = remove_files(paths)?;
    let embedder = super::serving::open(store.reader(), settings, paths)?;
    let embedded = if vectors {
        embed_again(&mut store, &*embedder)
    } else {
        documents::embed_missing(&mut store, &*embedder)
    };
    match embedded {
        Ok(count) => done.vectors = count,
        // The old vectors, and words, serve on.
        Err(error) => done.notes.push(format!("not embedded: {}", error.message)),
    }
    Ok(done)
}

fn recut(store: &mut Store) -> Result<usize> {
    let mut count = 0;
    for document in store::documents(store.reader(), None)? {
        let pieces: Vec<store::NewChunk> = chunk::chunk(&document.text)
            .into_iter()
            .map(|piece| (piece.heading, piece.text))
            .collect();
        count += usize::from(store.write(|tx| store::recut_document(tx, &document.id, &pieces))?);
    }
    Ok(count)
}

fn remove_files(paths: &Paths) -> Result<usize> {
    let folder = paths.index();
    let Ok(listing) = std::fs::read_dir(&folder) else { return Ok(0) };
    let mut count = 0;
    for file in listing.filter_map(std::result::Result::ok).map(|item| item.path()) {
        if file.is_file() {
            std::fs::remove_file(&file).map_err(|error| Error::io(&file, &error))?;
            count += 1;
        }
    }
    Ok(count)
}

/// Computes every vector of the embedder's descriptor again, each taking the place of the old one.
fn embed_again(store: &mut Store, embedder: &dyn Embedder) -> Result<usize> {
    let descriptor = embedder.descriptor().id();
    let mut count = 0;
    let mut after = 0;
    loop {
        let entries = store::embedded_after(store.reader(), &descriptor, after, CHUNK)?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
        let vectors = embedder.embed(&texts, Role::Document);
        store.write(|tx| {
            for (entry, vector) in entries.iter().zip(vectors) {
                let hash = &entry.content_hash;
                store::put_vector(tx, entry.seq, &descriptor, hash, &vector?)?;
                count += 1;
            }
            Ok(())
        })?;
    }
    after = 0;
    loop {
        let chunks = store::chunks_after(store.reader(), after, CHUNK)?;
        let Some((last, ..)) = chunks.last() else { return Ok(count) };
        after = *last;
        count += documents::embed_chunks(store, embedder, &chunks)?;
    }
}
