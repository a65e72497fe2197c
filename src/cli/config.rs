//! `lifecycle config`: the settings in force.

use super::{Session, print_json, print_text};
use crate::config::DEFAULTS;
use crate::error::{Error, ExitCode, Result};
use clap::{Args, Subcommand};
use serde_json::json;

/// Options of `config`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle config show --origin
  lifecycle config explain age.newer_entries
  lifecycle config edit")]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print every setting in force
    Show {
        /// With the layer each value came from
        #[arg(long)]
        origin: bool,
    },
    /// Print what a setting means
    Explain {
        /// The key, e.g. age.newer_entries
        key: String,
    },
    /// Print the path of the user's settings file
    Path,
    /// Open the settings file in your editor; it counts only once it is valid
    Edit,
}

impl ConfigArgs {
    /// Whether it is `edit`, which must work where the settings do not.
    pub fn is_edit(&self) -> bool {
        matches!(self.command, ConfigCommand::Edit)
    }
}

/// Prints settings.
pub fn run(session: &Session, args: &ConfigArgs) -> Result<ExitCode> {
    match &args.command {
        ConfigCommand::Show { origin } => show(session, *origin)?,
        ConfigCommand::Explain { key } => print_text(&explain(key)?),
        ConfigCommand::Edit => return super::edit::run(&session.global, &session.paths),
        ConfigCommand::Path => {
            print_text(&format!("{}\n", session.paths.config_file.display()));
        }
    }
    Ok(ExitCode::Success)
}

fn show(session: &Session, origin: bool) -> Result<()> {
    let values = session.layers.values();
    if session.global.json {
        let rows: Vec<_> = values
            .iter()
            .map(|(key, value, from)| json!({"key": key, "value": value, "origin": from.to_string()}))
            .collect();
        return print_json(&rows);
    }
    for (key, value, from) in values {
        let from = if origin { format!("    # {from}") } else { String::new() };
        print_text(&format!("{key} = {value}{from}\n"));
    }
    Ok(())
}

/// The comment that stands above the key in the defaults, and the default.
fn explain(key: &str) -> Result<String> {
    let unknown = || Error::config(format!("unknown setting `{key}`"));
    let (section, name) = key.rsplit_once('.').ok_or_else(unknown)?;
    let mut comment = Vec::new();
    let mut inside = false;
    for line in DEFAULTS.lines() {
        if let Some(head) = line.strip_prefix('[') {
            inside = head.trim_end_matches(']') == section;
            comment.clear();
        } else if let Some(text) = line.strip_prefix('#') {
            comment.push(text.trim());
        } else if inside && line.split('=').next().is_some_and(|left| left.trim() == name) {
            return Ok(format!("{}\ndefault: {line}\n", comment.join("\n")));
        } else if line.trim().is_empty() {
            comment.clear();
        } else if line.contains(" = ") {
            // Keys that stand together share the comment above the first.
            continue;
        }
    }
    Err(unknown().hint("`lifecycle config show` lists every setting"))
}
