//! `lifecycle mcp`: the MCP server.

use super::Session;
use crate::error::{ExitCode, Result};
use crate::mcp::{self, Desk, Server};
use clap::Args;
use std::net::SocketAddr;

/// Options of `mcp`.
#[derive(Args)]
#[command(after_help = "Examples:
  claude mcp add lifecycle -- lifecycle mcp
  lifecycle mcp --http 127.0.0.1:52526
  lifecycle mcp --set mcp.allow_write=true")]
pub struct McpArgs {
    /// Serve HTTP at http://ADDRESS/mcp instead of standard input and output; loopback only
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:52526")]
    http: Option<SocketAddr>,
}

/// Serves until the client goes, or the process is ended.
pub fn run(session: Session, args: &McpArgs) -> Result<ExitCode> {
    args.http.map_or(Ok(()), mcp::check_address)?;
    let server = Server::new(Desk::new(session.settings, session.paths, session.clock));
    match args.http {
        None => mcp::serve_stdio(server)?,
        Some(address) => mcp::serve_http(server, address, |address| {
            eprintln!("serving MCP at http://{address}/mcp");
        })?,
    }
    Ok(ExitCode::Success)
}
