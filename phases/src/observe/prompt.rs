//! The prompt of the observer: rules first and always the same, then the events as fenced data.

use super::batch::{Batch, Event};
use crate::consolidate::prompt::{disarmed, fixed};
use crate::entry::{Actor, Kind, Origin, hex};
use serde_json::{Value, json};

/// The kinds of observations.
pub const KINDS: &[Kind] = &[
    Kind::Bugfix,
    Kind::Feature,
    Kind::Refactor,
    Kind::Change,
    Kind::Discovery,
    Kind::Decision,
    Kind::SecurityAlert,
    Kind::SecurityNote,
    Kind::Sensitive,
];

/// Observations that one batch gives at most.
pub const MOST: usize = 2;

/// Facts that one observation lists at most.
pub const MOST_FACTS: usize = 4;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Name of the batch.
    pub batch: String,
    /// The rules, with the mark.
    pub rules: String,
    /// The events.
    pub data: String,
    /// What the reply must match.
    pub schema: Value,
    /// The same for strict servers.
    pub strict_schema: Value,
}

/// One line of a prompt, as the events are shown to a model.
pub struct Shown<'a> {
    /// Its name: `e1`, `e2`, …
    pub label: String,
    /// Which event it belongs to.
    pub event: usize,
    /// Whose words it holds.
    pub origin: Origin,
    /// What it is, in words.
    pub head: String,
    /// The words.
    pub text: &'a str,
}

/// The question about a batch. `rules` is the text of `config/prompts/observe.md`.
pub fn question(batch: &Batch, rules: &str) -> Question {
    let shown = shown(batch);
    let labels: Vec<&str> = shown.iter().map(|one| one.label.as_str()).collect();
    Question {
        batch: batch.key(),
        rules: fixed(rules),
        data: data(&shown),
        schema: schema(&labels, false),
        strict_schema: schema(&labels, true),
    }
}

/// The lines of a batch. A call and what it gave back are two: the assistant's and the tool's.
pub fn shown(batch: &Batch) -> Vec<Shown<'_>> {
    let mut lines = Vec::new();
    let mut add = |event, origin, head: String, text| {
        let label = format!("e{}", lines.len() + 1);
        lines.push(Shown { label, event, origin, head, text });
    };
    for (at, event) in batch.events.iter().enumerate() {
        match event {
            Event::Said { by, text } => {
                let verb = if *by == Actor::User { "asked or said" } else { "said" };
                add(at, (*by).into(), format!("the {by} {verb}"), text.as_str());
            }
            Event::Did { tool, input, output, failed, origin, .. } => {
                let ended = match failed {
                    Some(true) => ", which failed",
                    Some(false) => ", which succeeded",
                    None => "",
                };
                let head = format!("the assistant called the tool {tool}{ended}");
                add(at, Origin::Assistant, head, input.as_str());
                if !output.trim().is_empty() {
                    let whose = if *origin == Origin::Web { "a web page" } else { "the tool" };
                    add(at, *origin, format!("{whose} gave back"), output.as_str());
                }
            }
        }
    }
    lines
}

fn data(shown: &[Shown<'_>]) -> String {
    let fence = fence(shown);
    let mut out = format!("BEGIN EVENTS {fence}\n");
    for one in shown {
        let text = disarmed(one.text.trim());
        out.push_str(&format!("[{fence}] {}: {}\n{text}\n", one.label, one.head));
    }
    out.push_str(&format!("END EVENTS {fence}\n"));
    out
}

/// A word that none of the events holds, so that none can close the data.
fn fence(shown: &[Shown<'_>]) -> String {
    let all: Vec<&str> = shown.iter().map(|one| one.text).collect();
    let all = all.join("\0");
    (0u32..)
        .map(|round| hex(format!("fence{round}\0{all}").as_bytes(), 8))
        .find(|fence| !all.contains(fence.as_str()))
        .expect("some hash is not in the text")
}

/// Keys stand in the order in which a grammar makes a model write them.
pub(crate) fn schema(labels: &[&str], strict: bool) -> Value {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.as_str()).collect();
    let actors: Vec<&str> = Actor::ALL.iter().map(|actor| actor.as_str()).collect();
    let mut events = json!({"items": {"enum": labels, "type": "string"}, "type": "array"});
    let mut facts = json!({"items": {"type": "string"}, "type": "array"});
    if !strict {
        events["maxItems"] = json!(labels.len().min(8));
        facts["maxItems"] = json!(MOST_FACTS);
    }
    let observation = json!({
        "additionalProperties": false,
        "properties": {
            "actor": {"enum": actors, "type": "string"},
            "events": events,
            "facts": facts,
            "kind": {"enum": kinds, "type": "string"},
            "narrative": {"type": "string"},
            "title": {"type": "string"}
        },
        "required": ["actor", "events", "facts", "kind", "narrative", "title"],
        "type": "object"
    });
    let mut observations = json!({"items": observation, "type": "array"});
    if !strict {
        observations["maxItems"] = json!(MOST);
    }
    let required: &[&str] =
        if strict { &["observations", "reason", "skip"] } else { &["observations"] };
    json!({
        "additionalProperties": false,
        "properties": {
            "observations": observations,
            "reason": {"type": "string"},
            "skip": {"type": "boolean"}
        },
        "required": required,
        "type": "object"
    })
}
