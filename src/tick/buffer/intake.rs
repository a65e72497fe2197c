//! Reads one conversation and stores what it says together with how far it was read.

use super::{Gate, decide, perform};
use crate::capture::extract::{Extractor, Find, Sitting, cut};
use crate::capture::inbox::Announcement;
use crate::capture::transcript::{self, Content, Cursor, Echo, Limits, Message, Reading};
use crate::capture::{Assistant, PROMPT_MARK, project, scan};
use crate::error::{Error, Result};
use crate::model::{MERGE_RULES, OBSERVE_RULES};
use crate::redact::{Counts, Redactor};
use crate::store::batches;
use crate::store::conversations::{self, Conversation, OWN, SUB_AGENT};
use crate::tick::Context;
use crate::tick::observe::events::Watcher;
use lifecycle_phases::buffer::Arrival;
use lifecycle_phases::consolidate::prompt::MARK;
use lifecycle_phases::entry::hex;
use lifecycle_phases::observe::{self, Batch, Cut, StoredBatch};
use lifecycle_phases::text::normalise;
use lifecycle_phases::{Actor, Channel, Kind, Receipt};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A conversation to read, and who told of it.
pub(super) struct Source {
    assistant: Assistant,
    path: PathBuf,
    channel: Channel,
    session: Option<String>,
    cwd: Vec<String>,
    last_message: Option<String>,
    received: Option<i64>,
    ended: bool,
    /// Inbox records that are settled once this was read.
    pub(super) records: Vec<PathBuf>,
}

impl Source {
    pub(super) fn new(assistant: Assistant, path: PathBuf, channel: Channel) -> Self {
        Self {
            assistant,
            path,
            channel,
            session: None,
            cwd: Vec::new(),
            last_message: None,
            received: None,
            ended: false,
            records: Vec::new(),
        }
    }

    /// Adds what a hook told.
    pub(super) fn announced(&mut self, record: PathBuf, told: &Announcement) {
        self.records.push(record);
        self.session = told.session.clone().or(self.session.take());
        self.cwd.extend(told.cwd.clone());
        self.last_message = told.last_assistant_message.clone().or(self.last_message.take());
        self.received = Some(told.received);
        self.ended |= told.event.as_deref() == Some("SessionEnd");
    }

    /// Whether the file of an announced conversation may still be written where only the
    /// announcement tells of it.
    pub(super) fn may_still_appear(&self, ctx: &Context<'_>) -> bool {
        let patience = i64::from(ctx.settings.capture.scan_days) * 86_400_000;
        let is_recent = |received: i64| ctx.now().saturating_sub(received) < patience;
        let folders = scan::folders(&ctx.settings.capture, ctx.paths);
        let is_scanned = folders.iter().any(|(_, folder)| self.path.starts_with(folder));
        self.received.is_some_and(is_recent) && !is_scanned
    }
}

/// What came of a conversation.
pub(super) enum Outcome {
    /// There is no file, or nothing in it.
    Missing,
    /// It is read as far as it goes; these secrets were taken out.
    Read(Counts),
}

/// Beginnings of the engine's own prompts. As many bytes as [`OWN_LENGTH`] are compared, after
/// [`normalise`].
const OWN_PROMPTS: &[&str] = &[PROMPT_MARK, MARK, MERGE_RULES, OBSERVE_RULES];
const OWN_LENGTH: usize = 60;

/// A conversation without a word of its end counts as ended after half an hour.
const IDLE_MILLIS: u64 = 30 * 60 * 1000;

/// What reading a file gave.
#[derive(Default)]
struct Heard {
    finds: Vec<Find>,
    events: Vec<Cut>,
    counts: Counts,
    echo: Echo,
    sitting: Sitting,
    last_reply: String,
    own: bool,
    prompts_before: bool,
}

/// Reads conversations.
pub(super) struct Intake {
    extractor: Extractor,
    gate: Gate,
    limits: Limits,
    keeps_sittings: bool,
    /// Where the observer is on: what it looks at, and how much at once.
    watcher: Option<(Watcher, observe::Limits)>,
}

