//! The ranking without a store, for `lifecycle eval routes`.

use super::gather;
use crate::embed::{CHUNK, Embedder, Role};
use crate::error::Result;
use crate::targets::Format;
use lifecycle_phases::route::scope::named_files;
use lifecycle_phases::route::{Baseline, Block, Candidate, Place, Query, Ranker, Ranking, blocks};
use std::collections::HashMap;

/// The ranking of one text, and those of the baselines as lists of paths.
pub struct Ranked {
    /// Ours.
    pub ranking: Ranking,
    /// Those to compare with.
    pub baselines: Vec<Baseline>,
}

/// Ranks each text among `files` (path, content) of one repository; also returns the candidates.
///
/// # Errors
/// A failure of the embedder that is not the text's fault.
pub fn rank(
    embedder: &dyn Embedder,
    files: &[(String, String)],
    texts: &[String],
) -> Result<(Vec<Candidate>, Vec<Ranked>)> {
    let mut candidates: Vec<Candidate> =
        files.iter().map(|(path, text)| take_apart(path, text)).collect();
    let wanted: Vec<String> = candidates.iter().flat_map(gather::texts).collect();
    let vectors = embed_all(embedder, &wanted)?;
    for candidate in &mut candidates {
        let all = gather::texts(candidate);
        for (block, text) in candidate.blocks.iter_mut().zip(all) {
            block.vector = vectors.get(&text).cloned().unwrap_or_default();
        }
    }
    let queries = embed_all(embedder, texts)?;
    let ranker = Ranker::new(&candidates);
    let ranked = texts.iter().map(|text| {
        let vector = queries.get(text).cloned().unwrap_or_default();
        let query = Query { text: text.clone(), files: named_files(text), vector };
        let baselines = ranker.baselines(&query).into_iter().collect();
        Ranked { ranking: ranker.rank(&query), baselines }
    });
    let ranked = ranked.collect();
    Ok((candidates, ranked))
}

/// A file that could not be edited still counts here: only its text is compared.
fn take_apart(path: &str, text: &str) -> Candidate {
    let parsed = gather::candidate(path, Format::Markdown, text.as_bytes(), &[], false);
    parsed.map_or_else(
        |_| Candidate {
            relative: path.to_string(),
            places: vec![Place::default()],
            blocks: blocks(text)
                .into_iter()
                .map(|(_, text)| Block { text, ..Block::default() })
                .collect(),
            ..Candidate::default()
        },
        |(candidate, _)| candidate,
    )
}

fn embed_all(embedder: &dyn Embedder, texts: &[String]) -> Result<HashMap<String, Vec<f32>>> {
    let mut distinct: Vec<String> = texts.to_vec();
    distinct.sort();
    distinct.dedup();
    let mut vectors = HashMap::new();
    for chunk in distinct.chunks(CHUNK) {
        for (text, result) in chunk.iter().zip(embedder.embed(chunk, Role::Document)) {
            match result {
                Ok(vector) => drop(vectors.insert(text.clone(), vector)),
                Err(error) if error.is_transient() => return Err(error.into()),
                Err(_) => {}
            }
        }
    }
    Ok(vectors)
}
