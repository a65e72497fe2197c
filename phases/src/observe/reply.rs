//! The observer's reply, read with tolerance for its wrapping and none for its content.

use super::prompt::{KINDS, MOST, MOST_FACTS};
use crate::consolidate::reply::{ReplyError, clean, field, labels, read};
use crate::entry::{Actor, Kind};
use serde_json::{Map, Value};

/// One observation as a model proposes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Heading.
    pub title: String,
    /// What happened and why, in sentences.
    pub narrative: String,
    /// Single facts.
    pub facts: Vec<String>,
    /// The kind; `None` where the reply named none that exists.
    pub kind: Option<Kind>,
    /// Who did it, as the model sees it.
    pub actor: Option<Actor>,
    /// Labels of the events that it rests on.
    pub events: Vec<String>,
}

/// A reply that was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Proposed observations.
    pub observations: Vec<Proposal>,
    /// The model found nothing, and why.
    pub declined: Option<String>,
    /// Kinds that do not exist.
    pub bad_kinds: usize,
    /// Observations that were refused for their shape.
    pub bad_observations: usize,
}

/// Reads a reply. Never panics, whatever the bytes.
///
/// # Errors
/// Why it cannot be used.
pub fn parse(bytes: &[u8]) -> Result<Reply, ReplyError> {
    read(bytes, shape).map(|(reply, _)| reply)
}

fn shape(value: &Value) -> Result<Reply, String> {
    let object = match value {
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            return observations(items);
        }
        Value::Object(object) => object,
        _ => return Err("not an object".into()),
    };
    let skips = match field(object, "skip") {
        Some(Value::Bool(skip)) => *skip,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    match field(object, "observations") {
        Some(Value::Array(items)) if items.is_empty() => Ok(declined(object)),
        Some(Value::Array(items)) => observations(items),
        Some(one @ Value::Object(_)) => observations(std::slice::from_ref(one)),
        Some(Value::Null) | None if skips => Ok(declined(object)),
        None if field(object, "narrative").is_some() => observations(std::slice::from_ref(value)),
        Some(_) => Err("`observations` is no array".into()),
        None => Err("`observations` is missing".into()),
    }
}

fn declined(object: &Map<String, Value>) -> Reply {
    let reason = field(object, "reason").and_then(Value::as_str).map(clean);
    let reason = reason.filter(|reason| !reason.is_empty());
    Reply { declined: Some(reason.unwrap_or_else(|| "no reason given".into())), ..Reply::default() }
}

fn observations(items: &[Value]) -> Result<Reply, String> {
    let mut reply = Reply::default();
    let mut wrong = String::new();
    for item in items.iter().take(MOST) {
        match proposal(item, &mut reply.bad_kinds) {
            Ok(proposal) if reply.observations.contains(&proposal) => {}
            Ok(proposal) => reply.observations.push(proposal),
            Err(why) => {
                reply.bad_observations += 1;
                wrong = why;
            }
        }
    }
    if reply.observations.is_empty() { Err(wrong) } else { Ok(reply) }
}

fn proposal(item: &Value, bad_kinds: &mut usize) -> Result<Proposal, String> {
    let object = item.as_object().ok_or("an observation is no object")?;
    let text = |name: &str| match field(object, name) {
        Some(Value::String(text)) => Ok(clean(text)),
        Some(Value::Null) | None => Ok(String::new()),
        Some(_) => Err(format!("`{name}` is no string")),
    };
    let narrative = text("narrative")?;
    let empty = ["", "null", "none", "string", "n/a", "..."];
    if empty.contains(&narrative.to_lowercase().as_str()) {
        return Err("`narrative` is empty".into());
    }
    let kind = match field(object, "kind") {
        None | Some(Value::Null) => None,
        Some(word) => {
            let known = word.as_str().and_then(|word| Kind::parse(&word.to_lowercase()));
            let known = known.filter(|kind| KINDS.contains(kind));
            *bad_kinds += usize::from(known.is_none());
            known
        }
    };
    let facts = labels(field(object, "facts")).into_iter().map(|fact| clean(&fact));
    Ok(Proposal {
        title: text("title")?.replace('\n', " "),
        narrative,
        facts: facts.filter(|fact| !fact.is_empty()).take(MOST_FACTS).collect(),
        kind,
        actor: field(object, "actor")
            .and_then(Value::as_str)
            .and_then(|word| Actor::parse(&word.to_lowercase())),
        events: labels(field(object, "events")),
    })
}
