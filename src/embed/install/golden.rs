//! Golden pairs: texts whose cosine under the reference is known, embedded after an install, so
//! that a broken quantisation or a wrong pooling is noticed before anything is stored.

use crate::embed::{Embedder, Golden, Role, cosine, embed_one};
use crate::error::{Error, ExitCode, Result};

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
