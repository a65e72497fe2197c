//! Gemini's `:generateContent`.

use super::{Usage, Wire, number, string};
use crate::model::failure::Failure;
use crate::model::provider::{Provider, Thinking};
use serde_json::{Value, json};

/// The body. The key goes into a header, never into the address.
pub fn body(provider: &Provider, wire: &Wire<'_>) -> Value {
    let (system, user) = wire.messages(provider);
    let mut config = json!({
        "candidateCount": 1,
        "maxOutputTokens": wire.max_tokens,
        "seed": provider.seed,
        "temperature": provider.temperature
    });
    if let Some(schema) = wire.schema {
        config["responseJsonSchema"] = schema.clone();
        config["responseMimeType"] = json!("application/json");
    }
    if wire.thinking {
        match &provider.thinking {
            Thinking::Off => {
                config["thinkingConfig"] = json!({"includeThoughts": false, "thinkingBudget": 0})
            }
            Thinking::On => {
                config["thinkingConfig"] = json!({"includeThoughts": false, "thinkingBudget": -1})
            }
            Thinking::Effort(level) => {
                config["thinkingConfig"] =
                    json!({"includeThoughts": false, "thinkingLevel": level});
            }
            Thinking::Omit => {}
        }
    }
    let mut body = json!({
        "contents": [{"parts": [{"text": user}], "role": "user"}],
        "generationConfig": config
    });
    if let Some(system) = system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    body
}

/// The text of all parts that are no thoughts, and the counts.
pub fn read(value: &Value, wire: &Wire<'_>) -> (Usage, Option<String>, Result<String, Failure>) {
    let usage = Usage {
        prompt_tokens: number(value, "/usageMetadata/promptTokenCount"),
        cached_tokens: number(value, "/usageMetadata/cachedContentTokenCount"),
        completion_tokens: number(value, "/usageMetadata/candidatesTokenCount"),
        reasoning_tokens: number(value, "/usageMetadata/thoughtsTokenCount"),
        ..Usage::default()
    };
    let model = string(value, "/modelVersion");
    if let Some(reason) = string(value, "/promptFeedback/blockReason") {
        return (usage, model, Err(Failure::Blocked(format!("prompt blocked: {reason}"))));
    }
    let text: String = value
        .pointer("/candidates/0/content/parts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|part| part["thought"].as_bool() != Some(true))
        .filter_map(|part| part["text"].as_str())
        .collect();
    let finish = string(value, "/candidates/0/finishReason").unwrap_or_default();
    let result = match finish.as_str() {
        "MAX_TOKENS" => Err(Failure::OutputTruncated(wire.max_tokens)),
        "STOP" if text.trim().is_empty() => Err(Failure::Empty("no content".into())),
        "STOP" => Ok(text),
        "" => Err(Failure::Empty("no candidate".into())),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            Err(Failure::Blocked(format!("finishReason {finish}")))
        }
        _ => Err(Failure::Empty(format!("finishReason {finish}"))),
    };
    (usage, model, result)
}
