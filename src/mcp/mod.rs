//! The MCP server: assistants ask the store by the Model Context Protocol.
//!
//! - stdio for an assistant that starts the server itself, streamable HTTP on loopback for several.
//!   Standard output carries protocol alone.
//! - Each call opens the store for itself, so any number of servers share one store.
//! - The first answer waits for nothing: the model loads in the background, and until it is there a
//!   search goes by words and says so.
//! - Tools that change something are not offered at all unless `mcp.allow_write` is true. That is a
//!   switch on the server, not a request to the model.
//! - No call counts a recall: what a tool with a read-only hint does, it does without writing.

mod relay;
mod server;
mod work;

pub use server::Server;
pub use work::Desk;

use crate::error::{Error, ExitCode, Result};
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Serves one client over standard input and output until it closes them.
pub fn serve_stdio(server: Server) -> Result<()> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let (input, output) = stdio();
        let relay::Relay { input, output, written } = relay::start(input, output);
        let running = server.serve((input, output)).await.map_err(failed)?;
        running.waiting().await.map_err(failed)?;
        written.await.map_err(failed)
    });
    // A read of standard input cannot be called back; nothing waits for it.
    runtime.shutdown_background();
    done
}

/// Serves clients at `http://ADDRESS/mcp` until the process is ended. `ready` is told the address,
/// which matters where port 0 asked for a free one. Requests with another `Host` than loopback, or
/// with any `Origin` (a web page), are refused.
pub fn serve_http(
    server: Server,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr),
) -> Result<()> {
    check_address(address)?;
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service: StreamableHttpService<Server, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(server.clone()), Default::default(), config);
    runtime()?.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        ready(listener.local_addr().map_err(failed)?);
        let router = axum::Router::new().nest_service("/mcp", service);
        axum::serve(listener, router).with_graceful_shutdown(stopped()).await.map_err(failed)
    })
}

/// Whether the server may listen there. To be asked before a [`Server`] is made, since that begins to
/// load the model.
///
/// # Errors
/// It is no loopback address.
pub fn check_address(address: SocketAddr) -> Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(Error::config(format!("{address} is not a loopback address"))
        .hint("the server has no log-in; it listens on 127.0.0.1 or ::1 only"))
}

async fn stopped() {
    // Without a signal handler the server simply runs on.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ExitCode::Failure, format!("MCP: {error}"))
}
