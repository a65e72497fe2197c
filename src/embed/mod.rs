//! Embedding: texts become unit vectors, by one trait with two implementations.
//!
//! - [`onnx`]: in process, by ONNX Runtime, the model described by a [`Descriptor`].
//! - [`http`]: any server with `POST /v1/embeddings`.
//!
//! What holds for both: one result a text, in the order of the texts; a vector is finite, of the
//! descriptor's length and of unit length, or it is refused *for that text alone*; a text longer
//! than the model is embedded in windows whose mean is normalised. A failure says whether the text
//! or the surroundings are to blame ([`EmbedError::is_transient`]), since only the first counts
//! against a text.
//!
//! Beside them stands the [`Reranker`], which reads a query and a text together.
//!
//! [`open`] loads nothing: library, tokenizer and weights are read by the first `embed` call.

mod batch;
mod calibration;
mod catalog;
mod descriptor;
mod error;
mod graph;
pub mod http;
pub mod install;
mod measured;
pub mod onnx;
mod open;
mod pool;
mod prepare;
mod rerank;
pub mod runtime;
pub mod serve;
mod tokens;
mod vector;

pub use calibration::Calibration;
pub use catalog::Catalog;
pub use descriptor::{Descriptor, Golden, ModelFile, ModelKind, Origin, Padding, Pooling};
pub use error::EmbedError;
pub use measured::Measured;
pub use open::{open, open_installed};
pub use rerank::{OnnxReranker, Reranker, open_reranker};
pub use vector::{VectorProblem, cosine, unit};

use std::collections::HashMap;

/// What a text is embedded for; some models want another prefix for a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A text that is stored and compared with others.
    Document,
    /// A search.
    Query,
}

/// Result for one text.
pub type Embedding = Result<Vec<f32>, EmbedError>;

/// Turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// The model, its identity and its scale.
    fn descriptor(&self) -> &Descriptor;

    /// One result for each text, in order: a unit vector of the descriptor's dimensions.
    ///
    /// Working memory is bounded by `embed.batch_tokens`, the result grows with `texts`: callers
    /// with many texts pass some [`CHUNK`] of them at a time and store in between.
    fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding>;

    /// Tokens of each text as the model gets it, prefix, special tokens and all windows included;
    /// 0 for one that has none. Empty where the tokenizer is not at hand.
    fn count_tokens(&self, _texts: &[String], _role: Role) -> Vec<usize> {
        Vec::new()
    }

    /// Tells the length of the vectors already stored under this descriptor, so that a server
    /// that changes its model is noticed. Without effect where the descriptor states it.
    fn expect_dimensions(&self, _dimensions: usize) {}

    /// What should be said once about how embedding was done; each note is returned one time.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A good number of texts for one [`Embedder::embed`] call.
pub const CHUNK: usize = 256;

/// As [`Embedder::embed`], but each different text is embedded once.
pub fn embed_distinct(embedder: &dyn Embedder, texts: &[String], role: Role) -> Vec<Embedding> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut distinct: Vec<String> = Vec::new();
    let place_of: Vec<usize> = texts
        .iter()
        .map(|text| {
            *places.entry(text).or_insert_with(|| {
                distinct.push(text.clone());
                distinct.len() - 1
            })
        })
        .collect();
    let results = embedder.embed(&distinct, role);
    let result = |place: usize| results.get(place).cloned();
    place_of
        .into_iter()
        .map(|place| result(place).unwrap_or_else(|| Err(EmbedError::missing())))
        .collect()
}

/// Embeds one text.
pub fn embed_one(embedder: &dyn Embedder, text: &str, role: Role) -> Embedding {
    embedder.embed(&[text.to_string()], role).pop().unwrap_or(Err(EmbedError::missing()))
}

/// Hash of a document as the model gets it: a stored vector with the same hash and descriptor can
/// be used again. Hex, 32 digits.
pub fn text_hash(text: &str, descriptor: &Descriptor) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(descriptor.prefix(Role::Document).as_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize().to_hex()[..32].to_string()
}
