//! `lifecycle config`: the settings in force.

use super::{Session, print_json, print_raw, print_text};
use crate::config::{DEFAULTS, Origin, open_table};
use crate::error::{ExitCode, Result};
use crate::report::broken;
use clap::{Args, Subcommand};
use serde_json::json;

/// Options of `config`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle config show --origin
  lifecycle config explain age.newer_entries
  lifecycle config explain consolidate.providers
  lifecycle config edit
  lifecycle config path")]
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
    /// Print what a setting means, its default, the value in force and where that comes from
    Explain {
        /// The key (age.newer_entries), or a section (age)
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
        ConfigCommand::Explain { key } => explain(session, key)?,
        ConfigCommand::Edit => return super::edit::run(&session.global, &session.paths),
        ConfigCommand::Path => {
            let path = &session.paths.config_file;
            if session.global.json {
                print_json(&json!({ "path": path }))?;
            } else {
                print_raw(&format!("{}\n", path.display()));
            }
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
        print_text(&assignment(&key, &format!("{value}{from}")));
    }
    Ok(())
}

/// `key = value`, what goes on indented.
fn assignment(key: &str, value: &str) -> String {
    format!("{}\n", broken(&format!("{key} = "), "    ", value))
}

fn explain(session: &Session, key: &str) -> Result<()> {
    let values = session.layers.values();
    let meant: Vec<&(String, String, Origin)> =
        values.iter().filter(|(known, ..)| known == key).collect();
    let section = format!("{key}.");
    let inside: Vec<_> = values.iter().filter(|(known, ..)| known.starts_with(&section)).collect();
    let open = open_table(key);
    if meant.is_empty() && inside.is_empty() && open.is_none() {
        return Err(session.layers.unknown_key(key));
    }
    let about = documented(key).or_else(|| open.and_then(documented));
    if session.global.json {
        return explain_json(&about, meant.first().copied(), key);
    }
    let about = about.unwrap_or_default();
    print_text(&flowing(&about.comment));
    if let Some(default) = &about.default {
        print_text(&format!("default:  {default}\n"));
    }
    match meant.first() {
        Some((_, value, from)) => print_text(&format!("in force: {value}\nfrom:     {from}\n")),
        None if inside.is_empty() => print_text("in force: nothing; it is yours to name\n"),
        None => inside.iter().for_each(|(key, value, _)| print_text(&assignment(key, value))),
    }
    Ok(())
}

fn explain_json(
    about: &Option<Explained>,
    meant: Option<&(String, String, Origin)>,
    key: &str,
) -> Result<()> {
    print_json(&json!({
        "key": key,
        "comment": about.as_ref().map(|about| about.comment.trim_end()),
        "default": about.as_ref().and_then(|about| about.default.as_deref()),
        "value": meant.map(|(_, value, _)| value),
        "origin": meant.map(|(.., from)| from.to_string()),
    }))
}

/// What the commented defaults say of a key.
#[derive(Default)]
struct Explained {
    comment: String,
    default: Option<String>,
}

/// A comment whose sentences are not bound to its lines; what is an example keeps them.
fn flowing(comment: &str) -> String {
    let is_example = |line: &str| {
        line.starts_with([' ', '['])
            || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let mut out = String::new();
    let mut after_sentence = false;
    for line in comment.lines() {
        let goes_on = after_sentence && !is_example(line);
        if !out.is_empty() {
            out.push(if goes_on { ' ' } else { '\n' });
        }
        out.push_str(line);
        after_sentence = !is_example(line);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The comment above a key or a section in the defaults, and the default. Keys that stand together
/// share the comment above the first of them, be it that of their section.
fn documented(key: &str) -> Option<Explained> {
    let (mut section, mut comment, mut fresh) = (String::new(), String::new(), false);
    for line in DEFAULTS.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix('#') {
            if !fresh {
                comment.clear();
            }
            fresh = true;
            comment.push_str(&format!("{}\n", text.strip_prefix(' ').unwrap_or(text)));
            continue;
        }
        fresh = false;
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_string();
            if section == key {
                return Some(Explained { comment, default: None });
            }
        } else if let Some((name, value)) = line.split_once(" = ")
            && key.strip_prefix(&section).and_then(|rest| rest.strip_prefix('.')) == Some(name)
        {
            return Some(Explained { comment, default: Some(value.to_string()) });
        } else if line.is_empty() {
            comment.clear();
        }
    }
    open_table(key).filter(|table| *table == key).and_then(commented_example)
}

/// What the defaults say above a table of which they only have an example in comments.
fn commented_example(table: &str) -> Option<Explained> {
    let lines: Vec<&str> = DEFAULTS.lines().collect();
    let at = lines.iter().position(|line| {
        line.strip_prefix('#').is_some_and(|text| text.trim().starts_with(&format!("[{table}.")))
    })?;
    let is_comment = |line: &&&str| line.starts_with('#');
    let start = at - lines[..at].iter().rev().take_while(is_comment).count();
    let end = at + lines[at..].iter().take_while(is_comment).count();
    let text = |line: &&str| line.trim_start_matches('#').strip_prefix(' ').map(str::to_string);
    let comment: Vec<String> =
        lines[start..end].iter().map(|line| text(line).unwrap_or_default()).collect();
    Some(Explained { comment: format!("{}\n", comment.join("\n")), default: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn sentences_flow_and_examples_stand() {
        let comment = "A provider,\nfor example:\n[a.b]\nkind = \"x\"\nA hosted one\nneeds more.\n";
        let wanted = "A provider, for example:\n[a.b]\nkind = \"x\"\nA hosted one needs more.\n";
        assert_eq!(flowing(comment), wanted);
    }

    #[test]
    fn each_key_is_explained_by_its_own_comment() {
        let of = |key: &str| documented(key).map(|about| about.comment).unwrap_or_default();
        assert!(of("capture.scan_days").starts_with("Conversations last written longer ago"));
        assert!(of("search.snippet_chars").starts_with("Texts up to this length"));
        assert!(of("redact.patterns").contains("Patterns of your own"));
        assert!(of("consolidate.providers").contains("kind = \"ollama\""));
        assert!(of("route.targets").contains("docs/notes.md"));
        let silent: Vec<String> = Layers::defaults()
            .values()
            .into_iter()
            .map(|(key, ..)| key)
            .filter(|key| documented(key).is_none_or(|about| about.comment.trim().is_empty()))
            .collect();
        assert!(silent.is_empty(), "settings without a comment: {silent:#?}");
    }
}
