//! Events, and how they are cut into batches.

use crate::entry::{Actor, Origin, hex, words};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that happened in a conversation, redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Somebody said something: the user, or the assistant.
    Said {
        /// Who.
        by: Actor,
        /// The words.
        text: String,
    },
    /// The assistant called a tool.
    Did {
        /// Name of the tool.
        tool: String,
        /// What it was given.
        input: String,
        /// What it gave back, shortened with a mark where it was long.
        output: String,
        /// Whether it failed; `None` where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<bool>,
        /// Files that it read or changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Whether it changed something.
        #[serde(default)]
        changes: bool,
        /// Where its output comes from.
        origin: Origin,
    },
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Said { text, .. } => text.len(),
            Self::Did { input, output, .. } => input.len() + output.len(),
        }
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::Did { .. })
    }

    fn is_prompt(&self) -> bool {
        matches!(self, Self::Said { by: Actor::User, .. })
    }

    /// Whether it alone is worth a look: a change, or a failure.
    fn is_telling(&self) -> bool {
        matches!(self, Self::Did { changes: true, .. } | Self::Did { failed: Some(true), .. })
    }
}

/// Some events that are looked at together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Id of the conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Its file.
    pub path: String,
    /// Byte offset of the first event.
    pub offset: u64,
    /// Canonical root of the project.
    #[serde(default)]
    pub project: Option<String>,
    /// When the last event happened: milliseconds since 1970-01-01 UTC.
    pub said: i64,
    /// In order.
    pub events: Vec<Event>,
}

impl Batch {
    /// Name of the batch: the same events of the same conversation have the same one.
    pub fn key(&self) -> String {
        let events = serde_json::to_string(&self.events).unwrap_or_default();
        let from = self.conversation.as_deref().unwrap_or(&self.path);
        hex(format!("batch\0{from}\0{events}").as_bytes(), 16)
    }

    /// Whether there is anything to observe in it.
    pub fn calls(&self) -> usize {
        self.events.iter().filter(|event| event.is_call()).count()
    }
}

words! {
    /// How a batch stands.
    BatchState {
        /// Not observed yet, or to be tried again.
        Waiting = "waiting",
        /// A process is at it.
        Leased = "leased",
        /// Observed; what it held is kept as entries.
        Observed = "observed",
        /// The model found nothing in it.
        Declined = "declined",
        /// The gates refused everything that the model wrote.
        Refused = "refused",
        /// Replaced by its halves, as it was too long for the model.
        Halved = "halved",
        /// Too many failures; shown, kept, tried again only with another model.
        Stuck = "stuck",
    }
}

/// A batch as it lies in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredBatch {
    /// Its name.
    pub key: String,
    /// What happened; the events are left out once it is settled.
    pub batch: Batch,
    /// How it stands.
    pub state: BatchState,
    /// Failed attempts.
    pub attempts: u32,
    /// Not before (milliseconds UTC).
    #[serde(default)]
    pub next_try: Option<i64>,
    /// Why it stands so.
    #[serde(default)]
    pub reason: String,
    /// Models and prompt it was judged with.
    #[serde(default)]
    pub asked: String,
}

impl StoredBatch {
    /// A batch that nobody has looked at.
    pub fn new(batch: Batch) -> Self {
        Self {
            key: batch.key(),
            batch,
            state: BatchState::Waiting,
            attempts: 0,
            next_try: None,
            reason: String::new(),
            asked: String::new(),
        }
    }
}

/// Bounds of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls in one batch.
    pub calls: usize,
    /// Bytes of their texts together.
    pub bytes: usize,
}

/// An event with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The event.
    pub event: Event,
    /// When: milliseconds since 1970-01-01 UTC.
    pub said: i64,
    /// Byte offset of its line.
    pub offset: u64,
    /// Canonical root of the project.
    pub project: Option<String>,
}

/// Bytes of a prompt that are repeated at the head of the next batch of the same turn.
const CONTEXT: usize = 400;

/// Fewer calls than this are worth a look only if they changed something or failed.
const FEW: usize = 2;

/// Cuts the events of a conversation into batches: at the user's next prompt, or where a batch is
/// full; never between a call and the words that follow it. A batch that begins in the middle of a
/// turn has the turn's prompt at its head, so that it is clear who asked for what. A batch without
/// a call, or with a single look at something, is none.
pub fn cut(events: Vec<Cut>, limits: Limits) -> Vec<Batch> {
    let mut cutter = Cutter { limits, ..Cutter::default() };
    for one in events {
        cutter.take(one);
    }
    cutter.close();
    cutter.done
}

#[derive(Default)]
struct Cutter {
    limits: Limits,
    open: Batch,
    bytes: usize,
    prompt: Option<Event>,
    done: Vec<Batch>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: 8, bytes: 9000 }
    }
}

impl Cutter {
    fn take(&mut self, one: Cut) {
        let new_turn = one.event.is_prompt() && self.open.calls() >= FEW;
        let is_full = one.event.is_call()
            && self.open.calls() > 0
            && (self.open.calls() >= self.limits.calls
                || self.bytes + one.event.bytes() > self.limits.bytes);
        let other_project = !self.open.events.is_empty() && self.open.project != one.project;
        if new_turn || is_full || other_project {
            self.close();
        }
        if one.event.is_prompt() {
            self.prompt = Some(shortened(&one.event));
        } else if self.open.events.is_empty() {
            self.push(self.prompt.clone(), &one);
        }
        self.push(Some(one.event.clone()), &one);
    }

    fn push(&mut self, event: Option<Event>, at: &Cut) {
        let Some(event) = event else { return };
        if self.open.events.is_empty() {
            self.open.offset = at.offset;
            self.open.project.clone_from(&at.project);
        }
        self.bytes += event.bytes();
        self.open.said = self.open.said.max(at.said);
        self.open.events.push(event);
    }

    fn close(&mut self) {
        let batch = std::mem::take(&mut self.open);
        self.bytes = 0;
        let calls = batch.calls();
        if calls >= FEW || batch.events.iter().any(Event::is_telling) {
            self.done.push(batch);
        }
    }
}

fn shortened(prompt: &Event) -> Event {
    match prompt {
        Event::Said { by, text } => Event::Said { by: *by, text: cut_text(text, CONTEXT) },
        other => other.clone(),
    }
}

fn cut_text(text: &str, bytes: usize) -> String {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() { format!("{} …", &text[..end]) } else { text.to_string() }
}

/// The two halves of a batch that is too long for a model; `None` for a single call, which cannot
/// be divided.
pub fn halves(batch: &Batch) -> Option<[Batch; 2]> {
    let calls = batch.calls();
    if calls < 2 {
        return None;
    }
    let middle = batch
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.is_call())
        .nth(calls / 2)
        .map_or(batch.events.len(), |(at, _)| at);
    let part = |events: &[Event]| Batch { events: events.to_vec(), ..batch.clone() };
    let (mut first, mut second) = (part(&batch.events[..middle]), part(&batch.events[middle..]));
    let prompt = batch.events.iter().find(|event| event.is_prompt()).map(shortened);
    if let Some(prompt) = prompt.filter(|_| !second.events[0].is_prompt()) {
        second.events.insert(0, prompt);
    }
    first.offset = batch.offset;
    Some([first, second])
}
