//! Cross-encoders: a model that reads a query and a text together and says how well they fit.
//!
//! The descriptor has `kind = "reranker"`; `dimensions` is the number of outputs a pair has. One is
//! a logit; of two, the second class is "fits", and their difference is the logit. Of a text that
//! does not fit into `max_tokens` with the query, the end is left out. Files, sums, installing and
//! the runtime are those of the embedding models.

use super::descriptor::{self, Descriptor, ModelKind};
use super::graph::commit;
use super::onnx::{present, threads};
use super::{Catalog, Padding, batch, runtime};
use crate::config::{EmbedSettings, Settings};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokenizers::{Encoding, Tokenizer, TruncationParams};

/// Says how well texts answer a query.
pub trait Reranker: Send + Sync {
    /// The model.
    fn descriptor(&self) -> &Descriptor;

    /// One finite logit a text, in order.
    fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>>;
}

/// The cross-encoder of the settings, if they name one. Nothing is loaded yet. A name that no
/// descriptor has, or that of an embedding model, is an error; so are missing files.
pub fn open_reranker(settings: &Settings, paths: &Paths) -> Result<Option<Box<dyn Reranker>>> {
    let name = &settings.search.reranker;
    if name.is_empty() {
        return Ok(None);
    }
    let descriptor = Catalog::load(paths)?.get_kind(name, ModelKind::Reranker)?.clone();
    for file in &descriptor.files {
        present(&descriptor, &paths.models().join(&descriptor.name), &file.name)?;
    }
    Ok(Some(Box::new(OnnxReranker::new(descriptor, &settings.embed, &paths.models()))))
}

/// A cross-encoder in this process; files are read by the first use.
pub struct OnnxReranker {
    descriptor: Descriptor,
    settings: EmbedSettings,
    models: PathBuf,
    loaded: Mutex<Option<Model>>,
}

struct Model {
    tokenizer: Tokenizer,
    session: Session,
    inputs: Vec<(String, Feed)>,
    pad_id: u32,
}

/// What an input gets.
#[derive(Clone, Copy)]
enum Feed {
    Ids,
    Mask,
    /// 0 for the query, 1 for the text.
    Types,
}

impl OnnxReranker {
    /// A reranker for the model in the folder `models`.
    pub fn new(descriptor: Descriptor, settings: &EmbedSettings, models: &Path) -> Self {
        let (settings, models) = (settings.clone(), models.to_path_buf());
        Self { descriptor, settings, models, loaded: Mutex::new(None) }
    }

    fn run(&self, model: &mut Model, query: &str, texts: &[&str]) -> Result<Vec<f32>, String> {
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (query, *text)).collect();
        let encoded =
            model.tokenizer.encode_batch(pairs, true).map_err(|error| error.to_string())?;
        let lengths: Vec<usize> = encoded.iter().map(Encoding::len).collect();
        let most = match self.descriptor.padding {
            Padding::None => 1,
            Padding::Right => self.descriptor.texts_a_run(),
        };
        let (order, ranges) = batch::plan(&lengths, self.settings.batch_tokens, most);
        let mut logits = vec![0.0; texts.len()];
        for range in ranges {
            let places = &order[range];
            let batch: Vec<&Encoding> = places.iter().map(|at| &encoded[*at]).collect();
            let found = self.run_batch(model, &batch).map_err(|error| error.to_string())?;
            places.iter().zip(found).for_each(|(at, logit)| logits[*at] = logit);
        }
        match logits.iter().all(|logit| logit.is_finite()) {
            true => Ok(logits),
            false => Err("the model's output is not a number".into()),
        }
    }

    fn run_batch(&self, model: &mut Model, batch: &[&Encoding]) -> ort::Result<Vec<f32>> {
        let width = batch.iter().map(|pair| pair.len()).max().unwrap_or(0);
        let mut feeds: Vec<(Cow<'static, str>, SessionInputValue<'static>)> = Vec::new();
        for (name, feed) in &model.inputs {
            let cells = batch.iter().flat_map(|pair| row(pair, *feed, width, model.pad_id));
            let tensor = Tensor::from_array(([batch.len(), width], cells.collect::<Vec<i64>>()))?;
            feeds.push((name.clone().into(), tensor.into()));
        }
        let outputs = model.session.run(feeds)?;
        let output =
            outputs.get(&self.descriptor.output).ok_or_else(|| ort::Error::new("no output"))?;
        let (shape, data) = output.try_extract_tensor::<f32>()?;
        let wide = self.descriptor.dimensions;
        if data.len() != batch.len() * wide {
            let wrong = format!("an output of shape {shape:?} for {} pairs", batch.len());
            return Err(ort::Error::new(wrong));
        }
        Ok(data.chunks_exact(wide).map(|row| row[wide - 1] - first_of_two(row)).collect())
    }
}

