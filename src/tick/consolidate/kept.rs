//! Questions as they were asked, kept for `prompt replay` where the user wants that.

use super::super::Context;
use crate::error::Result;
use crate::model::{Answer, Missed};
use crate::redact::Redactor;
use crate::store;
use lifecycle_phases::consolidate::Cluster;
use serde::{Deserialize, Serialize};

/// A cluster that was asked about and what came back: one line of `prompt export`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Captured {
    /// Version of the prompt.
    pub prompt: String,
    /// The model that answered.
    pub model: String,
    /// The cluster, redacted.
    pub cluster: Cluster,
    /// The text of the reply; none where there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// Keeps what was asked beside the row of its request. Redacted even where the model is local: a
/// kept prompt may be handed on.
pub fn keep(
    ctx: &mut Context<'_>,
    cluster: &Cluster,
    outcome: &std::result::Result<Answer, Missed>,
) -> Result<()> {
    let call = match outcome {
        Ok(answer) => Some(answer.call),
        Err(missed) => missed.calls.last().copied(),
    };
    let Some(call) = call.filter(|_| ctx.settings.consolidate.keep_prompts) else {
        return Ok(());
    };
    let redactor = Redactor::new(&ctx.settings.redact.patterns)?;
    let text = serde_json::to_string(&redacted(cluster, &redactor))?;
    if let Some(account) = ctx.account(true)? {
        account.write(|tx| store::keep_prompt(tx, call, &text))?;
    }
    Ok(())
}

fn redacted(cluster: &Cluster, redactor: &Redactor) -> Cluster {
    let mut copy = cluster.clone();
    for entry in copy.members.iter_mut().chain(&mut copy.replaces) {
        entry.text = redactor.redact(&entry.text).0;
        entry.title = entry.title.as_deref().map(|title| redactor.redact(title).0);
    }
    copy
}

/// The message text in the body of a reply, whichever dialect it came in.
pub fn message_of(body: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let value = match value {
        serde_json::Value::Array(mut items) if items.len() == 1 => items.remove(0),
        value => value,
    };
    let paths = ["/choices/0/message/content", "/message/content", "/response"];
    if let Some(text) = paths.iter().find_map(|path| value.pointer(path)?.as_str()) {
        return Some(text.to_string());
    }
    let parts = value.pointer("/candidates/0/content/parts")?.as_array()?;
    let shown = parts.iter().filter(|part| part["thought"].as_bool() != Some(true));
    Some(shown.filter_map(|part| part["text"].as_str()).collect())
}
