//! Which embedder the settings ask for.

use super::http::HttpEmbedder;
use super::onnx::OnnxEmbedder;
use super::serve::ServedEmbedder;
use super::{Catalog, Descriptor, Embedder, ModelKind, measured};
use crate::config::{EmbedSettings, Serve, Settings};
use crate::error::Result;
use crate::paths::Paths;
use std::time::Duration;

/// The embedder of the settings: the server at `embed.url`, or in process.
///
/// Nothing is loaded and no request is made yet. An unknown model or a wrong URL is an error.
pub fn open(settings: &Settings, paths: &Paths) -> Result<Box<dyn Embedder>> {
    let settings = &settings.embed;
    let catalog = Catalog::load(paths)?;
    if settings.url.is_empty() {
        let mut descriptor = catalog.get_kind(&settings.model, ModelKind::Embedder)?.clone();
        measured::apply(&mut descriptor, paths)?;
        return Ok(in_process(descriptor, settings, paths));
    }
    let mut descriptor = of_server(&catalog, settings);
    measured::apply(&mut descriptor, paths)?;
    Ok(Box::new(HttpEmbedder::new(descriptor, settings)?))
}

/// The model in process, or by the user's own server.
fn in_process(
    descriptor: Descriptor,
    settings: &EmbedSettings,
    paths: &Paths,
) -> Box<dyn Embedder> {
    let local = OnnxEmbedder::new(descriptor, settings, &paths.models());
    if settings.serve == Serve::Off {
        return Box::new(local);
    }
    let timeout = Duration::from_secs(settings.timeout_seconds.max(1));
    let start = settings.serve == Serve::Start;
    Box::new(ServedEmbedder::new(local, paths, &settings.serve_address, timeout, start))
}

/// The model with this identity, in process, if it is known and its files are there.
pub fn open_installed(
    id: &str,
    settings: &Settings,
    paths: &Paths,
) -> Result<Option<Box<dyn Embedder>>> {
    let catalog = Catalog::load(paths)?;
    let models = paths.models();
    let known = catalog.iter().find(|known| known.id() == id && known.is_installed(&models));
    let Some(mut known) = known.cloned() else { return Ok(None) };
    measured::apply(&mut known, paths)?;
    Ok(Some(in_process(known, &settings.embed, paths)))
}

/// A server's model is its own descriptor: its weights are not the ones whose sums are known. The
/// prefixes, limits and scale come from the descriptor of the same name, where there is one.
fn of_server(catalog: &Catalog, settings: &EmbedSettings) -> Descriptor {
    let model = if settings.url_model.is_empty() { "server" } else { &settings.url_model };
    let known = catalog.find(model).cloned();
    let mut descriptor =
        known.unwrap_or_else(|| Descriptor::of_server(model, settings.url_dimensions));
    if settings.url_dimensions > 0 {
        descriptor.dimensions = settings.url_dimensions;
    }
    descriptor.dtype = "server".into();
    descriptor.files.clear();
    descriptor
}
