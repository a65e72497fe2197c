//! The command line: one file a subcommand, thin over the tick and the adapters.

mod add;
mod add_doc;
mod apply;
mod brief;
mod checked;
mod completions;
mod config;
mod doctor;
mod edit;
mod entries;
mod eval;
mod eval_retrieval;
mod export;
mod format;
mod graph;
mod hook;
mod import;
mod init;
mod list;
mod mcp;
mod model;
mod model_file;
mod observe;
mod output;
mod program;
mod prompt;
mod quality;
mod reindex;
mod report;
mod review;
mod route;
mod run;
mod schedule;
mod search;
mod serve;
mod setup;
mod show;
mod status;
mod undo;
mod version;
mod why;

use crate::clock::Clock;
use crate::config::{Layers, Settings};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use output::{
    escape_terminal, one_line, print_aside, print_json, print_raw, print_text, short_id,
};

const FIRST_STEPS: &str = "Examples:
  lifecycle setup                 fetch the runtime library and the small model
  lifecycle init                  find the assistants, install hooks, schedule
  lifecycle run --dry-run         what a tick would do, with the diffs
  lifecycle status                what lies where, what waits for what";

/// Keeps the memory of AI coding assistants worth reading.
#[derive(Parser)]
#[command(
    name = "lifecycle",
    version,
    long_version = version::long(),
    about,
    max_term_width = 80,
    after_help = FIRST_STEPS
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every subcommand.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
    /// Fix the clock (RFC 3339, e.g. 2026-06-10T00:00:00Z)
    #[arg(long, global = true, env = "LIFECYCLE_NOW", hide_env_values = true, value_name = "TIME")]
    pub now: Option<String>,
    /// Override one setting; repeatable
    #[arg(long = "set", global = true, value_name = "SECTION.KEY=VALUE")]
    pub set: Vec<String>,
    /// Print errors only, where a command does something
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more: -v what is done, -vv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch the runtime library and the small embedding model, checked
    #[command(after_help = "Examples:
  lifecycle setup
  lifecycle setup --from ~/downloads    files that are there already")]
    Setup(setup::SetupArgs),
    /// Store a note
    #[command(after_help = "Examples:
  lifecycle add \"Migrations run in CI only\"
  lifecycle add --kind decision \"We stay on Postgres 16\"
  lifecycle add --file notes.jsonl --project ~/work/harbor-api
  git log -1 --format=%B | lifecycle add -")]
    Add(add::AddArgs),
    /// Leave a record of what an assistant's hook says on standard input
    #[command(after_help = "Examples:
  lifecycle hook claude-code < event.json")]
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
    /// Walk what a tick would do step by step, then apply what was accepted
    Review(review::ReviewArgs),
    /// Take a tick back, files included
    Undo(undo::UndoArgs),
    /// Show what a tick did, and what it did not
    Report(report::ReportArgs),
    /// List the ticks
    #[command(after_help = "Examples:
  lifecycle history
  lifecycle history --limit 100 --json")]
    History(report::HistoryArgs),
    /// The store on one screen: what lies where, what waits for what
    #[command(after_help = "Examples:
  lifecycle status
  lifecycle status --json")]
    Status,
    /// List entries
    #[command(after_help = "Examples:
  lifecycle list
  lifecycle list --state proven --project .
  lifecycle list --all --json                also merged and expired ones")]
    List(list::ListArgs),
    /// Store a text as a document, searched beside entries
    AddText(add_doc::AddTextArgs),
    /// Store the readable part of public web pages
    AddUrl(add_doc::AddUrlArgs),
    /// Store Markdown and text files
    AddFile(add_doc::AddFileArgs),
    /// List, show or delete documents
    Documents(add_doc::DocumentsArgs),
    /// Write everything the store knows as JSON lines
    Export(export::ExportArgs),
    /// Bring in an export, or the notes of another system
    Import(import::ImportArgs),
    /// Serve assistants by the Model Context Protocol
    Mcp(mcp::McpArgs),
    /// What an assistant is told at the start of a session
    Brief(brief::BriefArgs),
    /// Observe what sessions did, by a model, now
    Observe(observe::ObserveArgs),
    /// Find entries and documents by meaning and by words
    Search(search::SearchArgs),
    /// Make derived data anew: words, pieces of documents, index files, vectors
    Reindex(reindex::ReindexArgs),
    /// Embedding models and rerankers: list, fetch, choose, calibrate
    Model(model::ModelArgs),
    /// Keep the embedding model in memory for ticks and searches
    #[command(after_help = "Examples:
  lifecycle serve
  lifecycle serve --idle 0        until it is stopped")]
    Serve(serve::ServeArgs),
    /// Show one entry with its sources, links, lines in files and history
    #[command(after_help = "Examples:
  lifecycle show 3f2a9c01")]
    Show(show::ShowArgs),
    /// Explain a line of a file (FILE:LINE) or an entry: sources, conversation, other places
    Why(why::WhyArgs),
    /// Expire entries by hand; they can be restored
    #[command(after_help = "Examples:
  lifecycle forget 3f2a9c01 77b0e4d2")]
    Forget(entries::IdArgs),
    /// Bring expired entries back
    #[command(after_help = "Examples:
  lifecycle restore 3f2a9c01")]
    Restore(entries::IdArgs),
    /// Keep entries from ever expiring
    #[command(after_help = "Examples:
  lifecycle protect 3f2a9c01
  lifecycle protect --off 3f2a9c01")]
    Protect(entries::ProtectArgs),
    /// Draw entries, links and clusters
    #[command(after_help = "Examples:
  lifecycle graph --format svg > graph.svg
  lifecycle graph --project . --format dot | dot -Tpng > graph.png")]
    Graph(graph::GraphArgs),
    /// Measure links, clusters and more on labelled files
    #[command(after_help = "Examples:
  lifecycle eval links pairs.jsonl
  lifecycle eval clusters notes.jsonl --json
  lifecycle eval routes --corpus corpus.jsonl items.jsonl
  lifecycle eval retrieval golden.jsonl --cases
  lifecycle eval recall --k 10
  lifecycle eval add golden.jsonl \"which port has the API\" 3f2a9c01")]
    Eval(eval::EvalArgs),
    /// Make one tiny model call and say what is wrong with models and server
    #[command(
        visible_alias = "canary",
        after_help = "Examples:
  lifecycle doctor
  lifecycle doctor --no-call      only what is recorded
  lifecycle doctor --overflow     does the server refuse what is too long?
  lifecycle doctor --repair --dry-run   what is damaged, what can be had back"
    )]
    Doctor(doctor::DoctorArgs),
    /// Print an Ollama Modelfile with the rules of the prompt
    #[command(after_help = "Examples:
  lifecycle model-file > Modelfile")]
    ModelFile(model_file::ModelFileArgs),
    /// How large the prompts are, and what they say
    Prompt(prompt::PromptArgs),
    /// Show the settings in force
    Config(config::ConfigArgs),
    /// The program itself: remove it and everything it made
    #[command(name = "self")]
    Program(program::SelfArgs),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a folder
    Man(completions::ManArgs),
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
        let settings = checked::settings(&layers, &paths)?;
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
    let cli = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    match dispatch(cli) {
        Ok(code) => std::process::ExitCode::from(code as u8),
        Err(error) => {
            print_error(&error);
            std::process::ExitCode::from(error.code as u8)
        }
    }
}

