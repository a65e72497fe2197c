//! The embedding server of one user, and its client.
//!
//! `lifecycle serve` loads a model once and answers `POST /v1/embeddings` (OpenAI's shape) and
//! `GET /health` on a loopback address until it was idle for a while. There is never more than one
//! a data folder: an OS lock that dies with its holder. Requests that arrive together are embedded
//! together, searches before documents.
//!
//! The client trusts nobody for listening on a port: the server proves with each `/health` that it
//! can read the token in the user's data folder. A server that is down, old, of another descriptor
//! or answering badly is said once and replaced by embedding in process.

mod client;
mod guard;
mod lock;
mod server;
mod worker;

pub use client::ServedEmbedder;
pub use guard::check_address;
pub use lock::{ServeLock, start_detached, start_for_session};
pub use server::{Serving, serve};

use serde::{Deserialize, Serialize};

/// Version of what client and server say to each other beyond OpenAI's shape.
pub const PROTOCOL: u32 = 1;

/// Texts of one request at most.
const MOST_TEXTS: usize = 2048;

/// Answer of `GET /health`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    /// See [`PROTOCOL`].
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
    /// Identity of the model.
    pub descriptor: String,
    /// Length of its vectors.
    pub dimensions: usize,
    /// Process.
    pub pid: u32,
    /// Keyed hash of the nonce the client sent; shows that the server can read the user's token.
    pub proof: String,
}

/// One text or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Many(Vec<String>),
}

impl Input {
    fn into_texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Body of `POST /v1/embeddings`. `input_type` and `partial` are ours.
#[derive(Clone, Debug, Deserialize)]
struct Request {
    input: Input,
    #[serde(default)]
    model: String,
    #[serde(default)]
    encoding_format: String,
    /// `query` for a search; anything else is a document.
    #[serde(default)]
    input_type: String,
    /// Answer with the vectors there are and an error for each text that has none.
    #[serde(default)]
    partial: bool,
}

fn proof(token: &[u8; 32], nonce: &str) -> String {
    blake3::keyed_hash(token, nonce.as_bytes()).to_hex().to_string()
}
