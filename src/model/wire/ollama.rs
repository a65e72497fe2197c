//! Ollama's own `/api/chat`.

use super::{Usage, Wire, float, number, string, tokens_by_length};
use crate::model::failure::Failure;
use crate::model::provider::{Provider, Thinking};
use serde_json::{Value, json};

/// The body. `truncate: false` and `options.num_ctx` are always sent: without the first a prompt
/// that is too long is cut in silence, without the second the context is whatever the machine's
/// memory suggested; a value that changes would reload the model.
pub fn body(provider: &Provider, wire: &Wire<'_>) -> Value {
    let mut body = json!({
        "keep_alive": provider.keep_alive,
        "messages": wire.chat(provider),
        "model": provider.model,
        "options": {
            "num_ctx": wire.context,
            "num_predict": wire.max_tokens,
            "seed": provider.seed,
            "temperature": provider.temperature
        },
        "stream": false,
        "truncate": false
    });
    if let Some(schema) = wire.schema {
        body["format"] = schema.clone();
    }
    if wire.thinking {
        match &provider.thinking {
            Thinking::Off => body["think"] = json!(false),
            Thinking::On => body["think"] = json!(true),
            Thinking::Effort(effort) => body["think"] = json!(effort),
            Thinking::Omit => {}
        }
    }
    body
}

/// The message text, counts, times. All durations come in nanoseconds.
pub fn read(value: &Value, wire: &Wire<'_>) -> (Usage, Option<String>, Result<String, Failure>) {
    let text = string(value, "/message/content")
        .or_else(|| string(value, "/response"))
        .unwrap_or_default();
    let thinking = string(value, "/message/thinking")
        .or_else(|| string(value, "/thinking"))
        .unwrap_or_default();
    let ms = |name: &str| float(value, name).map(|nanos| nanos / 1e6);
    let (total, load) = (ms("/total_duration"), ms("/load_duration"));
    let (prompt, generation) = (ms("/prompt_eval_duration"), ms("/eval_duration"));
    // A slot that is waited for stands in no field: it is what the others leave.
    let queue = total.map(|total| {
        (total - load.unwrap_or(0.0) - prompt.unwrap_or(0.0) - generation.unwrap_or(0.0)).max(0.0)
    });
    let usage = Usage {
        prompt_tokens: number(value, "/prompt_eval_count"),
        cached_tokens: number(value, "/prompt_eval_cached_count"),
        completion_tokens: number(value, "/eval_count"),
        reasoning_tokens: tokens_by_length(&thinking),
        total_ms: total,
        load_ms: total.map(|_| load.unwrap_or(0.0)),
        prompt_ms: prompt,
        generation_ms: generation,
        queue_ms: queue,
    };
    let result = match (value["done"].as_bool(), value["done_reason"].as_str()) {
        (_, Some("length")) => Err(Failure::OutputTruncated(wire.max_tokens)),
        (Some(true), _) if text.trim().is_empty() => Err(Failure::Empty(empty(&thinking))),
        (Some(true), _) => Ok(text),
        _ => Err(Failure::OutputTruncated(wire.max_tokens)),
    };
    (usage, string(value, "/model"), result)
}

fn empty(thinking: &str) -> String {
    if thinking.is_empty() { "no content".into() } else { "reasoning without an answer".into() }
}
