//! The ONNX Runtime library: found, loaded once, never a panic.
//!
//! Looked for in this order: `embed.onnxruntime`, `ORT_DYLIB_PATH`, beside the program,
//! `onnxruntime/` in the models folder. The library is loaded by its path alone, since `ort`
//! panics when it has to search by itself and finds nothing.

use crate::config::EmbedSettings;
use crate::error::{Error, ExitCode, Result};
use ort::environment::Environment;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Version of the library that `lifecycle setup` fetches.
pub const VERSION: &str = "1.32.0";

static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Name of the library's file on this platform.
pub fn library_name() -> String {
    if cfg!(target_os = "macos") {
        format!("libonnxruntime.{VERSION}.dylib")
    } else if cfg!(windows) {
        "onnxruntime.dll".into()
    } else {
        format!("libonnxruntime.so.{VERSION}")
    }
}

/// Where `lifecycle setup` puts the library.
pub fn installed_library(models: &Path) -> PathBuf {
    models.join("onnxruntime").join(library_name())
}

/// The library's file. A path that is stated but has no file is an error, not passed over.
pub fn find_library(settings: &EmbedSettings, models: &Path) -> Result<PathBuf> {
    let variable = std::env::var("ORT_DYLIB_PATH").unwrap_or_default();
    for (source, stated) in
        [("embed.onnxruntime", &settings.onnxruntime), ("ORT_DYLIB_PATH", &variable)]
    {
        if !stated.is_empty() {
            let path = PathBuf::from(stated);
            return if path.is_file() { Ok(path) } else { Err(stated_but_absent(source, &path)) };
        }
    }
    candidates(models).into_iter().find(|path| path.is_file()).ok_or_else(|| {
        Error::new(ExitCode::Missing, "the ONNX Runtime library is not installed")
            .hint("`lifecycle setup` fetches it and the embedding model")
    })
}

/// The library, loaded once for the process.
pub(super) fn environment(settings: &EmbedSettings, models: &Path) -> Result<Environment> {
    let mut loaded = ENVIRONMENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(environment) = loaded.as_ref() {
        return Ok(environment.clone());
    }
    let path = find_library(settings, models)?;
    let environment = load(&path)?;
    *loaded = Some(environment.clone());
    Ok(environment)
}

fn load(path: &Path) -> Result<Environment> {
    let builder = ort::init_from(path).map_err(|error| unusable(path, &error))?;
    builder
        .with_name("lifecycle")
        .with_telemetry(false)
        .build()
        .map_err(|error| unusable(path, &error))
}

fn candidates(models: &Path) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside =
        program.as_deref().and_then(Path::parent).map(|folder| folder.join(library_name()));
    beside.into_iter().chain([installed_library(models)]).collect()
}

fn stated_but_absent(source: &str, path: &Path) -> Error {
    Error::new(ExitCode::Missing, format!("{source}: there is no file {}", path.display()))
        .hint("correct it, or leave it empty to use the one that `lifecycle setup` fetches")
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(ExitCode::Missing, format!("{}: {error}", path.display()))
        .hint("`lifecycle setup` fetches a library that fits")
}
