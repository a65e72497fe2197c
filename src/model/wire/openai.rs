//! `/v1/chat/completions`: llama-server, any compatible server, OpenRouter, Groq.

use super::{Usage, Wire, float, number, string, tokens_by_length};
use crate::model::failure::Failure;
use crate::model::provider::{Provider, ProviderKind, Thinking};
use serde_json::{Value, json};

/// The address of a route below `/v1`; the base may end in `/v1` or not.
pub fn address(provider: &Provider, route: &str) -> String {
    let base = provider.url.strip_suffix("/v1").unwrap_or(&provider.url);
    format!("{base}/v1/{route}")
}

/// The body.
pub fn body(provider: &Provider, wire: &Wire<'_>) -> Value {
    let mut body = json!({
        "messages": wire.chat(provider),
        "model": provider.model,
        "seed": provider.seed,
        "stream": false,
        "temperature": provider.temperature
    });
    let hosted = matches!(provider.kind, ProviderKind::OpenRouter | ProviderKind::Groq);
    body[if hosted { "max_completion_tokens" } else { "max_tokens" }] = json!(wire.max_tokens);
    if provider.kind == ProviderKind::LlamaServer {
        body["cache_prompt"] = json!(true);
    }
    let schema = if hosted { wire.strict_schema } else { wire.schema };
    if let (Some(schema), Some(_)) = (schema, wire.schema) {
        body["response_format"] = json!({
            "json_schema": {"name": "merge", "schema": schema, "strict": true},
            "type": "json_schema"
        });
    }
    if wire.thinking {
        thinking(provider, &mut body);
    }
    body
}

/// Each family of servers has its own switch.
fn thinking(provider: &Provider, body: &mut Value) {
    let on = match &provider.thinking {
        Thinking::Omit => return,
        Thinking::Off => false,
        Thinking::On | Thinking::Effort(_) => true,
    };
    let effort = match &provider.thinking {
        Thinking::Effort(effort) => effort.as_str(),
        Thinking::On => "medium",
        _ => "none",
    };
    match provider.kind {
        ProviderKind::OpenRouter if on => {
            body["reasoning"] = json!({"effort": effort, "enabled": true})
        }
        ProviderKind::OpenRouter => body["reasoning"] = json!({"enabled": false}),
        ProviderKind::Groq => body["reasoning_effort"] = json!(effort),
        _ => body["chat_template_kwargs"] = json!({"enable_thinking": on}),
    }
}

/// The message text, counts, times.
pub fn read(
    value: &Value,
    wire: &Wire<'_>,
    wall_ms: f64,
) -> (Usage, Option<String>, Result<String, Failure>) {
    let message = value.pointer("/choices/0/message");
    let text = string(value, "/choices/0/message/content").unwrap_or_default();
    let reasoning = ["reasoning_content", "reasoning"]
        .iter()
        .find_map(|key| message?.get(key)?.as_str())
        .unwrap_or("");
    let usage = usage(value, reasoning, wall_ms);
    let finish = value.pointer("/choices/0/finish_reason").and_then(Value::as_str).unwrap_or("");
    let result = match finish {
        _ if message.is_none() => Err(Failure::Empty("no choices".into())),
        "length" => Err(Failure::OutputTruncated(wire.max_tokens)),
        "content_filter" => Err(Failure::Blocked("content filter".into())),
        "error" => Err(Failure::Server { status: 200, message: "finish_reason error".into() }),
        _ if text.trim().is_empty() && !reasoning.is_empty() => {
            Err(Failure::Empty("reasoning without an answer".into()))
        }
        _ if text.trim().is_empty() => Err(Failure::Empty("no content".into())),
        _ => Ok(text),
    };
    (usage, string(value, "/model"), result)
}

fn usage(value: &Value, reasoning: &str, wall_ms: f64) -> Usage {
    let seconds = |path: &str| float(value, path).map(|seconds| seconds * 1000.0);
    let prompt = float(value, "/timings/prompt_ms");
    let generation = float(value, "/timings/predicted_ms");
    let timed =
        prompt.zip(generation).map(|(prompt, generation)| (wall_ms - prompt - generation).max(0.0));
    Usage {
        prompt_tokens: number(value, "/usage/prompt_tokens"),
        cached_tokens: number(value, "/usage/prompt_tokens_details/cached_tokens")
            .or_else(|| number(value, "/timings/cache_n")),
        completion_tokens: number(value, "/usage/completion_tokens"),
        reasoning_tokens: number(value, "/usage/completion_tokens_details/reasoning_tokens")
            .or_else(|| tokens_by_length(reasoning)),
        total_ms: Some(seconds("/usage/total_time").unwrap_or(wall_ms)),
        load_ms: None,
        prompt_ms: prompt.or_else(|| seconds("/usage/prompt_time")),
        generation_ms: generation.or_else(|| seconds("/usage/completion_time")),
        queue_ms: seconds("/usage/queue_time").or(timed),
    }
}
