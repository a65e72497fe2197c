//! `lifecycle brief`: what an assistant is told at the start of a session.

use super::{Session, print_aside, print_json};
use crate::brief::{Request, compose};
use crate::capture::project;
use crate::error::{ExitCode, Result};
use crate::store::Store;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Options of `brief`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle brief
  lifecycle brief --project ~/code/harbor --tokens 600
  lifecycle brief --prompt \"why does the berth importer drop rows\"")]
pub struct BriefArgs {
    /// The project's folder [default: the current one's]
    #[arg(long, value_name = "PATH")]
    project: Option<PathBuf>,
    /// The branch [default: the one that is checked out there]
    #[arg(long)]
    branch: Option<String>,
    /// What is about to be asked for
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Budget in tokens [default: brief.tokens]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
}

/// Prints the briefing. A look by hand counts no recall.
pub fn run(session: &Session, args: &BriefArgs) -> Result<ExitCode> {
    let folder = args.project.clone().unwrap_or_else(|| ".".into());
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let request = Request {
        project: project::project_of(&folder),
        branch: args.branch.clone().or_else(|| project::branch_of(&folder)),
        prompt: args.prompt.clone(),
        tokens: args.tokens.unwrap_or(session.settings.brief.tokens),
        ..Request::default()
    };
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let briefing = compose(store.reader(), &request, session.clock.now())?;
    if session.global.json {
        print_json(&briefing.as_json())?;
    } else if briefing.text.is_empty() {
        print_aside("nothing is known of this project yet");
    } else {
        // As an assistant gets it: not folded.
        let text = format!("{}\n", crate::report::escape_terminal(&briefing.text));
        std::io::stdout().write_all(text.as_bytes()).map_err(|error| {
            crate::Error::new(ExitCode::Failure, format!("cannot print: {error}"))
        })?;
        if briefing.left_out > 0 {
            print_aside(&format!("{} more entries did not fit", briefing.left_out));
        }
    }
    Ok(ExitCode::Success)
}
