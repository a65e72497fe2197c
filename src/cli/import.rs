//! `lifecycle import`: an export of ours, or the notes of another system.

use super::{Session, escape_terminal, print_aside, print_json, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::exchange::{self, Parcel};
use crate::search::project_name;
use crate::store::Store;
use crate::{documents, tick};
use clap::{Args, ValueEnum};
use std::io::BufReader;
use std::path::PathBuf;

/// Options of `import`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle import backup.jsonl
  lifecycle import --from memory-lifecycle ~/.claude-mem/buffer.sqlite3
  lifecycle import --from claude-mem ~/.claude-mem/claude-mem.db
  lifecycle import --from auto-memory ~/.claude/projects/-x/memory --project .
  lifecycle import --from markdown ~/notes")]
pub struct ImportArgs {
    /// The file or folder
    path: PathBuf,
    /// What it is
    #[arg(long, value_enum, default_value = "lifecycle")]
    from: From,
    /// Project of the notes of an auto-memory folder (its root folder)
    #[arg(long)]
    project: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum From {
    /// An export of lifecycle
    Lifecycle,
    /// buffer.sqlite3 of claude-memory-lifecycle
    MemoryLifecycle,
    /// The database of claude-mem
    ClaudeMem,
    /// A folder of Claude Code's auto-memory: its notes become entries
    AutoMemory,
    /// A folder of Markdown and text files: they become documents
    Markdown,
}

/// Brings it in and says what was done.
pub fn run(session: &Session, args: &ImportArgs) -> Result<ExitCode> {
    let parcel = read(session, args)?;
    let mut store = Store::open(&session.paths, &session.settings)?;
    let has_documents = !parcel.documents.is_empty();
    let done = exchange::import(&mut store, parcel, session.clock.now())?;
    if has_documents {
        let embedder = tick::serving::open(store.reader(), &session.settings, &session.paths);
        if let Err(error) = embedder.and_then(|it| documents::embed_missing(&mut store, &*it)) {
            let why = escape_terminal(&error.message);
            print_aside(&format!(
                "note: documents are found by words until they are embedded: {why}"
            ));
        }
    }
    if session.global.json {
        print_json(&done)?;
    } else {
        print_text(&format!(
            "{} entries new, {} known; {} documents new; the next run connects them\n",
            done.entries, done.known, done.documents
        ));
        done.skipped
            .iter()
            .for_each(|why| print_aside(&format!("skipped: {}", escape_terminal(why))));
    }
    Ok(ExitCode::Success)
}

fn read(session: &Session, args: &ImportArgs) -> Result<Parcel> {
    match args.from {
        From::Lifecycle => {
            let file = crate::regular::open(&args.path)
                .map_err(|error| Error::unreadable(&args.path, &error))?;
            exchange::read_lines(BufReader::new(file), &args.path.display().to_string())
        }
        From::MemoryLifecycle => exchange::memory_lifecycle(&args.path),
        From::ClaudeMem => exchange::claude_mem(&args.path),
        From::AutoMemory => {
            exchange::auto_memory(&args.path, args.project.as_deref().map(project_name))
        }
        From::Markdown => {
            let folder = std::path::absolute(&args.path)
                .map_err(|error| Error::unreadable(&args.path, &error))?;
            exchange::folder(&folder, &session.paths.home, &session.settings.documents)
        }
    }
}
