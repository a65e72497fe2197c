//! `lifecycle status`: the store on one screen.

use super::{Session, escape_terminal, one_line, print_json, print_text, schedule};
use crate::capture::inbox::{self, Closed};
use crate::clock::{format_time, shown};
use crate::embed::Catalog;
use crate::error::{ExitCode, Result};
use crate::index::stated_rows;
use crate::schedule::Backend;
use crate::store::{Overview, ProviderCalls, Store, TickRecord, TickStatus, overview};
use crate::tick::{Note, TickLock};

/// Entries that cannot be embedded shown one by one, so that it all stays on one screen.
const PARKED_SHOWN: usize = 3;
/// Notes of the newest tick shown.
const NOTES_SHOWN: usize = 5;
use serde_json::{Value, json};

/// Prints the figures.
pub fn run(session: &Session) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let figures = overview(store.reader(), session.clock.now())?;
    let inbox = Waiting::look(session);
    let bytes = folder_bytes(&session.paths.data);
    if session.global.json {
        print_json(&as_json(session, &figures, &inbox, bytes)?)?;
    } else {
        print_text(&as_text(session, &figures, &inbox, bytes)?);
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

fn as_json(session: &Session, figures: &Overview, inbox: &Waiting, bytes: u64) -> Result<Value> {
    Ok(json!({
        "store": session.paths.database(),
        "health": health(figures),
        "states": figures.states.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "unconnected": figures.unconnected,
        "parked": figures.parked,
        "links": figures.links,
        "index": index(session).json(),
        "clusters": figures.clusters,
        "batches": figures.batches,
        "unrouted": figures.unrouted,
        "inbox": inbox.records,
        "inbox_problems": inbox.problems,
        "last_run": TickLock::last_run(&session.paths).map(format_time),
        "last_tick": figures.last_tick.as_ref().map(tick_json),
        "last_success": figures.last_success.as_ref().map(tick_json),
        "calls": figures.calls.iter().map(|one| calls_json(session, one)).collect::<Vec<_>>(),
        "consolidation": {
            "failing_since": figures.consolidation.failing_since.map(format_time),
            "waiting": figures.consolidation.waiting,
            "postponed": figures.consolidation.postponed,
        },
        "embed_model": session.settings.embed.model,
        "reranker": session.settings.search.reranker,
        "consolidate_model": session.settings.consolidate.model,
        "bytes": bytes,
        "scheduled_by": schedule::installed(session)?.map(Backend::name),
        "next_run": schedule::next_millis(session)?.map(format_time),
        "embed_model_installed": is_installed(session),
    }))
}

/// Whether the files of the embedding model are there; a server's model is its own affair.
fn is_installed(session: &Session) -> Option<bool> {
    let embed = &session.settings.embed;
    let models = session.paths.models();
    let catalog = Catalog::load(&session.paths).ok().filter(|_| embed.url.is_empty())?;
    Some(catalog.get(&embed.model).is_ok_and(|known| known.is_installed(&models)))
}

fn calls_json(session: &Session, one: &ProviderCalls) -> Value {
    json!({
        "provider": one.provider,
        "calls": one.calls,
        "calls_today": one.calls_today,
        "tokens": one.tokens,
        "tokens_today": one.tokens_today,
        "per_day": per_day(session, &one.provider),
    })
}

/// The daily budget of a provider; `None`: no limit.
fn per_day(session: &Session, provider: &str) -> Option<u32> {
    let settings = &session.settings.consolidate;
    let own = settings.providers.get(provider).and_then(|own| own.per_day);
    Some(own.unwrap_or(settings.call.per_day)).filter(|limit| *limit > 0)
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

fn as_text(session: &Session, figures: &Overview, inbox: &Waiting, bytes: u64) -> Result<String> {
    let mut out = String::new();
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:14}{value}\n"));
    stored(figures, inbox, &mut line);
    waiting(figures, &mut line);
    ran(session, figures, &mut line)?;
    for provider in &figures.calls {
        line(
            "model calls",
            format!(
                "{}: {} today{}, {} tokens; {} in 7 days, {} tokens",
                provider.provider,
                provider.calls_today,
                per_day(session, &provider.provider)
                    .map_or(String::new(), |limit| format!(" of {limit} a day")),
                provider.tokens_today,
                provider.calls,
                provider.tokens
            ),
        );
    }
    let missing = match is_installed(session) {
        Some(false) => " (not installed: `lifecycle setup`)",
        _ => "",
    };
    line("embedding by", format!("{}{missing}", session.settings.embed.model));
    line(
        "reranking by",
        match session.settings.search.reranker.as_str() {
            "" => "none (search.reranker)".into(),
            name => name.to_string(),
        },
    );
    line("neighbours", index(session).words());
    line("merging by", session.settings.consolidate.model.to_string());
    line("store", format!("{} ({} in its folder)", session.paths.data.display(), size(bytes)));
    Ok(escape_terminal(&out))
}

fn stored(figures: &Overview, inbox: &Waiting, line: &mut impl FnMut(&str, String)) {
    let states: Vec<String> =
        figures.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    line("entries", if states.is_empty() { "none".into() } else { states.join(", ") });
    line("links", figures.links.to_string());
    if figures.unconnected > 0 {
        line("to connect", figures.unconnected.to_string());
    }
    if inbox.records > 0 {
        line("inbox", format!("{} records wait for the next tick", inbox.records));
    }
    inbox.problems.iter().for_each(|problem| line("inbox", problem.clone()));
}

fn waiting(figures: &Overview, line: &mut impl FnMut(&str, String)) {
    for parked in figures.parked.iter().take(PARKED_SHOWN) {
        let word = if parked.parked { "parked" } else { "will be retried" };
        let id = parked.entry.get(..8).unwrap_or(&parked.entry);
        line("not embedded", format!("{id} ({word}): {}", one_line(&parked.reason, 200)));
    }
    if let Some(more) = figures.parked.len().checked_sub(PARKED_SHOWN).filter(|more| *more > 0) {
        line("", format!("… and {more} more (--json shows all)"));
    }
    for group in &figures.clusters {
        let when = group.next_try.map(|at| format!(", not before {}", shown(at)));
        let (count, outcome) = (group.count, &group.outcome);
        let reason = one_line(&group.reason, 200);
        line("clusters", format!("{count} {outcome}{}: {reason}", when.unwrap_or_default()));
    }
    for group in figures.batches.iter().filter(|group| group.is_open()) {
        let when = group.next_try.map(|at| format!(", not before {}", format_time(at)));
        let reason = if group.reason.is_empty() { "not observed yet" } else { &group.reason };
        let (count, state) = (group.count, &group.state);
        line("batches", format!("{count} {state}{}: {reason}", when.unwrap_or_default()));
    }
    if figures.unrouted > 0 {
        line("not routed", format!("{} proven entries", figures.unrouted));
    }
    let consolidation = &figures.consolidation;
    if let Some(since) = consolidation.failing_since {
        let (since, waiting) = (shown(since), consolidation.waiting);
        line("consolidation", format!("failing since {since}; {waiting} clusters wait"));
    }
    if consolidation.postponed > 0 {
        line("postponed", format!("{} runs found the machine busy", consolidation.postponed));
    }
}

fn ran(session: &Session, figures: &Overview, line: &mut impl FnMut(&str, String)) -> Result<()> {
    line("health", health(figures).to_string());
    let last = TickLock::last_run(&session.paths).map(shown);
    line("last run", last.unwrap_or_else(|| "never".into()));
    let next = schedule::next_millis(session)?.map_or_else(|| "never".into(), shown);
    line(
        "next run",
        match schedule::installed(session)? {
            Some(by) => format!("{next} (by {})", by.name()),
            None => "not scheduled (`lifecycle schedule install`)".into(),
        },
    );
    let Some(tick) = &figures.last_tick else { return Ok(()) };
    line("last tick", format!("{} {} {}", tick.id, shown(tick.started), tick.status.as_str()));
    let notes = notes(tick);
    for note in notes.iter().take(NOTES_SHOWN) {
        line("", format!("{}: {}", note.phase, one_line(&note.text, 200)));
    }
    if let Some(more) = notes.len().checked_sub(NOTES_SHOWN).filter(|more| *more > 0) {
        line("", format!("… and {more} more (`lifecycle report`)"));
    }
    Ok(())
}

fn size(bytes: u64) -> String {
    if bytes < 10 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

/// How neighbours are found.
#[derive(Default)]
struct Index {
    /// Projects with an index file, and those of them with a graph.
    projects: usize,
    graphs: usize,
    /// Vectors in all of these files.
    vectors: usize,
    /// Numbers up to which every vector of a project is compared.
    limit: usize,
}

fn index(session: &Session) -> Index {
    let mut index = Index { limit: session.settings.connect.exact_numbers, ..Index::default() };
    let files = std::fs::read_dir(session.paths.index()).into_iter().flatten().flatten();
    for path in files.map(|file| file.path()) {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("index") => {
                index.projects += 1;
                index.vectors += stated_rows(&path).unwrap_or_default();
            }
            Some("hnsw") => index.graphs += 1,
            _ => {}
        }
    }
    index
}

impl Index {
    fn words(&self) -> String {
        let kind = match self.graphs {
            0 => "exact".to_string(),
            graphs if graphs >= self.projects => "hnsw".into(),
            graphs => format!("hnsw for {graphs}, exact for {}", self.projects - graphs),
        };
        let (vectors, projects, limit) = (self.vectors, self.projects, self.limit);
        format!("{kind}, {vectors} vectors in {projects} files; hnsw beyond {limit} numbers")
    }

    fn json(&self) -> Value {
        json!({
            "kind": if self.graphs == 0 { "exact" } else { "hnsw" },
            "projects": self.projects,
            "graphs": self.graphs,
            "vectors": self.vectors,
            "exact_up_to_numbers": self.limit,
        })
    }
}

/// What hooks said and no tick has taken in yet.
struct Waiting {
    records: usize,
    /// What is wrong with the folders for records.
    problems: Vec<String>,
}

impl Waiting {
    fn look(session: &Session) -> Self {
        let mut found = Self { records: 0, problems: Vec::new() };
        for folder in [session.paths.inbox(), session.paths.spare_inbox()] {
            let (files, wrong) = inbox::records(&folder);
            found.records += files.len();
            found.problems.extend(wrong.map(|why| Closed { folder, why }.to_string()));
        }
        found
    }
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
