//! `lifecycle hook`: what an assistant's settings call. Always ends with exit code 0 and prints
//! nothing on standard output; see [`crate::capture::hook`].

use crate::capture::{Assistant, hook};
use crate::clock::Clock;
use crate::embed::serve::start_for_session;
use crate::error::Result;
use crate::paths::Paths;
use clap::Args;
use std::ffi::OsString;

/// Options of `hook`, for its help; anything else on the command line is ignored.
#[derive(Args)]
pub struct HookArgs {
    /// Whose hook it is: claude-code or codex
    #[arg(default_value = "claude-code")]
    assistant: String,
    /// Ignored
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Handles `lifecycle hook …` before anything is parsed or opened; `None` for other commands.
pub fn main(args: &[OsString]) -> Option<std::process::ExitCode> {
    let words: Vec<_> = args.iter().skip(1).map(|arg| arg.to_string_lossy()).collect();
    let wants_help = words.iter().any(|word| word == "--help" || word == "-h");
    if words.first().is_none_or(|word| word != "hook") || wants_help {
        return None;
    }
    let assistant = Assistant::parse(words.get(1).map_or("", |word| word));
    // Not even a fault of our own may disturb the conversation.
    std::panic::set_hook(Box::new(|_| {}));
    let told = std::panic::catch_unwind(|| tell(assistant));
    if let Ok(Err(error)) = told {
        eprintln!("lifecycle hook: {error}");
    }
    Some(std::process::ExitCode::SUCCESS)
}

/// Leaves the record, then starts the embedding server where one is wanted, so that it is warm when
/// the conversation first asks.
fn tell(assistant: Assistant) -> Result<()> {
    let left = hook::run(assistant, std::io::stdin(), now())?;
    if left.is_some_and(|left| left.begins) {
        start_for_session(&Paths::from_env()?)?;
    }
    Ok(())
}

fn now() -> i64 {
    let fixed = std::env::var("LIFECYCLE_NOW").ok();
    Clock::from_text(fixed.as_deref()).unwrap_or(Clock::System).now()
}
