//! The command line: one file a subcommand, thin over the tick and the adapters.

mod list;
mod output;

use crate::clock::Clock;
use crate::config::{Layers, Settings};
use crate::error::{Error, Result};
use crate::paths::Paths;
use clap::{Args, Parser, Subcommand};
pub use output::{escape_terminal, print_json, short_id};

/// Keeps the memory of AI coding assistants worth reading.
#[derive(Parser)]
#[command(name = "lifecycle", version, about, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every subcommand.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
    /// Fix the clock (RFC 3339, e.g. 2026-06-10T00:00:00Z)
    #[arg(long, global = true, env = "LIFECYCLE_NOW", value_name = "TIME")]
    pub now: Option<String>,
    /// Override one setting; repeatable
    #[arg(long = "set", global = true, value_name = "SECTION.KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// List entries
    List(list::ListArgs),
}

/// What a subcommand works with.
pub struct Session {
    /// Options of every subcommand.
    pub global: Global,
    /// The user's folders.
    pub paths: Paths,
    /// All settings with their origins.
    pub layers: Layers,
    /// The effective settings.
    pub settings: Settings,
    /// The clock.
    pub clock: Clock,
}

impl Session {
    fn open(global: Global) -> Result<Self> {
        let paths = Paths::from_env()?;
        let layers = Layers::load(&paths, &global.set)?;
        let settings = layers.settings()?;
        let clock = Clock::from_text(global.now.as_deref())?;
        Ok(Self { global, paths, layers, settings, clock })
    }
}

/// Parses the arguments, runs the subcommand and turns its outcome into an exit code.
pub fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(code) => std::process::ExitCode::from(code as u8),
        Err(error) => {
            report(&error);
            std::process::ExitCode::from(error.code as u8)
        }
    }
}

fn report(error: &Error) {
    eprintln!("error: {}", escape_terminal(&error.message));
    if let Some(hint) = &error.hint {
        eprintln!("  hint: {}", escape_terminal(hint));
    }
}

fn run(cli: Cli) -> Result<crate::ExitCode> {
    let session = Session::open(cli.global)?;
    match cli.command {
        Command::List(args) => list::run(&session, &args),
    }
}