/// Whether these words, the program's name first, are a command line.
///
/// # Errors
/// What is wrong with it, as the user would read it.
pub fn parses(words: &[String]) -> std::result::Result<(), String> {
    command().try_get_matches_from(words).map(drop).or_else(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => Ok(()),
        _ => Err(error.to_string()),
    })
}

/// The definition of the command line. A subcommand of a subcommand shows the examples of its
/// parent that are its own.
fn command() -> clap::Command {
    Cli::command().mut_subcommands(|group| {
        let name = group.get_name().to_string();
        let help = group.get_after_help().map(ToString::to_string).unwrap_or_default();
        group.mut_subcommands(|one| {
            let start = format!("  lifecycle {name} {}", one.get_name());
            let own: Vec<&str> = help.lines().filter(|line| line.starts_with(&start)).collect();
            match own.as_slice() {
                [] => one,
                own => one.after_help(format!("Examples:\n{}", own.join("\n"))),
            }
        })
    })
}

/// The subcommands, nested ones too, whose help shows no example.
pub fn commands_without_examples() -> Vec<String> {
    fn below(of: &clap::Command, words: &str, all: &mut Vec<String>) {
        for one in of.get_subcommands() {
            let here = format!("{words} {}", one.get_name());
            let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            if !help.contains("Examples:") {
                all.push(here.clone());
            }
            below(one, &here, all);
        }
    }
    let mut all = Vec::new();
    below(&command(), "lifecycle", &mut all);
    all
}

