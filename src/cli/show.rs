//! `lifecycle show`: one entry with its links, its sources, its lines in files and its history.

use super::{Session, escape_terminal, one_line, print_json, print_text, short_id};
use crate::error::{ExitCode, Result};
use crate::report::relations_json;
use crate::store::{self, Relations, Store, StoredEntry, relations};
use clap::Args;
use serde_json::Value;

/// Options of `show`.
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the entry, or its start
    id: String,
}

/// Prints the entry.
pub fn run(session: &Session, args: &ShowArgs) -> Result<ExitCode> {
    by_id(session, &args.id)
}

/// Prints the entry whose id starts with `id`.
pub fn by_id(session: &Session, id: &str) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let stored = store::resolve(store.reader(), id)?;
    let relations = relations(store.reader(), &stored)?;
    if session.global.json {
        print_json(&relations_json(&stored, &relations))?;
    } else {
        print(&stored, &relations);
    }
    Ok(ExitCode::Success)
}

fn print(stored: &StoredEntry, relations: &Relations) {
    let entry = &stored.entry;
    let mut out = format!("{}  {}  {}\n", entry.id, entry.state, entry.kind);
    if let Some(title) = &entry.title {
        out.push_str(&format!("{}\n", escape_terminal(title)));
    }
    out.push_str(&format!("{}\n\n", escape_terminal(&entry.text)));
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{name:14}{}\n", escape_terminal(value)));
        }
    };
    field("project", entry.project.as_deref().unwrap_or("(none)"));
    field("said by", entry.source.actor.as_str());
    field("came by", entry.source.channel.as_str());
    field("conversation", entry.source.conversation.as_deref().unwrap_or(""));
    field("written by", entry.generated_by.as_deref().unwrap_or(""));
    field(
        "state since",
        &format!("{}  {}", crate::clock::shown(stored.state_at), stored.state_reason),
    );
    if entry.recalls + entry.reprieves > 0 {
        field("recalls", &entry.recalls.to_string());
        field("reprieves", &entry.reprieves.to_string());
    }
    section(&mut out, "made from", relations.sources.iter().map(line_of));
    section(&mut out, "lives on in", relations.proven.iter().map(line_of));
    let links = relations.links.iter().map(|(similarity, differing, other)| {
        let mark = differing.as_ref().map(|kind| format!("[differs: {kind}] ")).unwrap_or_default();
        format!("{similarity:.2}  {mark}{}", line_of(other))
    });
    section(&mut out, "linked to", links);
    let routes = relations.routes.iter().map(|route| {
        format!("{} [{}] {}", text(route, "path"), text(route, "status"), text(route, "line"))
    });
    section(&mut out, "in files", routes);
    let history = relations.history.iter().map(|step| {
        format!(
            "tick {} step {}: {} [{}] {}",
            step["tick"],
            step["n"],
            text(step, "step"),
            text(step, "status"),
            text(step, "reason")
        )
    });
    section(&mut out, "history", history);
    print_text(&out);
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn line_of(stored: &StoredEntry) -> String {
    format!("{}  {}", short_id(&stored.entry.id), stored.entry.text)
}

fn section(out: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{name}:\n"));
    for line in lines {
        out.push_str(&format!("  {}\n", one_line(&line, 76)));
    }
}