impl Intake {
    pub(super) fn new(ctx: &Context<'_>) -> Result<Self> {
        let settings = &ctx.settings.capture;
        Ok(Self {
            extractor: Extractor::new(
                &settings.marks,
                Redactor::new(&ctx.settings.redact.patterns)?,
            )?,
            gate: Gate::new(settings, ctx.paths)?,
            keeps_sittings: settings.session_entries,
            limits: Limits {
                line: settings.max_line_bytes,
                calls: ctx.settings.observe.enabled,
                ..Limits::default()
            },
            watcher: watcher(&ctx.settings.observe),
        })
    }

    /// Reads what is new in a conversation and stores it.
    pub(super) fn read(&self, ctx: &mut Context<'_>, source: &Source) -> Result<Outcome> {
        let nothing = || Ok(Outcome::Read(Counts::default()));
        let Some(file) = scan::stat(source.assistant, &source.path) else {
            return Ok(Outcome::Missing);
        };
        let (row, is_hidden) = self.row(ctx, &source.path)?;
        let same = row.size == file.size && row.modified == file.modified;
        if same || [OWN, SUB_AGENT].contains(&row.problem.as_str()) {
            if source.ended {
                self.record(ctx, row, source.channel)?;
            }
            return nothing();
        }
        let row =
            Conversation { size: file.size, modified: file.modified, last_read: ctx.now(), ..row };
        if self.is_own(source) {
            store(ctx, &[], 0, Conversation { problem: OWN.into(), ..row }, Vec::new())?;
            return nothing();
        }
        let from = row.offset;
        let sitting = serde_json::from_str(&row.sitting).unwrap_or_default();
        let mut heard = Heard { prompts_before: row.offset > 0, sitting, ..Heard::default() };
        let reading = self.hear(source, &row, &mut heard)?;
        let row = advanced(row, source, &reading, &heard);
        if !row.problem.is_empty() {
            store(ctx, &[], from, row, Vec::new())?;
            return nothing();
        }
        let arrivals = self.arrivals(source, &row, &heard);
        if arrivals.is_empty() && self.all_closed(source, &reading, is_hidden) {
            store(ctx, &[], from, hidden(row), Vec::new())?;
            return nothing();
        }
        let batches = self.batches(ctx, &row, std::mem::take(&mut heard.events))?;
        let is_silent = arrivals.is_empty() && batches.is_empty();
        let row = Conversation { sitting: self.sitting(&heard.sitting)?, ..row };
        store(ctx, &arrivals, from, row.clone(), batches)?;
        if source.ended {
            self.record(ctx, row, source.channel)?;
        }
        Ok(Outcome::Read(if is_silent { Counts::default() } else { heard.counts }))
    }

    /// The batches of what was done, those left out that the queue knows.
    fn batches(
        &self,
        ctx: &Context<'_>,
        row: &Conversation,
        events: Vec<Cut>,
    ) -> Result<Vec<Receipt>> {
        let Some((_, limits)) = &self.watcher else { return Ok(Vec::new()) };
        let mut receipts = Vec::new();
        for batch in observe::cut(events, *limits) {
            let batch =
                Batch { conversation: row.session.clone(), path: row.path.clone(), ..batch };
            let said = if batch.said > 0 { batch.said } else { row.modified };
            let stored = StoredBatch::new(Batch { said, ..batch });
            if batches::batch(ctx.store.reader(), &stored.key)?.is_none() {
                receipts.push(Receipt::Batch { batch: Box::new(stored) });
            }
        }
        Ok(receipts)
    }

    /// What is kept of a sitting until it ends.
    fn sitting(&self, sitting: &Sitting) -> Result<String> {
        let is_kept = self.keeps_sittings && *sitting != Sitting::default();
        if is_kept { Ok(serde_json::to_string(sitting)?) } else { Ok(String::new()) }
    }

    /// Leaves the records of conversations that ended without a word.
    pub(super) fn record_idle(&self, ctx: &mut Context<'_>) -> Result<()> {
        for row in conversations::unrecorded(ctx.store.reader())? {
            if ctx.now().abs_diff(row.modified) >= IDLE_MILLIS {
                self.record(ctx, row, Channel::Scan)?;
            }
        }
        Ok(())
    }

