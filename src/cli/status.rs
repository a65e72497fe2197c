//! `lifecycle status`: the store on one screen.

use super::{Session, escape_terminal, print_json, print_text};
use crate::clock::format_time;
use crate::error::{ExitCode, Result};
use crate::store::{Overview, Store, TickRecord, TickStatus, overview};
use crate::tick::{Note, TickLock};
use serde_json::{Value, json};

/// Prints the figures.
pub fn run(session: &Session) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let figures = overview(store.reader(), session.clock.now())?;
    let inbox = count_files(&session.paths.inbox());
    let bytes = folder_bytes(&session.paths.data);
    if session.global.json {
        print_json(&as_json(session, &figures, inbox, bytes))?;
    } else {
        print_text(&as_text(session, &figures, inbox, bytes));
    }
    Ok(ExitCode::Success)
}

/// Whether the newest tick ended well: `healthy`, `failing`, `never run`.
fn health(figures: &Overview) -> &'static str {
    match &figures.last_tick {
        None => "never run",
        Some(tick) if tick.status == TickStatus::Incomplete => "failing",
        Some(tick) if tick.status == TickStatus::Running => "running",
        Some(_) => "healthy",
    }
}

fn as_json(session: &Session, figures: &Overview, inbox: usize, bytes: u64) -> Value {
    json!({
        "store": session.paths.database(),
        "health": health(figures),
        "states": figures.states.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "unconnected": figures.unconnected,
        "parked": figures.parked,
        "links": figures.links,
        "clusters": figures.clusters,
        "unrouted": figures.unrouted,
        "inbox": inbox,
        "last_run": TickLock::last_run(&session.paths).map(format_time),
        "last_tick": figures.last_tick.as_ref().map(tick_json),
        "last_success": figures.last_success.as_ref().map(tick_json),
        "calls": figures.calls,
        "embed_model": session.settings.embed.model,
        "reranker": session.settings.search.reranker,
        "consolidate_model": session.settings.consolidate.model,
        "bytes": bytes,
    })
}

fn tick_json(tick: &TickRecord) -> Value {
    json!({
        "id": tick.id,
        "started": format_time(tick.started),
        "finished": tick.finished.map(format_time),
        "status": tick.status,
        "notes": notes(tick),
    })
}

fn notes(tick: &TickRecord) -> Vec<Note> {
    serde_json::from_str(&tick.notes).unwrap_or_default()
}

fn as_text(session: &Session, figures: &Overview, inbox: usize, bytes: u64) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:14}{value}\n"));
    let states: Vec<String> =
        figures.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    line("entries", if states.is_empty() { "none".into() } else { states.join(", ") });
    line("links", figures.links.to_string());
    if figures.unconnected > 0 {
        line("to connect", figures.unconnected.to_string());
    }
    if inbox > 0 {
        line("inbox", format!("{inbox} records wait for the next tick"));
    }
    for parked in &figures.parked {
        let word = if parked.parked { "parked" } else { "will be retried" };
        line("not embedded", format!("{} ({word}): {}", parked.entry, parked.reason));
    }
    for group in &figures.clusters {
        let when = group.next_try.map(|at| format!(", not before {}", format_time(at)));
        line(
            "clusters",
            format!(
                "{} {}{}: {}",
                group.count,
                group.outcome,
                when.unwrap_or_default(),
                group.reason
            ),
        );
    }
    if figures.unrouted > 0 {
        line("not routed", format!("{} proven entries", figures.unrouted));
    }
    line("health", health(figures).to_string());
    if let Some(at) = TickLock::last_run(&session.paths) {
        line("last run", format_time(at));
    }
    if let Some(tick) = &figures.last_tick {
        line(
            "last tick",
            format!("{} {} {}", tick.id, format_time(tick.started), tick.status.as_str()),
        );
        for note in notes(tick) {
            line("", format!("{}: {}", note.phase, note.text));
        }
    }
    for provider in &figures.calls {
        line(
            "model calls",
            format!(
                "{}: {} in 7 days, {} today, {} tokens",
                provider.provider, provider.calls, provider.calls_today, provider.tokens
            ),
        );
    }
    line("embedding by", session.settings.embed.model.clone());
    line(
        "reranking by",
        match session.settings.search.reranker.as_str() {
            "" => "none (search.reranker)".into(),
            name => name.to_string(),
        },
    );
    line("merging by", session.settings.consolidate.model.to_string());
    line("store", format!("{} ({} KiB in its folder)", session.paths.data.display(), bytes / 1024));
    escape_terminal(&out)
}

fn count_files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| {
        entries
            .filter_map(|entry| entry.ok())
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
            .count()
    })
}

fn folder_bytes(folder: &std::path::Path) -> u64 {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|meta| meta.len())
        .sum()
}
