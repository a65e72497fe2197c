//! The graph as the runtime unfolded it, kept beside the original.
//!
//! Weight-only INT8 is turned into 32-bit numbers by the first optimisation. Done at each start that
//! costs 0.2 s of the processor and twice the unfolded weights in memory at its peak; kept in a file,
//! the weights are mapped and only what is used of them is read: 160 MB instead of 250 for the small
//! model. Descriptors that gain by it say `prepare = true`; installing makes it, in a folder of its
//! own that is moved into place whole. Nothing depends on it: where it is missing, made from another
//! graph or for another library, or does not load, the original is loaded.

use super::{Descriptor, runtime};
use crate::config::EmbedSettings;
use crate::error::{Error, ExitCode, Result};
use crate::regular;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use std::path::{Path, PathBuf};

const FOLDER: &str = "prepared";
const GRAPH: &str = "model.onnx";
const WEIGHTS: &str = "model.bin";
const MADE_FROM: &str = "made-from";

/// The prepared graph of a model, where there is one for this library.
pub(super) fn find(
    descriptor: &Descriptor,
    settings: &EmbedSettings,
    models: &Path,
) -> Option<PathBuf> {
    let folder = models.join(&descriptor.name).join(FOLDER);
    let made_from = regular::text(&folder.join(MADE_FROM), regular::SMALL).ok()?;
    let is_ours = made_from == origin(descriptor, settings, models).ok()?;
    is_ours.then(|| folder.join(GRAPH))
}

/// Prepares the graph of a model that asks for it. Returns whether anything was done.
pub(super) fn make(
    environment: &Environment,
    descriptor: &Descriptor,
    settings: &EmbedSettings,
    models: &Path,
) -> Result<bool> {
    let Some(graph) = descriptor.graph().filter(|_| descriptor.prepare) else { return Ok(false) };
    if find(descriptor, settings, models).is_some() {
        return Ok(false);
    }
    let folder = models.join(&descriptor.name);
    let failed = |error: std::io::Error| Error::io(&folder, &error);
    let draft =
        tempfile::Builder::new().prefix(".prepared-").tempdir_in(&folder).map_err(failed)?;
    unfold(environment, &folder.join(&graph.name), draft.path())
        .map_err(|error| Error::new(ExitCode::Failure, format!("{}: {error}", graph.name)))?;
    let made_from = origin(descriptor, settings, models)?;
    std::fs::write(draft.path().join(MADE_FROM), made_from).map_err(failed)?;
    remove(descriptor, models)?;
    std::fs::rename(draft.path(), folder.join(FOLDER)).map_err(failed)?;
    Ok(true)
}

/// Removes the prepared graph of a model.
pub(super) fn remove(descriptor: &Descriptor, models: &Path) -> Result<()> {
    let folder = models.join(&descriptor.name).join(FOLDER);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(&folder, &error))
        }
        _ => Ok(()),
    }
}

/// What a prepared graph was made from: the graph's sum and the library's file.
fn origin(descriptor: &Descriptor, settings: &EmbedSettings, models: &Path) -> Result<String> {
    let graph = descriptor.graph().map_or("", |graph| graph.sha256.as_str());
    let library = runtime::find_library(settings, models)?;
    let library = library.canonicalize().unwrap_or(library);
    Ok(format!("{graph} {}\n", library.display()))
}

/// Only rewriting that suits every processor of the kind is kept; the rest is done when loading.
fn unfold(environment: &Environment, graph: &Path, into: &Path) -> ort::Result<()> {
    Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::Level2)?
        .with_intra_threads(1)?
        .with_optimized_model_path(into.join(GRAPH))?
        .with_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)?
        .with_config_entry(
            "session.optimized_model_external_initializers_min_size_in_bytes",
            "1024",
        )?
        .commit_from_file(graph)?;
    Ok(())
}
