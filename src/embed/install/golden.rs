//! Golden pairs: texts whose cosine under the reference is known, embedded after an install, so
//! that a broken quantisation or a wrong pooling is noticed before anything is stored.

use crate::config::EmbedSettings;
use crate::embed::onnx::OnnxEmbedder;
use crate::embed::{Descriptor, Embedder, Golden, Role, cosine, embed_one};
use crate::error::{Error, ExitCode, Result};
use std::path::Path;

/// Makes an installed model ready: loads it, compares its golden pairs, keeps the unfolded graph where
/// the descriptor asks for it, and compares once more with that. Returns how many pairs there are.
pub fn make_ready(
    descriptor: &Descriptor,
    settings: &EmbedSettings,
    models: &Path,
) -> Result<usize> {
    let embedder = || OnnxEmbedder::new(descriptor.clone(), settings, models);
    let installed = embedder();
    installed.load()?;
    let pairs = check_golden(&installed)?;
    // Where it cannot be kept (a folder that is not ours) or is unsound, the original serves.
    if installed.prepare().unwrap_or(false) && check_golden(&embedder()).is_err() {
        installed.unprepare()?;
    }
    Ok(pairs)
}

/// Embeds the descriptor's golden pairs. Returns how many there are; the error names the first
/// that is too far from its reference.
pub fn check_golden(embedder: &dyn Embedder) -> Result<usize> {
    let pairs = &embedder.descriptor().golden;
    for pair in pairs {
        let found = measure(embedder, pair)?;
        if (found - pair.cosine).abs() > pair.tolerance {
            return Err(too_far(embedder, pair, found));
        }
    }
    Ok(pairs.len())
}

fn measure(embedder: &dyn Embedder, pair: &Golden) -> Result<f32> {
    let role = if pair.query { Role::Query } else { Role::Document };
    let a = embed_one(embedder, &pair.a, role)?;
    let b = embed_one(embedder, &pair.b, Role::Document)?;
    Ok(cosine(&a, &b))
}

fn too_far(embedder: &dyn Embedder, pair: &Golden, found: f32) -> Error {
    let name = &embedder.descriptor().name;
    let start: String = pair.a.chars().take(40).collect();
    let message = format!(
        "{name}: the pair `{start}` has cosine {found:.4}, the reference says {:.4} ± {}",
        pair.cosine, pair.tolerance
    );
    Error::new(ExitCode::Refused, message)
        .hint("these files are not the model they claim to be; do not use them")
}
