//! Entries as programs get them, from the command line and by MCP alike.

use crate::clock::format_time;
use crate::store::{Relations, StoredEntry};
use serde_json::{Value, json};

/// An entry as programs get it: times are UTC text.
pub fn entry_json(stored: &StoredEntry) -> Value {
    let mut value = serde_json::to_value(&stored.entry).unwrap_or_default();
    value["created"] = json!(format_time(stored.entry.created));
    value["state_at"] = json!(format_time(stored.state_at));
    value["state_reason"] = json!(stored.state_reason);
    value["active"] = json!(stored.entry.state.is_active());
    value
}

/// The entry and its relations as programs get them.
pub fn relations_json(stored: &StoredEntry, relations: &Relations) -> Value {
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