    /// Leaves the record of a sitting that ended, if it changed something.
    fn record(&self, ctx: &mut Context<'_>, row: Conversation, channel: Channel) -> Result<()> {
        if row.sitting.is_empty() {
            return Ok(());
        }
        let sitting: Sitting = serde_json::from_str(&row.sitting).unwrap_or_default();
        let mut from = lifecycle_phases::Source::new(channel, Actor::Assistant);
        from.conversation.clone_from(&row.session);
        from.path = Some(row.path.clone());
        from.offset = Some(row.offset);
        from.files.clone_from(&sitting.files);
        let arrivals: Vec<Arrival> = sitting
            .text()
            .map(|text| Arrival {
                text,
                kind: Kind::Session,
                project: row.project.clone(),
                created: sitting.began.unwrap_or(row.modified),
                source: from,
            })
            .into_iter()
            .collect();
        let from = row.offset;
        store(ctx, &arrivals, from, Conversation { sitting: String::new(), ..row }, Vec::new())
    }

    /// What is known of a file, and whether it is kept under the hash of its path.
    fn row(&self, ctx: &Context<'_>, path: &Path) -> Result<(Conversation, bool)> {
        let path = path.to_string_lossy().into_owned();
        let connection = ctx.store.reader();
        if let Some(row) = conversations::conversation(connection, &hidden_name(&path))? {
            return Ok((row, true));
        }
        let row = conversations::conversation(connection, &path)?;
        Ok((row.unwrap_or(Conversation { path, ..Conversation::default() }), false))
    }

    fn is_own(&self, source: &Source) -> bool {
        self.gate.is_own(&source.path)
            || source.cwd.iter().any(|cwd| self.gate.is_own(Path::new(cwd)))
    }

    fn hear(&self, source: &Source, row: &Conversation, heard: &mut Heard) -> Result<Reading> {
        let cursor = Cursor { offset: row.offset, check: row.tail_hash.clone() };
        let mut projects: BTreeMap<String, Option<Option<String>>> = BTreeMap::new();
        let mut part = |messages: &[Message], echo: &Echo| {
            for message in messages {
                let counts = &mut heard.counts;
                heard.events.extend(self.event(message, source, echo, &mut projects, counts));
                match &message.content {
                    Content::Prompt(text) => {
                        heard.own |= !heard.prompts_before && is_own_prompt(text);
                        heard.prompts_before = true;
                    }
                    Content::Reply(text) => heard.last_reply.clone_from(text),
                    Content::Act(_) => {}
                }
            }
            heard.finds.extend(self.extractor.finds(
                messages,
                echo,
                &mut heard.sitting,
                &mut heard.counts,
            ));
            heard.echo = echo.clone();
        };
        let reading = transcript::read(&source.path, &cursor, self.limits, &mut part)
            .map_err(|error| Error::io(&source.path, &error))?;
        self.hear_last(source, &reading, heard);
        Ok(reading)
    }

    /// What the observer sees of a message; nothing of a folder that is closed to capture.
    fn event(
        &self,
        message: &Message,
        source: &Source,
        echo: &Echo,
        projects: &mut BTreeMap<String, Option<Option<String>>>,
        counts: &mut Counts,
    ) -> Option<Cut> {
        let (watcher, _) = self.watcher.as_ref()?;
        let folder = message.cwd.as_ref().or(source.cwd.last()).cloned().unwrap_or_default();
        let project = projects.entry(folder).or_insert_with_key(|folder| {
            let is_closed = !folder.is_empty() && self.gate.is_closed(Path::new(folder));
            (!is_closed).then(|| project::project_of(folder))
        });
        watcher.event(message, project.clone()?, echo, &self.extractor, counts)
    }

