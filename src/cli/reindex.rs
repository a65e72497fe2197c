//! `lifecycle reindex`: derived data made anew.

use super::{Session, escape_terminal, print_aside, print_json, print_text};
use crate::error::{ExitCode, Result};
use crate::tick;
use clap::Args;

/// Options of `reindex`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle reindex              words, pieces of documents, link index
  lifecycle reindex --vectors    every vector too, as slow as embedding")]
pub struct ReindexArgs {
    /// Compute every vector of the serving model again
    #[arg(long)]
    vectors: bool,
}

/// Makes it anew and says what was done; searches go on meanwhile.
pub fn run(session: &Session, args: &ReindexArgs) -> Result<ExitCode> {
    let done = tick::reindex(&session.settings, &session.paths, args.vectors)?;
    if session.global.json {
        print_json(&done)?;
    } else {
        print_text(&format!(
            "words of {} texts, {} documents cut anew, {} vectors, {} index files removed\n",
            done.texts, done.recut, done.vectors, done.files
        ));
        let say = |note: &String| print_aside(&format!("note: {}", escape_terminal(note)));
        done.notes.iter().for_each(say);
    }
    Ok(if done.notes.is_empty() { ExitCode::Success } else { ExitCode::Incomplete })
}
