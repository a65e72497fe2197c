//! Target files read, taken apart and embedded.

use super::super::{Context, Level, files};
use crate::embed::{CHUNK, Embedder, Role, text_hash};
use crate::error::Result;
use crate::store::routes;
use crate::targets::{self, Denied, Format, Found, Scope, door, front_matter};
use lifecycle_phases::route::{Block, Candidate, Place, blocks};
use lifecycle_phases::{Phase, Requirement};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Characters of a block that are embedded, its headings included.
const EMBED_CHARS: usize = 700;

/// A target that can take lines.
pub struct Loaded {
    /// The target.
    pub found: Found,
    /// The file itself.
    pub path: PathBuf,
    /// Its bytes; `None` for a file that would be made.
    pub bytes: Option<Vec<u8>>,
    /// 1-based line of each block of the candidate.
    pub lines: Vec<usize>,
}

impl Loaded {
    /// That the file is still as it was read.
    pub fn unchanged(&self) -> Requirement {
        Requirement::File {
            path: self.path.to_string_lossy().into_owned(),
            hash: self.bytes.as_deref().map(door::hash),
        }
    }
}

/// Reads `found` and takes it apart. What has to be left alone is noted.
pub fn load(ctx: &mut Context<'_>, found: Vec<Found>) -> Vec<(Loaded, Candidate)> {
    let mut loaded = Vec::new();
    for target in found {
        if target.resolved == Err(Denied::Hidden) {
            let text = format!("{} {}; it gets no line", target.path.display(), Denied::Hidden);
            ctx.note(Level::Info, Phase::Route, text);
            continue;
        }
        match read(ctx, &target) {
            Ok(one) => loaded.push(one),
            Err(why) => {
                let text = format!("{} is left alone: {why}", target.path.display());
                ctx.note(Level::Failed, Phase::Route, text);
            }
        }
    }
    loaded
}

fn read(ctx: &Context<'_>, target: &Found) -> Result<(Loaded, Candidate), String> {
    let path = target.resolved.clone().map_err(|denied| denied.to_string())?;
    let bytes = files::current(ctx, &path).map_err(|error| error.to_string())?;
    door::writable(&path).map_err(|error| error.to_string())?;
    let content = bytes.as_deref().unwrap_or_default();
    let spec = &target.spec;
    let (candidate, lines) =
        candidate(&target.relative, target.format, content, &spec.key, spec.general)
            .map_err(|error| error.to_string())?;
    Ok((Loaded { found: target.clone(), path, bytes, lines }, candidate))
}

/// A file taken apart for the ranking, and the line each of its blocks starts on.
pub fn candidate(
    relative: &str,
    format: Format,
    content: &[u8],
    key: &[String],
    general: bool,
) -> Result<(Candidate, Vec<usize>), targets::TargetError> {
    let sections = targets::survey(format, content, key)?;
    let globs = match (format, std::str::from_utf8(content)) {
        (Format::Markdown, Ok(text)) => front_matter(text)?.globs,
        _ => Vec::new(),
    };
    let mut candidate =
        Candidate { relative: relative.to_string(), globs, general, ..Candidate::default() };
    let mut lines = Vec::new();
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    for section in sections {
        // Several sections of one name are one place: a line goes to the first of them.
        let place = *places.entry(section.path.clone()).or_insert_with(|| {
            candidate.places.push(Place { path: section.path });
            candidate.places.len() - 1
        });
        for (offset, text) in blocks(&section.body) {
            candidate.blocks.push(Block { place, text, ..Block::default() });
            lines.push(section.first_line + offset);
        }
        for item in section.items {
            let ours = format == Format::Markdown;
            candidate.blocks.push(Block { place, text: item.text, ours, ..Block::default() });
            lines.push(item.line);
        }
    }
    Ok((candidate, lines))
}

/// Fills in the vectors of every block, from the cache where it has them.
pub fn embed(ctx: &mut Context<'_>, candidates: &mut [Candidate]) -> Result<()> {
    let embedder = ctx.embedder()?;
    let descriptor = embedder.descriptor().id();
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    let mut known: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    for text in candidates.iter().flat_map(texts) {
        let hash = text_hash(&text, embedder.descriptor());
        if known.contains_key(&hash) || missing.contains_key(&hash) {
            continue;
        }
        match routes::section_vector(ctx.store.reader(), &descriptor, &hash)? {
            Some(vector) => drop(known.insert(hash, vector)),
            None => drop(missing.insert(hash, text)),
        }
    }
    let used: Vec<String> = known.keys().cloned().collect();
    let now = ctx.now();
    routes::vectors_used(&mut ctx.store, &descriptor, &used, now)?;
    let missing: Vec<(String, String)> = missing.into_iter().collect();
    for chunk in missing.chunks(CHUNK) {
        known.extend(embed_chunk(ctx, &*embedder, &descriptor, chunk)?);
    }
    for candidate in candidates {
        let all = texts(candidate);
        for (block, text) in candidate.blocks.iter_mut().zip(all) {
            let hash = text_hash(&text, embedder.descriptor());
            block.vector = known.get(&hash).cloned().unwrap_or_default();
        }
    }
    Ok(())
}

fn embed_chunk(
    ctx: &mut Context<'_>,
    embedder: &dyn Embedder,
    descriptor: &str,
    chunk: &[(String, String)],
) -> Result<Vec<(String, Vec<f32>)>> {
    let texts: Vec<String> = chunk.iter().map(|(_, text)| text.clone()).collect();
    let mut vectors = Vec::with_capacity(chunk.len());
    for ((hash, _), result) in chunk.iter().zip(embedder.embed(&texts, Role::Document)) {
        match result {
            Ok(vector) => vectors.push((hash.clone(), vector)),
            Err(error) if error.is_transient() => return Err(error.into()),
            // A block that cannot be embedded still counts by its words.
            Err(_) => {}
        }
    }
    let now = ctx.now();
    ctx.store.write(|tx| routes::put_section_vectors(tx, descriptor, &vectors, now))?;
    Ok(vectors)
}

/// A block as it is embedded: its own heading before it.
pub fn texts(candidate: &Candidate) -> Vec<String> {
    let one = |block: &Block| {
        let heading = candidate.places.get(block.place).and_then(|place| place.path.last());
        let text = match heading {
            Some(heading) => format!("{heading}: {}", block.text),
            None => block.text.clone(),
        };
        text.chars().take(EMBED_CHARS).collect()
    };
    candidate.blocks.iter().map(one).collect()
}

/// Whether the user's own files are meant.
pub fn is_user(found: &Found) -> bool {
    found.scope == Scope::User
}
