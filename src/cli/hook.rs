//! `lifecycle hook`: what an assistant's settings call. Always ends with exit code 0; see
//! [`crate::capture::hook`].
//!
//! The record of the event comes first. At the start of a session a briefing may follow on standard
//! output, at its end a tick that is due may be started; nothing else is ever printed or left
//! running.

use crate::brief::hook::{Occasion, within_limit};
use crate::capture::hook::Told;
use crate::capture::{Assistant, hook};
use crate::clock::Clock;
use crate::config::{Layers, Settings};
use crate::embed::serve::start_for_session;
use crate::paths::Paths;
use crate::tick::{buffer::Gate, detached};
use clap::Args;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

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
    let place = place_of_hook(&words).filter(|_| !wants_help)?;
    let assistant = Assistant::parse(words.get(place + 1).map_or("", |word| word));
    // Not even a fault of our own may disturb the conversation.
    std::panic::set_hook(Box::new(|_| {}));
    let told = std::panic::catch_unwind(|| hook::run(assistant, std::io::stdin(), now()));
    match told {
        Ok(Err(error)) => complain(&error),
        Ok(Ok(Some(told))) => {
            let _ = std::panic::catch_unwind(|| follow(&told));
        }
        _ => {}
    }
    Some(std::process::ExitCode::SUCCESS)
}

/// Where `hook` stands among the words: first, or behind options that any command takes. The
/// definition of those is looked at only where there are some, since it costs a third of a hook.
fn place_of_hook(words: &[Cow<'_, str>]) -> Option<usize> {
    if words.first()?.starts_with('-') {
        let command = <super::Cli as clap::CommandFactory>::command();
        let takes_value = |word: &str| {
            command.get_arguments().filter(|own| own.get_action().takes_values()).any(|own| {
                let long = own.get_long().is_some_and(|long| word == format!("--{long}"));
                long || own.get_short().is_some_and(|short| word == format!("-{short}"))
            })
        };
        let mut at = 0;
        while words.get(at)?.starts_with('-') {
            at += 1 + usize::from(takes_value(&words[at]));
        }
        return (words.get(at)? == "hook").then_some(at);
    }
    (words[0] == "hook").then_some(0)
}

/// A record that was left nowhere: said in a line that no assistant takes for an order, and in the
/// log, so that it can be found later. The scan finds the conversation all the same.
fn complain(error: &crate::Error) {
    eprintln!("lifecycle hook: {error}");
    if let Ok(paths) = Paths::from_env() {
        crate::log::start(paths.log(), 0);
        tracing::error!("hook: {error}; the conversation is left to the scan");
    }
}

/// What an event leads to beside its record.
fn follow(told: &Told) -> Option<()> {
    let paths = Paths::from_env().ok()?;
    match told.event.as_str() {
        "SessionStart" => {
            let said = brief(&paths, told);
            // So that the model is warm when the conversation first asks.
            start_for_session(&paths).ok();
            said
        }
        "UserPromptSubmit" => brief(&paths, told),
        "SessionEnd" | "PreCompact" => start_tick(&paths),
        _ => None,
    }
}

fn brief(paths: &Paths, told: &Told) -> Option<()> {
    // Without a store there is nothing to say, and the settings need not be read.
    paths.database().exists().then_some(())?;
    let Told { event, session, cwd, prompt, .. } = told.clone();
    let occasion = Occasion { event, session, cwd, prompt };
    let own = paths.clone();
    let closed = move |settings: &Settings, folder: &Path| {
        Gate::new(&settings.capture, &own).map_or(true, |gate| gate.is_closed(folder))
    };
    let output = within_limit(paths, &occasion, now(), closed)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", output.text).and_then(|()| out.flush()).ok()?;
    output.note(paths, &occasion, now()).ok()
}

fn start_tick(paths: &Paths) -> Option<()> {
    let settings = Layers::load(paths, &[]).and_then(|layers| layers.settings()).ok()?;
    let is_due = settings.schedule.from_hooks
        && super::schedule::is_due_at(&settings, paths, now()).unwrap_or(false);
    is_due.then(|| detached::start(paths)).flatten()
}

fn now() -> i64 {
    let fixed = std::env::var("LIFECYCLE_NOW").ok();
    Clock::from_text(fixed.as_deref()).unwrap_or(Clock::System).now()
}
