//! The command line: one file a subcommand, thin over the tick and the adapters.

mod add;
mod apply;
mod config;
mod entries;
mod eval;
mod hook;
mod init;
mod list;
mod model;
mod output;
mod report;
mod route;
mod run;
mod schedule;
mod search;
mod serve;
mod setup;
mod show;
mod status;
mod undo;
mod why;

use crate::clock::Clock;
use crate::config::{Layers, Settings};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use clap::{Args, Parser, Subcommand};
pub use output::{escape_terminal, one_line, print_json, print_text, short_id};

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
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more: -v what is done, -vv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch the runtime library and the small embedding model, checked
    Setup(setup::SetupArgs),
    /// Store a note
    Add(add::AddArgs),
    /// Leave a record of what an assistant's hook says on standard input
    Hook(hook::HookArgs),
    /// Find the assistants, show a diff, then install settings, hooks and schedule
    Init(init::InitArgs),
    /// Install the hooks of assistants only
    InstallHooks(init::HooksArgs),
    /// Take the hooks out again
    UninstallHooks(init::HooksArgs),
    /// When ticks run, and the unit that calls them
    Schedule(schedule::ScheduleArgs),
    /// Run a tick, or show what one would do
    Run(run::RunArgs),
    /// Write proven knowledge into config files (the route phase alone)
    Route(route::RouteArgs),
    /// Perform a plan exactly as it was read
    Apply(apply::ApplyArgs),
    /// Take a tick back, files included
    Undo(undo::UndoArgs),
    /// Show what a tick did, and what it did not
    Report(report::ReportArgs),
    /// List the ticks
    History(report::HistoryArgs),
    /// The store on one screen: what lies where, what waits for what
    Status,
    /// List entries
    List(list::ListArgs),
    /// Find entries and documents by meaning and by words
    Search(search::SearchArgs),
    /// Embedding models: list, fetch, choose, calibrate
    Model(model::ModelArgs),
    /// Keep the embedding model in memory for ticks and searches
    Serve(serve::ServeArgs),
    /// Show one entry with its sources, links, lines in files and history
    Show(show::ShowArgs),
    /// Explain a line of a file (FILE:LINE) or an entry: sources, conversation, other places
    Why(why::WhyArgs),
    /// Expire entries by hand; they can be restored
    Forget(entries::IdArgs),
    /// Bring expired entries back
    Restore(entries::IdArgs),
    /// Keep entries from ever expiring
    Protect(entries::ProtectArgs),
    /// Measure links, clusters and more on labelled files
    Eval(eval::EvalArgs),
    /// Show the settings in force
    Config(config::ConfigArgs),
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
    // A hook must never fail, not even over its arguments.
    if let Some(code) = hook::main(&std::env::args_os().collect::<Vec<_>>()) {
        return code;
    }
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(code) => std::process::ExitCode::from(code as u8),
        Err(error) => {
            print_error(&error);
            std::process::ExitCode::from(error.code as u8)
        }
    }
}

fn print_error(error: &Error) {
    eprintln!("error: {}", escape_terminal(&error.message));
    if let Some(hint) = &error.hint {
        eprintln!("  hint: {}", escape_terminal(hint));
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let session = Session::open(cli.global)?;
    match cli.command {
        Command::Add(args) => add::run(&session, &args),
        Command::Hook(_) => Ok(ExitCode::Success),
        Command::Init(args) => init::run(&session, &args),
        Command::InstallHooks(args) => init::install_hooks(&session, &args),
        Command::UninstallHooks(args) => init::uninstall_hooks(&session, &args),
        Command::Schedule(args) => schedule::run(&session, &args),
        Command::Run(args) => run::run(&session, &args),
        Command::Route(args) => route::run(&session, &args),
        Command::Apply(args) => apply::run(&session, &args),
        Command::Undo(args) => undo::run(&session, &args),
        Command::Report(args) => report::run(&session, &args),
        Command::History(args) => report::history(&session, &args),
        Command::Status => status::run(&session),
        Command::List(args) => list::run(&session, &args),
        Command::Setup(args) => setup::run(&session, &args),
        Command::Search(args) => search::run(&session, &args),
        Command::Model(args) => model::run(&session, &args),
        Command::Serve(args) => serve::run(&session, &args),
        Command::Show(args) => show::run(&session, &args),
        Command::Why(args) => why::run(&session, &args),
        Command::Forget(args) => entries::forget(&session, &args),
        Command::Restore(args) => entries::restore(&session, &args),
        Command::Protect(args) => entries::protect(&session, &args),
        Command::Eval(args) => eval::run(&session, &args),
        Command::Config(args) => config::run(&session, &args),
    }
}