fn first_of_two(row: &[f32]) -> f32 {
    if let [first, _] = row { *first } else { 0.0 }
}

fn row(pair: &Encoding, feed: Feed, width: usize, pad_id: u32) -> Vec<i64> {
    let (values, pad) = match feed {
        Feed::Ids => (pair.get_ids(), pad_id),
        Feed::Mask => (pair.get_attention_mask(), 0),
        Feed::Types => (pair.get_type_ids(), 0),
    };
    let mut row: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
    row.resize(width, i64::from(pad));
    row
}

impl Reranker for OnnxReranker {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut model = match loaded.take() {
            Some(model) => model,
            None => load(&self.descriptor, &self.settings, &self.models)?,
        };
        let logits = self.run(&mut model, query, texts);
        *loaded = Some(model);
        let name = &self.descriptor.name;
        logits.map_err(|problem| Error::new(ExitCode::Failure, format!("{name}: {problem}")))
    }
}

fn load(descriptor: &Descriptor, settings: &EmbedSettings, models: &Path) -> Result<Model> {
    let environment = runtime::environment(settings, models)?;
    let folder = models.join(&descriptor.name);
    let graph = descriptor
        .graph()
        .ok_or_else(|| Error::config(format!("{}: it names no files", descriptor.name)))?;
    let graph = present(descriptor, &folder, &graph.name)?;
    let file = present(descriptor, &folder, descriptor::TOKENIZER)?;
    let broken = |path: &Path, problem: String| {
        Error::new(ExitCode::Missing, format!("{}: {problem}", path.display()))
    };
    let (tokenizer, pad_id) =
        tokenizer(&file, descriptor.max_tokens).map_err(|problem| broken(&file, problem))?;
    let session = commit(&environment, &graph, threads(settings))
        .map_err(|error| broken(&graph, error.to_string()))?;
    let inputs = inputs(&session).map_err(|problem| broken(&graph, problem))?;
    if !session.outputs().iter().any(|output| output.name() == descriptor.output) {
        return Err(broken(&graph, format!("the graph has no output `{}`", descriptor.output)));
    }
    Ok(Model { tokenizer, session, inputs, pad_id })
}

/// The tokenizer, which cuts the longer one of a pair, and the id that fills shorter pairs.
fn tokenizer(file: &Path, max_length: usize) -> Result<(Tokenizer, u32), String> {
    let mut tokenizer = Tokenizer::from_file(file).map_err(|error| error.to_string())?;
    let pad_id = super::tokens::pad_id(&tokenizer);
    tokenizer.with_padding(None);
    let cut = TruncationParams { max_length, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(cut)).map_err(|error| error.to_string())?;
    Ok((tokenizer, pad_id))
}

fn inputs(session: &Session) -> Result<Vec<(String, Feed)>, String> {
    let feed = |name: &str| match name {
        "input_ids" => Ok(Feed::Ids),
        "attention_mask" => Ok(Feed::Mask),
        "token_type_ids" => Ok(Feed::Types),
        _ => Err(format!("the graph wants an input `{name}` that is not known")),
    };
    let inputs = session.inputs().iter();
    inputs.map(|input| Ok((input.name().to_string(), feed(input.name())?))).collect()
}
