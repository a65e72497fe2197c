//! The briefing on the hot path: read quickly or not at all.
//!
//! The store is only read (no migration, a short wait for a lock), the settings are read from their
//! file, no model is opened. All of it runs on a thread of its own that the hook does not wait for
//! beyond `brief.limit_ms`: an assistant then starts without a briefing, which is no fault.

use super::{Briefing, Request, compose};
use crate::capture::inbox::{self, Record, Shown};
use crate::capture::project;
use crate::config::{Layers, Settings};
use crate::error::Result;
use crate::paths::{Paths, create_private};
use crate::store::Store;
use lifecycle_phases::entry::hex;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What the hook knows.
#[derive(Clone, Debug)]
pub struct Occasion {
    /// Name of the event.
    pub event: String,
    /// Id of the session.
    pub session: Option<String>,
    /// Working folder.
    pub cwd: Option<String>,
    /// What the user asked for.
    pub prompt: Option<String>,
}

/// What is to be printed, and what follows from printing it.
pub struct Output {
    /// One JSON object.
    pub text: String,
    briefing: Briefing,
}

/// Longest wait for the settings.
const FIRST: Duration = Duration::from_millis(150);

/// The briefing for an occasion, or `None` where there is none, it is switched off, or it is not
/// ready in time. `may_read` says of a folder whether it is captured at all.
pub fn within_limit(
    paths: &Paths,
    occasion: &Occasion,
    now: i64,
    closed: impl Fn(&Settings, &Path) -> bool + Send + 'static,
) -> Option<Output> {
    let started = Instant::now();
    let (limit, limits) = mpsc::channel();
    let (done, results) = mpsc::channel();
    let (paths, occasion) = (paths.clone(), occasion.clone());
    std::thread::Builder::new()
        .spawn(move || {
            let Ok(settings) = Layers::load(&paths, &[]).and_then(|layers| layers.settings())
            else {
                return;
            };
            let _ = limit.send(Duration::from_millis(settings.brief.limit_ms));
            let made = make(&settings, &paths, &occasion, now, &closed);
            let _ = done.send(made.ok().flatten());
        })
        .ok()?;
    let limit = limits.recv_timeout(FIRST).ok()?;
    results.recv_timeout(limit.saturating_sub(started.elapsed())).ok().flatten()
}

fn make(
    settings: &Settings,
    paths: &Paths,
    occasion: &Occasion,
    now: i64,
    closed: &dyn Fn(&Settings, &Path) -> bool,
) -> Result<Option<Output>> {
    let on_prompt = occasion.event == "UserPromptSubmit";
    let wanted = if on_prompt { settings.brief.on_prompt } else { settings.brief.session_start };
    let Some(cwd) = occasion.cwd.as_deref().map(Path::new).filter(|_| wanted) else {
        return Ok(None);
    };
    if closed(settings, cwd) {
        return Ok(None);
    }
    let Some(connection) = Store::peek(paths)? else { return Ok(None) };
    let seen = if on_prompt { shown_before(paths, occasion) } else { BTreeSet::new() };
    let request = Request {
        project: project::project_of(cwd),
        branch: project::branch_of(cwd),
        prompt: occasion.prompt.clone().filter(|_| on_prompt),
        tokens: if on_prompt { settings.brief.prompt_tokens } else { settings.brief.tokens },
        shown: seen,
        least_score: if on_prompt { settings.brief.least_score } else { 0.0 },
    };
    let briefing = compose(&connection, &request, now)?;
    if briefing.text.is_empty() {
        return Ok(None);
    }
    let text = json!({ "hookSpecificOutput": {
        "hookEventName": occasion.event, "additionalContext": briefing.text } })
    .to_string();
    Ok(Some(Output { text, briefing }))
}

impl Output {
    /// Leaves a record of what was shown: the next tick counts it, the next prompt does not get it
    /// again.
    pub fn note(&self, paths: &Paths, occasion: &Occasion, now: i64) -> Result<()> {
        let Some(session) = &occasion.session else { return Ok(()) };
        let entries = self.briefing.recalled(session, now);
        if !entries.is_empty() {
            inbox::put(paths, &Record::Recalled(Shown { entries }), now)?;
        }
        let mut ids = shown_before(paths, occasion);
        if occasion.event != "UserPromptSubmit" {
            ids.clear();
        }
        ids.extend(self.briefing.facts.iter().map(|fact| fact.stored.entry.id.to_string()));
        create_private(&folder(paths))?;
        let file = file_of(paths, session);
        crate::durable::replace_unsynced(&file, &serde_json::to_vec(&ids)?)
            .map_err(|error| crate::Error::io(&file, &error))
    }
}

fn shown_before(paths: &Paths, occasion: &Occasion) -> BTreeSet<String> {
    let file = occasion.session.as_deref().map(|session| file_of(paths, session));
    let bytes = file.and_then(|file| crate::regular::read(&file, crate::regular::SMALL).ok());
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn folder(paths: &Paths) -> PathBuf {
    paths.data.join("brief")
}

fn file_of(paths: &Paths, session: &str) -> PathBuf {
    folder(paths).join(format!("{}.json", hex(session.as_bytes(), 16)))
}

/// Removes what was noted of sessions that are over for long.
pub fn forget_old(paths: &Paths, now: i64, days: u32) {
    let Ok(files) = std::fs::read_dir(folder(paths)) else { return };
    for file in files.flatten() {
        let modified = file.metadata().ok().and_then(|meta| meta.modified().ok());
        let age = modified
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok())
            .map(|since| now.saturating_sub(i64::try_from(since.as_millis()).unwrap_or(now)));
        if age.is_some_and(|age| age > i64::from(days) * 86_400_000) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}
