//! `lifecycle show`: one entry with its links, its sources, its lines in files and its history.

use super::list::entry_json;
use super::{Session, escape_terminal, one_line, print_json, print_text, short_id};
use crate::error::{ExitCode, Result};
use crate::store::{self, Store, StoredEntry};
use clap::Args;
use lifecycle_phases::EntryId;
use rusqlite::Connection;
use serde_json::{Value, json};

/// Options of `show`.
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the entry, or its start
    id: String,
}

/// Everything the store knows of an entry.
pub struct Relations {
    /// The entries it was made from.
    pub sources: Vec<StoredEntry>,
    /// The proven entry it lives on in.
    pub proven: Option<StoredEntry>,
    /// Its active links: similarity, differing, other end.
    pub links: Vec<(f64, Option<String>, StoredEntry)>,
    /// Its lines in files: path, section, line, status.
    pub routes: Vec<Value>,
    /// The steps it was part of: tick, step, reason, status.
    pub history: Vec<Value>,
}

/// Prints the entry.
pub fn run(session: &Session, args: &ShowArgs) -> Result<ExitCode> {
    by_id(session, &args.id)
}

/// Prints the entry whose id starts with `id`.
pub fn by_id(session: &Session, id: &str) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let stored = store::resolve(store.reader(), id)?;
    let relations = relations(store.reader(), &stored)?;
    if session.global.json {
        print_json(&as_json(&stored, &relations))?;
    } else {
        print(&stored, &relations);
    }
    Ok(ExitCode::Success)
}

/// Looks up everything the store knows of `stored`.
pub fn relations(connection: &Connection, stored: &StoredEntry) -> Result<Relations> {
    let sources = related(
        connection,
        "SELECT source FROM provenance WHERE proven = ?1 AND active ORDER BY source",
        stored.seq,
    )?;
    let proven = related(
        connection,
        "SELECT proven FROM provenance WHERE source = ?1 AND active ORDER BY proven DESC LIMIT 1",
        stored.seq,
    )?;
    Ok(Relations {
        sources,
        proven: proven.into_iter().next(),
        links: links(connection, stored.seq)?,
        routes: routes(connection, stored.seq)?,
        history: history(connection, &stored.entry.id)?,
    })
}

fn related(connection: &Connection, sql: &str, seq: i64) -> Result<Vec<StoredEntry>> {
    let mut statement = connection.prepare(sql)?;
    let keys: Vec<i64> = statement.query_map([seq], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for key in keys {
        found.extend(store::entry_by_seq(connection, key)?);
    }
    Ok(found)
}

fn links(connection: &Connection, seq: i64) -> Result<Vec<(f64, Option<String>, StoredEntry)>> {
    let mut statement = connection.prepare(
        "SELECT similarity, differing, CASE WHEN a = ?1 THEN b ELSE a END FROM link
         WHERE (a = ?1 OR b = ?1) AND active ORDER BY similarity DESC",
    )?;
    let rows: Vec<(f64, Option<String>, i64)> = statement
        .query_map([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for (similarity, differing, other) in rows {
        if let Some(other) = store::entry_by_seq(connection, other)? {
            found.push((similarity, differing, other));
        }
    }
    Ok(found)
}

fn routes(connection: &Connection, seq: i64) -> Result<Vec<Value>> {
    let mut statement = connection.prepare(
        "SELECT path, section, line, status, score, runners_up FROM route WHERE entry = ?1",
    )?;
    let rows = statement.query_map([seq], |row| {
        let section: String = row.get(1)?;
        let runners_up: String = row.get(5)?;
        Ok(json!({
            "path": row.get::<_, String>(0)?,
            "section": serde_json::from_str::<Value>(&section).unwrap_or_default(),
            "line": row.get::<_, String>(2)?,
            "status": row.get::<_, String>(3)?,
            "score": row.get::<_, f64>(4)?,
            "runners_up": serde_json::from_str::<Value>(&runners_up).unwrap_or_default(),
        }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn history(connection: &Connection, id: &EntryId) -> Result<Vec<Value>> {
    let mut statement = connection.prepare(
        "SELECT tick, n, name, reason, status FROM step WHERE entry = ?1 ORDER BY tick, n",
    )?;
    let rows = statement.query_map([id.as_str()], |row| {
        Ok(json!({
            "tick": row.get::<_, i64>(0)?,
            "n": row.get::<_, i64>(1)?,
            "step": row.get::<_, String>(2)?,
            "reason": row.get::<_, String>(3)?,
            "status": row.get::<_, String>(4)?,
        }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The entry and its relations as programs get them.
pub fn as_json(stored: &StoredEntry, relations: &Relations) -> Value {
    let mut value = entry_json(stored);
    value["sources"] = relations.sources.iter().map(entry_json).collect();
    value["proven"] = relations.proven.as_ref().map(entry_json).into();
    value["links"] = relations
        .links
        .iter()
        .map(|(similarity, differing, other)| {
            json!({"similarity": similarity, "differing": differing,
                   "entry": other.entry.id, "text": other.entry.text})
        })
        .collect();
    value["routes"] = json!(relations.routes);
    value["history"] = json!(relations.history);
    value
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
