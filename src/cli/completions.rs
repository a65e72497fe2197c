//! `lifecycle completions` and `lifecycle man`: made from the command line's own definition.

use crate::error::{Error, ExitCode, Result};
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

/// Options of `completions`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle completions bash > ~/.bash_completion
  lifecycle completions zsh > ~/.zfunc/_lifecycle
  lifecycle completions fish > ~/.config/fish/completions/lifecycle.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Options of `man`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for the pages
    folder: PathBuf,
}

/// Prints the completions of a shell.
pub fn completions(mut command: Command, args: &CompletionsArgs) -> Result<ExitCode> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut command, "lifecycle", &mut out);
    super::print_raw(&String::from_utf8_lossy(&out));
    Ok(ExitCode::Success)
}

/// Writes a manual page for each subcommand.
pub fn man(command: Command, args: &ManArgs) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.folder).map_err(|error| Error::io(&args.folder, &error))?;
    clap_mangen::generate_to(command, &args.folder)
        .map_err(|error| Error::io(&args.folder, &error))?;
    Ok(ExitCode::Success)
}
