//! `lifecycle serve`: the embedding model in memory, for everyone on this machine's account.

use super::Session;
use crate::config::Serve;
use crate::embed::onnx::OnnxEmbedder;
use crate::embed::serve::{ServeLock, Serving, check_address, serve};
use crate::embed::{Catalog, runtime};
use crate::error::{Error, ExitCode, Result};
use clap::Args;
use std::sync::Arc;
use std::time::Duration;

/// Options of `serve`.
#[derive(Args)]
pub struct ServeArgs {
    /// Address to listen on; one that other machines can reach needs a token
    #[arg(long, value_name = "ADDRESS:PORT")]
    address: Option<String>,
    /// Variable that holds the secret each request must carry
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Stop after so many seconds without a request; 0: never
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
    /// End at once unless `embed.serve` is "start" and the model is installed
    #[arg(long, hide = true)]
    if_wanted: bool,
}

/// Serves until idle. The model is loaded before the first request is taken.
pub fn run(session: &Session, args: &ServeArgs) -> Result<ExitCode> {
    let settings = &session.settings.embed;
    if args.if_wanted && !is_wanted(session)? {
        return Ok(ExitCode::Success);
    }
    let token = args.token_env.as_deref().map(secret).transpose()?;
    let address = args.address.as_deref().unwrap_or(&settings.serve_address);
    let address = check_address(address, token.as_deref())?;
    let _lock = ServeLock::take(&session.paths)?;
    let catalog = Catalog::load(&session.paths)?;
    let descriptor = catalog.get(&settings.model)?.clone();
    let embedder = OnnxEmbedder::new(descriptor, settings, &session.paths.models());
    embedder.load()?;
    let idle = Duration::from_secs(args.idle.unwrap_or(settings.serve_idle_seconds));
    let serving = Serving { address, token, idle };
    serve(Arc::new(embedder), &session.paths, &serving, |address| {
        println!("serving {} at http://{address}", settings.model);
    })?;
    Ok(ExitCode::Success)
}

/// Whether ticks and searches are to start the server, and it could run.
fn is_wanted(session: &Session) -> Result<bool> {
    let settings = &session.settings.embed;
    let models = session.paths.models();
    let is_asked_for = settings.serve == Serve::Start && settings.url.is_empty();
    Ok(is_asked_for
        && Catalog::load(&session.paths)?.get(&settings.model)?.is_installed(&models)
        && runtime::find_library(settings, &models).is_ok())
}

fn secret(name: &str) -> Result<String> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| Error::config(format!("--token-env: the variable {name} is not set")))
}
