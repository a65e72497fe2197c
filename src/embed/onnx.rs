//! Embedding in process, by ONNX Runtime.
//!
//! Texts are tokenised, cut into windows where they do not fit, sorted by length and run in
//! batches bounded by tokens. Dynamic INT8 takes one scale over a whole batch, so that a text's
//! vector would depend on its neighbours; descriptors of such files embed one text a run.

use super::graph::Graph;
use super::tokens::{Tokens, Window};
use super::vector::{unit, weighted_mean};
use super::{
    CHUNK, Descriptor, EmbedError, Embedder, Embedding, Padding, Role, batch, descriptor, prepare,
    runtime,
};
use crate::config::EmbedSettings;
use crate::error::{Error, ExitCode, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A model in this process; files are read by the first use.
pub struct OnnxEmbedder {
    descriptor: Descriptor,
    settings: EmbedSettings,
    models: PathBuf,
    loaded: Mutex<Option<Model>>,
}

struct Model {
    tokens: Tokens,
    graph: Graph,
}

/// A window of a text.
struct Piece {
    text: usize,
    window: Window,
}

impl OnnxEmbedder {
    /// An embedder for the model in the folder `models`; nothing is loaded or checked yet.
    pub fn new(descriptor: Descriptor, settings: &EmbedSettings, models: &Path) -> Self {
        Self {
            descriptor,
            settings: settings.clone(),
            models: models.into(),
            loaded: Mutex::new(None),
        }
    }

    /// Loads library, tokenizer and weights now, so that a failure shows before any text.
    pub fn load(&self) -> Result<()> {
        self.with_model(|_| ())
    }

    /// Keeps the unfolded graph beside the original, for a model that asks for it. The next embedder
    /// of the model loads that one. Returns whether anything was done.
    pub fn prepare(&self) -> Result<bool> {
        let environment = runtime::environment(&self.settings, &self.models)?;
        prepare::make(&environment, &self.descriptor, &self.settings, &self.models)
    }

    /// Has the next embedder load the original again.
    pub fn unprepare(&self) -> Result<()> {
        prepare::remove(&self.descriptor, &self.models)
    }

    fn with_model<T>(&self, work: impl FnOnce(&mut Model) -> T) -> Result<T> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut model = match loaded.take() {
            Some(model) => model,
            None => load(&self.descriptor, &self.settings, &self.models)?,
        };
        let result = work(&mut model);
        *loaded = Some(model);
        Ok(result)
    }

    fn embed_chunk(&self, model: &mut Model, texts: &[String], role: Role) -> Vec<Embedding> {
        let prefix = self.descriptor.prefix(role);
        let mut pieces = Vec::new();
        let mut results: Vec<Option<EmbedError>> = Vec::new();
        for (text, content) in texts.iter().enumerate() {
            let windows = tokenise(&model.tokens, prefix, content);
            results.push(windows.as_ref().err().cloned());
            pieces.extend(windows.into_iter().flatten().map(|window| Piece { text, window }));
        }
        let vectors = self.run(model, &pieces);
        self.gather(results, &pieces, vectors)
    }

    /// One vector or error a piece.
    fn run(&self, model: &mut Model, pieces: &[Piece]) -> Vec<Embedding> {
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.window.len()).collect();
        let texts = match self.descriptor.padding {
            Padding::None => 1,
            Padding::Right => self.descriptor.texts_a_run(),
        };
        let (order, ranges) = batch::plan(&lengths, self.settings.batch_tokens, texts);
        let mut results = vec![Err(EmbedError::missing()); pieces.len()];
        for range in ranges {
            let windows: Vec<&Window> =
                order[range.clone()].iter().map(|&at| &pieces[at].window).collect();
            for (&at, result) in order[range].iter().zip(self.run_batch(model, &windows)) {
                results[at] = result;
            }
        }
        results
    }

    /// A failing batch is run again one by one, so that one text's failure is its own.
    fn run_batch(&self, model: &mut Model, windows: &[&Window]) -> Vec<Embedding> {
        match model.graph.run(windows, model.tokens.pad_id) {
            Ok(vectors) => vectors.into_iter().map(|vector| self.finish(vector)).collect(),
            Err(problem) if windows.len() == 1 => vec![Err(EmbedError::Refused(problem))],
            Err(_) => windows.iter().flat_map(|window| self.run_batch(model, &[*window])).collect(),
        }
    }

    fn finish(&self, mut vector: Vec<f32>) -> Embedding {
        if self.descriptor.matryoshka {
            vector.truncate(self.descriptor.dimensions);
        }
        unit(vector, self.descriptor.dimensions).map_err(EmbedError::Vector)
    }

    fn gather(
        &self,
        failures: Vec<Option<EmbedError>>,
        pieces: &[Piece],
        vectors: Vec<Embedding>,
    ) -> Vec<Embedding> {
        let mut pairs = pieces.iter().zip(vectors).peekable();
        let mut results = Vec::with_capacity(failures.len());
        for (text, failure) in failures.into_iter().enumerate() {
            let mut parts = Vec::new();
            let mut problem = failure;
            while let Some((piece, vector)) = pairs.next_if(|(piece, _)| piece.text == text) {
                match vector {
                    Ok(vector) => parts.push((piece.window.len() as f32, vector)),
                    Err(error) => problem = Some(error),
                }
            }
            results.push(problem.map_or_else(|| self.join(parts), Err));
        }
        results
    }

    fn join(&self, mut parts: Vec<(f32, Vec<f32>)>) -> Embedding {
        match parts.len() {
            1 => parts.pop().map(|(_, vector)| vector).ok_or_else(EmbedError::missing),
            _ => weighted_mean(&parts, self.descriptor.dimensions).map_err(EmbedError::Vector),
        }
    }
}

