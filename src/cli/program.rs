//! `lifecycle self`: the program itself.

use super::{Session, escape_terminal, init, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::install::Record;
use crate::store::Store;
use crate::tick;
use clap::{Args, Subcommand};

/// Options of `self`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle self uninstall                list what would go, then ask
  lifecycle self uninstall --keep-data    leave the store")]
pub struct SelfArgs {
    #[command(subcommand)]
    command: SelfCommand,
}

#[derive(Subcommand)]
enum SelfCommand {
    /// Remove everything the program made: lines in config files, hooks, schedule, data
    Uninstall {
        /// Remove without asking
        #[arg(long)]
        yes: bool,
        /// Keep the data folder
        #[arg(long)]
        keep_data: bool,
    },
}

/// Runs the subcommand.
pub fn run(session: &Session, args: &SelfArgs) -> Result<ExitCode> {
    let SelfCommand::Uninstall { yes, keep_data } = &args.command;
    list(session, *keep_data)?;
    if !*yes && !init::asked("Remove all of this?")? {
        print_text("nothing was removed\n");
        return Ok(ExitCode::Success);
    }
    uninstall(session, *keep_data)
}

fn list(session: &Session, keep_data: bool) -> Result<()> {
    let mut out = String::new();
    if session.paths.database().exists() {
        let store = Store::open(&session.paths, &session.settings)?;
        for path in tick::files_of_ours(&store)? {
            out.push_str(&format!("our lines in      {path}\n"));
        }
    }
    for row in Record::load(&session.paths)?.places {
        out.push_str(&format!("{:18}{}\n", row.owner, row.place));
    }
    if !keep_data && session.paths.data.exists() {
        out.push_str(&format!("data folder       {}\n", session.paths.data.display()));
    }
    if let Ok(program) = crate::install::program() {
        out.push_str(&format!("stays             {program} (delete it yourself)\n"));
    }
    print_text(&escape_terminal(&out));
    Ok(())
}

fn uninstall(session: &Session, keep_data: bool) -> Result<ExitCode> {
    if session.paths.database().exists() {
        let run = tick::withdraw_all(&session.settings, &session.paths, session.clock)?;
        super::run::show(session, &run)?;
        if run.code != ExitCode::Success {
            return Err(Error::refused("some lines could not be taken out, so the data stays")
                .hint("mend the files named above and run the command again"));
        }
    }
    let code = init::undo(session, |_| true)?;
    if keep_data || code != ExitCode::Success {
        return Ok(code);
    }
    let data = &session.paths.data;
    if data.exists() {
        remove_data(session)?;
        print_text(&format!("removed   {}\n", data.display()));
    }
    Ok(code)
}

/// Removes what the engine makes in its data folder; a file of somebody else's keeps the folder.
fn remove_data(session: &Session) -> Result<()> {
    const OURS: &[&str] =
        &["inbox", "inbox-spare", "index", "models", "log", "backups", "tick.lock"];
    let data = &session.paths.data;
    let entries = std::fs::read_dir(data).map_err(|error| Error::io(data, &error))?;
    for entry in entries.filter_map(std::result::Result::ok) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !OURS.contains(&name.as_str()) && !name.starts_with("lifecycle.") {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let done =
            if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        done.map_err(|error| Error::io(&path, &error))?;
    }
    match std::fs::remove_dir(data) {
        Ok(()) => Ok(()),
        Err(error) => {
            print_text(&format!("{} holds other files and stays: {error}\n", data.display()));
            Ok(())
        }
    }
}
