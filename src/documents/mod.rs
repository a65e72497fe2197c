//! Documents: longer texts that a person hands over, searched beside entries, never aged.
//!
//! A document comes as text, from a file ([`confine`] says which files may be read) or from a URL
//! ([`fetch`] says which may be asked, [`readable`] makes Markdown of a page). It is cut into pieces
//! ([`mod@chunk`]), stored in one transaction, and its pieces are embedded afterwards, so that no
//! transaction waits for a model; until then they are found by words. Secrets are taken out before
//! anything is stored.

pub mod chunk;
pub mod confine;
pub mod fetch;
pub mod readable;

use crate::config::DocumentSettings;
use crate::embed::{CHUNK, Embedder, Role, embed_distinct};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::redact::redact;
use crate::store::{self, Document, NewChunk, Store, Stored};
use chunk::{Piece, chunk};
use lifecycle_phases::text::printable;
use std::path::Path;

/// A document on its way in.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// URL, resolved path, or a name.
    pub source: String,
    /// `text`, `url` or `file`.
    pub origin: &'static str,
    /// Markdown or plain text.
    pub text: String,
    /// Title; empty: the first heading, else the source.
    pub title: String,
    /// Project it belongs to.
    pub project: Option<String>,
    /// Words to filter by.
    pub tags: Vec<String>,
}

/// What was done with a document.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Added {
    /// Id of the document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What became of it.
    #[serde(flatten)]
    pub stored: Stored,
    /// Pieces it was cut into.
    pub chunks: usize,
    /// Secrets that were taken out.
    pub redacted: u64,
}

/// The draft of a text under a name. Without a name, the text's own hash is the source, so that the
/// same text is the same document.
pub fn from_text(text: &str, name: Option<&str>) -> Draft {
    let hash = lifecycle_phases::ContentHash::of(text).0;
    let source = name.map_or_else(|| format!("text:{}", &hash[..16]), str::to_string);
    Draft { source, origin: "text", text: text.to_string(), ..Draft::default() }
}

/// The draft of a file; refused with the rule that forbids it.
pub fn from_file(path: &Path, home: &Path, settings: &DocumentSettings) -> Result<Draft> {
    let (resolved, text) = confine::read(path, home, settings)?;
    let source = resolved.to_string_lossy().into_owned();
    Ok(Draft { source, origin: "file", text, ..Draft::default() })
}

/// The draft of a page; refused with the rule that forbids it.
pub fn from_url(url: &str, settings: &DocumentSettings) -> Result<Draft> {
    let page = fetch::fetch(url, settings)?;
    let (title, text) = readable::markdown(&page)?;
    Ok(Draft { source: page.url, origin: "url", text, title, ..Draft::default() })
}

/// Stores the document of a draft.
pub fn add(store: &mut Store, draft: Draft, now: i64) -> Result<Added> {
    let (text, counts) = redact(printable(&draft.text).trim());
    // Whatever names a document is stored and shown like its text.
    let draft = Draft {
        title: redact(&draft.title).0,
        source: redact(&draft.source).0,
        tags: draft.tags.iter().map(|tag| redact(tag).0).collect(),
        ..draft
    };
    if text.is_empty() {
        return Err(Error::input(format!("{}: there is no text in it", draft.source)));
    }
    let document = Document {
        id: Document::id_of(draft.project.as_deref(), &draft.source),
        title: title(&draft, &text),
        source: draft.source,
        origin: draft.origin.to_string(),
        project: draft.project,
        tags: draft.tags,
        created: now,
        updated: now,
        text,
    };
    let pieces: Vec<NewChunk> =
        chunk(&document.text).into_iter().map(|piece| (piece.heading, piece.text)).collect();
    let stored = store.write(|tx| store::put_document(tx, &document, &pieces))?;
    let id = match &stored {
        Stored::Known { document } => document.clone(),
        _ => document.id,
    };
    Ok(Added { id, title: document.title, stored, chunks: pieces.len(), redacted: counts.total() })
}

fn title(draft: &Draft, text: &str) -> String {
    if !draft.title.trim().is_empty() {
        return draft.title.trim().to_string();
    }
    let first = text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let last = || draft.source.rsplit('/').find(|part| !part.is_empty()).map(str::to_string);
    first.map(str::to_string).or_else(last).unwrap_or_else(|| draft.source.clone())
}

/// Embeds the pieces that have no vector yet, in portions that are kept as they are made. Returns
/// how many were embedded.
pub fn embed_missing(store: &mut Store, embedder: &dyn Embedder) -> Result<usize> {
    let descriptor = embedder.descriptor().id();
    let mut done = 0;
    let total = store::count_chunks_lacking(store.reader(), &descriptor)?;
    let progress = Progress::of("embedding documents", total);
    loop {
        let lacking = store::chunks_lacking(store.reader(), &descriptor, CHUNK)?;
        // An empty call would load the model for nothing.
        let kept = if lacking.is_empty() { 0 } else { embed_chunks(store, embedder, &lacking)? };
        done += kept;
        progress.add(lacking.len());
        // Pieces that the model refuses stay findable by words; asking again would not help.
        if kept == 0 {
            return Ok(done);
        }
    }
}

/// Embeds these pieces (key, headings, text) and returns how many got a vector. What the model made
/// before it failed is kept.
pub fn embed_chunks(
    store: &mut Store,
    embedder: &dyn Embedder,
    chunks: &[(i64, String, String)],
) -> Result<usize> {
    let descriptor = embedder.descriptor().id();
    let texts: Vec<String> =
        chunks.iter().map(|(_, heading, text)| Piece::embedded_text(heading, text)).collect();
    let vectors = embed_distinct(embedder, &texts, Role::Document);
    let mut kept = 0;
    let mut problem = None;
    store.write(|tx| {
        for ((seq, ..), vector) in chunks.iter().zip(vectors) {
            match vector {
                Ok(vector) => {
                    store::put_chunk_vector(tx, *seq, &descriptor, &vector)?;
                    kept += 1;
                }
                Err(error) => problem = Some(error),
            }
        }
        Ok(())
    })?;
    match problem {
        Some(error) if error.is_transient() => Err(error.into()),
        _ => Ok(kept),
    }
}