    /// Takes in the last message that the hook handed over where the file does not have it yet.
    fn hear_last(&self, source: &Source, reading: &Reading, heard: &mut Heard) {
        let Some(told) = source.last_message.as_deref().filter(|_| reading.read > 0) else {
            return;
        };
        if normalise(&heard.last_reply).contains(&normalise(told)) {
            return;
        }
        for (text, kind) in self.extractor.in_last_message(told, &heard.echo) {
            heard.finds.push(Find {
                text,
                kind,
                actor: Actor::Assistant,
                said: source.received,
                cwd: reading.cwd.clone(),
                offset: reading.cursor.offset,
                files: Vec::new(),
            });
        }
    }

    fn arrivals(&self, source: &Source, row: &Conversation, heard: &Heard) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for find in &heard.finds {
            let folder = find.cwd.as_ref().or(source.cwd.last());
            if folder.is_some_and(|folder| self.gate.is_closed(Path::new(folder))) {
                continue;
            }
            let project = folder.map_or(row.project.clone(), project::project_of);
            arrivals.push(arrival(source, row, find, project));
        }
        arrivals
    }

    /// Whether every folder that is known of the conversation is closed to capture.
    fn all_closed(&self, source: &Source, reading: &Reading, is_hidden: bool) -> bool {
        let mut folders = reading.cwd.iter().chain(&source.cwd).peekable();
        let is_known = folders.peek().is_some();
        if is_known {
            folders.all(|folder| self.gate.is_closed(Path::new(folder)))
        } else {
            is_hidden
        }
    }
}

/// The row after a reading.
fn advanced(row: Conversation, source: &Source, reading: &Reading, heard: &Heard) -> Conversation {
    Conversation {
        session: row.session.or(reading.session.clone()).or(source.session.clone()),
        project: reading.cwd.as_deref().and_then(project::project_of).or(row.project),
        offset: reading.cursor.offset,
        tail_hash: reading.cursor.check.clone(),
        problem: problem(reading, heard).into(),
        ..row
    }
}

fn problem(reading: &Reading, heard: &Heard) -> &'static str {
    match (reading.sub_agent, heard.own) {
        (true, _) => SUB_AGENT,
        (_, true) => OWN,
        _ => "",
    }
}

fn is_own_prompt(text: &str) -> bool {
    let text = normalise(text);
    OWN_PROMPTS.iter().any(|own| text.starts_with(cut(&normalise(own), OWN_LENGTH)))
}

fn arrival(source: &Source, row: &Conversation, find: &Find, project: Option<String>) -> Arrival {
    let mut from = lifecycle_phases::Source::new(source.channel, find.actor);
    from.conversation.clone_from(&row.session);
    from.path = Some(source.path.to_string_lossy().into_owned());
    from.offset = Some(find.offset);
    from.files.clone_from(&find.files);
    Arrival {
        text: find.text.clone(),
        kind: find.kind,
        project,
        created: find.said.or(source.received).unwrap_or(row.modified),
        source: from,
    }
}

/// One transaction: the entries, what was counted, what is to be observed, and how far the file was
/// read (from `from` on).
fn store(
    ctx: &mut Context<'_>,
    arrivals: &[Arrival],
    from: u64,
    reading: Conversation,
    mut receipts: Vec<Receipt>,
) -> Result<()> {
    let outcome = decide(ctx.store.reader(), arrivals, &ctx.settings.capture.own_wordings)?;
    receipts.push(Receipt::Conversation { from, reading });
    perform(ctx, outcome, receipts)
}

fn watcher(settings: &crate::config::ObserveSettings) -> Option<(Watcher, observe::Limits)> {
    let limits = observe::Limits { calls: settings.max_calls, bytes: settings.max_bytes };
    settings.enabled.then(|| (Watcher::new(settings), limits))
}

/// The row of a conversation that is not captured: how far it was read, and nothing of what it is.
fn hidden(row: Conversation) -> Conversation {
    let is_hidden = row.path.starts_with(HIDDEN);
    let path = if is_hidden { row.path } else { hidden_name(&row.path) };
    Conversation { path, session: None, project: None, sitting: String::new(), ..row }
}

const HIDDEN: &str = "hash:";

fn hidden_name(path: &str) -> String {
    format!("{HIDDEN}{}", hex(path.as_bytes(), 32))
}
