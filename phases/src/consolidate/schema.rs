//! The JSON Schema that a reply must match.

use crate::entry::Kind;
use serde_json::{Value, json};

/// Kinds that a model may give to a merge; the others come from people or from code.
pub const KINDS: &[Kind] = &[
    Kind::Insight,
    Kind::Decision,
    Kind::Bugfix,
    Kind::Feature,
    Kind::Refactor,
    Kind::Change,
    Kind::Discovery,
    Kind::SecurityAlert,
    Kind::SecurityNote,
];

/// The schema for a cluster with these note labels. `strict`: every property is required and
/// nothing else allowed, as OpenAI's strict mode wants it at every level.
///
/// Keys stand in alphabetical order, which is also the order in which llama.cpp's grammar makes
/// the model write them: sources before text, text before title.
pub fn schema(labels: &[String], strict: bool) -> Value {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.as_str()).collect();
    let mut sources = json!({"items": {"enum": labels, "type": "string"}, "type": "array"});
    if !strict {
        // A small model under a grammar repeats list items until its budget is spent; strict
        // servers do not take the keyword.
        sources["maxItems"] = json!(labels.len());
    }
    let entry = json!({
        "additionalProperties": false,
        "properties": {
            "kind": {"enum": kinds, "type": "string"},
            "sources": sources,
            "text": {"type": "string"},
            "title": {"type": "string"}
        },
        "required": ["kind", "sources", "text", "title"],
        "type": "object"
    });
    let mut entries = json!({"items": entry, "type": "array"});
    if !strict {
        entries["maxItems"] = json!(labels.len());
    }
    let required: &[&str] = if strict { &["entries", "reason", "skip"] } else { &["entries"] };
    json!({
        "additionalProperties": false,
        "properties": {
            "entries": entries,
            "reason": {"type": "string"},
            "skip": {"type": "boolean"}
        },
        "required": required,
        "type": "object"
    })
}