impl Embedder for OnnxEmbedder {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn count_tokens(&self, texts: &[String], role: Role) -> Vec<usize> {
        let prefix = self.descriptor.prefix(role);
        let count = |model: &mut Model, text: &String| {
            let windows = tokenise(&model.tokens, prefix, text).unwrap_or_default();
            windows.iter().map(Vec::len).sum()
        };
        let counted =
            self.with_model(|model| texts.iter().map(|text| count(model, text)).collect());
        counted.unwrap_or_default()
    }

    fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding> {
        let all = self.with_model(|model| {
            let chunks = texts.chunks(CHUNK);
            chunks.flat_map(|chunk| self.embed_chunk(model, chunk, role)).collect()
        });
        all.unwrap_or_else(|error| {
            let error = EmbedError::from(error);
            texts.iter().map(|_| Err(error.clone())).collect()
        })
    }
}

fn tokenise(tokens: &Tokens, prefix: &str, text: &str) -> Result<Vec<Window>, EmbedError> {
    if text.trim().is_empty() {
        return Err(EmbedError::Blank);
    }
    tokens.windows(&format!("{prefix}{text}")).map_err(EmbedError::Refused)
}

fn load(descriptor: &Descriptor, settings: &EmbedSettings, models: &Path) -> Result<Model> {
    let environment = runtime::environment(settings, models)?;
    let folder = models.join(&descriptor.name);
    let graph = descriptor.graph().ok_or_else(|| {
        Error::config(format!("{}: a model without files cannot run in process", descriptor.name))
            .hint("set embed.url to the server that has it")
    })?;
    let tokenizer = present(descriptor, &folder, descriptor::TOKENIZER)?;
    let graph_file = present(descriptor, &folder, &graph.name)?;
    let broken = |problem| Error::new(ExitCode::Missing, problem).hint(pull_hint(descriptor));
    let open = |file: &Path| Graph::load(&environment, file, descriptor, threads(settings));
    let prepared = prepare::find(descriptor, settings, models).and_then(|file| open(&file).ok());
    Ok(Model {
        tokens: Tokens::load(&tokenizer, descriptor).map_err(broken)?,
        graph: prepared.map_or_else(|| open(&graph_file), Ok).map_err(broken)?,
    })
}

/// A file of a model, which must be there.
pub(super) fn present(descriptor: &Descriptor, folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path);
    }
    let message =
        format!("the model {} is not installed: {} is missing", descriptor.name, path.display());
    Err(Error::new(ExitCode::Missing, message).hint(pull_hint(descriptor)))
}

fn pull_hint(descriptor: &Descriptor) -> String {
    match descriptor.name.as_str() {
        "all-minilm-l6-v2" => "`lifecycle setup` fetches it".into(),
        name => format!("`lifecycle model pull {name}` fetches it"),
    }
}

/// Threads of an inference: as set, or half the cores so that the machine stays usable.
pub fn threads(settings: &EmbedSettings) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if settings.threads > 0 { settings.threads } else { (cores / 2).max(1) }
}