/// The words of every subcommand, nested ones too, for whoever wants to read all the help there is.
pub fn command_words() -> Vec<Vec<String>> {
    fn below(command: &clap::Command, words: &[String], all: &mut Vec<Vec<String>>) {
        for one in command.get_subcommands() {
            let mut here = words.to_vec();
            here.push(one.get_name().to_string());
            all.push(here.clone());
            below(one, &here, all);
        }
    }
    let mut all = vec![Vec::new()];
    below(&command(), &[], &mut all);
    all
}

/// The example lines of every help: the verb, and the line.
pub fn examples() -> Vec<(String, String)> {
    fn of(command: &clap::Command, all: &mut Vec<(String, String)>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        let name = command.get_name();
        all.extend(lines.map(|line| (name.to_string(), line.to_string())));
        command.get_subcommands().for_each(|one| of(one, all));
    }
    let mut all = Vec::new();
    of(&command(), &mut all);
    all
}

fn print_error(error: &Error) {
    print_aside(&format!("error: {}", escape_terminal(&error.message)));
    if let Some(hint) = &error.hint {
        print_aside(&format!("  hint: {}", escape_terminal(hint)));
    }
}

/// Progress where a person waits, and silence where it was asked for. Servers show no progress: what
/// they do has no end.
fn loudness(global: &Global, command: &Command) {
    let serves = matches!(command, Command::Mcp(_) | Command::Serve(_) | Command::Review(_));
    if !global.quiet && !serves {
        crate::progress::show();
    }
    if global.quiet && command.is_deed() {
        output::be_quiet();
    }
}

impl Command {
    /// Whether it does something, rather than show what it was asked for.
    fn is_deed(&self) -> bool {
        matches!(
            self,
            Self::Setup(_)
                | Self::Add(_)
                | Self::Init(_)
                | Self::InstallHooks(_)
                | Self::UninstallHooks(_)
                | Self::Run(_)
                | Self::Route(_)
                | Self::Apply(_)
                | Self::Undo(_)
                | Self::AddText(_)
                | Self::AddUrl(_)
                | Self::AddFile(_)
                | Self::Import(_)
                | Self::Forget(_)
                | Self::Restore(_)
                | Self::Protect(_)
                | Self::Program(_)
        )
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    match &cli.command {
        Command::Completions(args) => return completions::completions(command(), args),
        Command::Man(args) => return completions::man(command(), args),
        Command::Config(args) if args.is_edit() => {
            return edit::run(&cli.global, &Paths::from_env()?);
        }
        _ => {}
    }
    let session = Session::open(cli.global)?;
    crate::log::start(session.paths.log(), session.global.verbose);
    loudness(&session.global, &cli.command);
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
        Command::Review(args) => review::run(&session, &args),
        Command::Undo(args) => undo::run(&session, &args),
        Command::Report(args) => report::run(&session, &args),
        Command::History(args) => report::history(&session, &args),
        Command::Status => status::run(&session),
        Command::List(args) => list::run(&session, &args),
        Command::Setup(args) => setup::run(&session, &args),
        Command::AddText(args) => add_doc::text(&session, &args),
        Command::AddUrl(args) => add_doc::url(&session, &args),
        Command::AddFile(args) => add_doc::file(&session, &args),
        Command::Documents(args) => add_doc::documents(&session, &args),
        Command::Export(args) => export::run(&session, &args),
        Command::Import(args) => import::run(&session, &args),
        Command::Mcp(args) => mcp::run(session, &args),
        Command::Brief(args) => brief::run(&session, &args),
        Command::Observe(args) => observe::run(&session, &args),
        Command::Search(args) => search::run(&session, &args),
        Command::Reindex(args) => reindex::run(&session, &args),
        Command::Model(args) => model::run(&session, &args),
        Command::Serve(args) => serve::run(&session, &args),
        Command::Show(args) => show::run(&session, &args),
        Command::Why(args) => why::run(&session, &args),
        Command::Forget(args) => entries::forget(&session, &args),
        Command::Restore(args) => entries::restore(&session, &args),
        Command::Protect(args) => entries::protect(&session, &args),
        Command::Graph(args) => graph::run(&session, &args),
        Command::Eval(args) => eval::run(&session, &args),
        Command::Doctor(args) => doctor::run(&session, &args),
        Command::ModelFile(args) => model_file::run(&session, &args),
        Command::Prompt(args) => prompt::run(&session, &args),
        Command::Config(args) => config::run(&session, &args),
        Command::Program(args) => program::run(&session, &args),
        Command::Completions(_) | Command::Man(_) => Ok(ExitCode::Success),
    }
}
