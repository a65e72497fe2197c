//! What goes over the wire: the request body of each dialect, and the reading of replies.
//!
//! Bodies are built with their keys in alphabetical order, so the bytes of a request follow from
//! its content alone; `docs/models.md` shows one of each kind and a test compares them.

mod gemini;
mod ollama;
mod openai;

use super::failure::Failure;
use super::overflow;
use super::provider::{Dialect, Provider, RulesIn};
use serde_json::{Value, json};

/// What one request asks.
#[derive(Clone, Debug)]
pub struct Wire<'a> {
    /// Fixed rules.
    pub rules: &'a str,
    /// What changes from call to call.
    pub data: &'a str,
    /// Shape of the reply; `None`: unconstrained.
    pub schema: Option<&'a Value>,
    /// The same for servers that want every property required.
    pub strict_schema: Option<&'a Value>,
    /// Output budget (tokens).
    pub max_tokens: u32,
    /// Context length that the request states (tokens; Ollama only).
    pub context: u64,
    /// Whether the field that switches reasoning is sent.
    pub thinking: bool,
}

impl Wire<'_> {
    /// The system message and the user message.
    fn messages(&self, provider: &Provider) -> (Option<String>, String) {
        match provider.rules_in {
            RulesIn::System => (Some(self.rules.to_string()), self.data.to_string()),
            RulesIn::User => (None, format!("{}\n\n{}", self.rules, self.data)),
            RulesIn::ModelFile => (None, self.data.to_string()),
        }
    }

    /// The same as messages with a role each, as Ollama and OpenAI's own wire want them.
    fn chat(&self, provider: &Provider) -> Vec<Value> {
        let (system, user) = self.messages(provider);
        let system = system.map(|text| json!({"content": text, "role": "system"}));
        system.into_iter().chain([json!({"content": user, "role": "user"})]).collect()
    }

    /// Bytes of prompt text.
    pub fn prompt_bytes(&self, provider: &Provider) -> u64 {
        let (system, user) = self.messages(provider);
        (system.map_or(0, |text| text.len()) + user.len()) as u64
    }
}

/// The address and body of a request.
pub fn request(provider: &Provider, wire: &Wire<'_>) -> (String, Value) {
    match provider.kind.dialect() {
        Dialect::Ollama => (format!("{}/api/chat", provider.url), ollama::body(provider, wire)),
        Dialect::OpenAi => {
            (openai::address(provider, "chat/completions"), openai::body(provider, wire))
        }
        Dialect::Gemini => (
            format!("{}/v1beta/models/{}:generateContent", provider.url, provider.model),
            gemini::body(provider, wire),
        ),
    }
}

/// The address of a route below `/v1` of an OpenAI-compatible server.
pub fn openai_address(provider: &Provider, route: &str) -> String {
    openai::address(provider, route)
}

/// Headers of a request that name the caller's key.
pub fn key_header(provider: &Provider) -> Option<(&'static str, String)> {
    let key = provider.key.as_ref()?.reveal();
    Some(match provider.kind.dialect() {
        Dialect::Gemini => ("x-goog-api-key", key.to_string()),
        _ => ("authorization", format!("Bearer {key}")),
    })
}

/// What a server reported about one request. `None`: it did not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: Option<u64>,
    /// Of these, served from a cache.
    pub cached_tokens: Option<u64>,
    /// Tokens of the reply.
    pub completion_tokens: Option<u64>,
    /// Tokens of reasoning; estimated from its length where the server counts none.
    pub reasoning_tokens: Option<u64>,
    /// Whole time at the server (milliseconds).
    pub total_ms: Option<f64>,
    /// Loading the model.
    pub load_ms: Option<f64>,
    /// Reading the prompt.
    pub prompt_ms: Option<f64>,
    /// Writing the reply.
    pub generation_ms: Option<f64>,
    /// Waiting for a free slot.
    pub queue_ms: Option<f64>,
}

/// A reply taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The message text.
    pub text: String,
    /// The model as the reply names it.
    pub model: Option<String>,
    /// Counts and times.
    pub usage: Usage,
}

/// A reply as HTTP gave it.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// Status.
    pub status: u16,
    /// `Retry-After` (seconds or HTTP date), as it stands.
    pub retry_after: Option<String>,
    /// The body, bounded.
    pub body: Vec<u8>,
    /// From sending to the last byte (milliseconds).
    pub wall_ms: f64,
}

/// Reads a reply, or says what is wrong with it. `now` is milliseconds UTC. What the server
/// counted is given in both cases.
pub fn read(
    provider: &Provider,
    wire: &Wire<'_>,
    reply: &HttpReply,
    now: i64,
) -> (Usage, Option<String>, Result<Parsed, Failure>) {
    let text = String::from_utf8_lossy(&reply.body);
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    let value = first_element(value);
    if reply.status != 200 || value.get("error").is_some_and(|error| !error.is_null()) {
        let failure = refusal(provider, wire, reply, &text, &value, now);
        return (Usage::default(), None, Err(failure));
    }
    if !value.is_object() {
        let why = format!("a body that is no JSON object: {}", head(&text));
        return (Usage::default(), None, Err(Failure::Broken(why)));
    }
    let (usage, model, result) = match provider.kind.dialect() {
        Dialect::Ollama => ollama::read(&value, wire),
        Dialect::OpenAi => openai::read(&value, wire, reply.wall_ms),
        Dialect::Gemini => gemini::read(&value, wire),
    };
    let parsed = result.map(|text| Parsed { text, model: model.clone(), usage: usage.clone() });
    (usage, model, parsed)
}

/// An error body can be an array of one element.
fn first_element(value: Value) -> Value {
    match value {
        Value::Array(mut items) if items.len() == 1 => items.remove(0),
        value => value,
    }
}

fn refusal(
    provider: &Provider,
    wire: &Wire<'_>,
    reply: &HttpReply,
    text: &str,
    value: &Value,
    now: i64,
) -> Failure {
    if let Some(over) = overflow::recognise(text) {
        let bytes = wire.prompt_bytes(provider);
        return Failure::PromptTooLong {
            tokens: over.tokens.unwrap_or(0),
            reserve: u64::from(wire.max_tokens),
            context: over.context.unwrap_or(wire.context),
            bytes,
        };
    }
    let message = message(value, text);
    let lower = message.to_lowercase();
    let code = value
        .pointer("/error/code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok());
    let status = if reply.status == 200 { code.unwrap_or(200) } else { reply.status };
    if matches!(status, 402 | 429) || (status == 503 && reply.retry_after.is_some()) {
        let (until, reason) = super::pause::until(reply, value, now);
        return Failure::Paused { until, reason: format!("{reason} ({})", head(&message)) };
    }
    match status {
        503 if lower.contains("loading model") => Failure::Loading,
        400 | 422 | 500 | 501 if wire.schema.is_some() && about_schema(&lower) => {
            Failure::SchemaRefused(head(&message))
        }
        400 | 422 if wire.thinking && about_thinking(&lower) => {
            Failure::ThinkingRefused(head(&message))
        }
        403 if lower.contains("moderation") || lower.contains("flagged") => {
            Failure::Blocked(head(&message))
        }
        408 | 409 | 499 | 500.. | 200 => Failure::Server { status, message: head(&message) },
        _ => Failure::Rejected { status, message: head(&message) },
    }
}

fn about_schema(message: &str) -> bool {
    [
        "schema",
        "response_format",
        "responsejsonschema",
        "response_mime_type",
        "format",
        "grammar",
        "strict",
        "json mode",
    ]
    .iter()
    .any(|word| message.contains(word))
}

fn about_thinking(message: &str) -> bool {
    ["thinking", "reasoning", "chat_template_kwargs", "think "]
        .iter()
        .any(|word| message.contains(word))
}

/// What an error body says, in one line.
fn message(value: &Value, text: &str) -> String {
    let error = value.get("error").unwrap_or(value);
    let inner = error.as_str().map(str::to_string).or_else(|| {
        ["message", "detail"].iter().find_map(|key| error.get(key)?.as_str().map(str::to_string))
    });
    inner
        .or_else(|| value.get("message")?.as_str().map(str::to_string))
        .unwrap_or_else(|| text.to_string())
}

/// The first 200 characters on one line.
pub fn head(text: &str) -> String {
    let line = lifecycle_phases::text::normalise(&lifecycle_phases::text::printable(text));
    line.chars().take(200).collect()
}

/// Tokens of a text by its length, where nobody counted: four bytes a token.
pub fn tokens_by_length(text: &str) -> Option<u64> {
    (!text.is_empty()).then(|| (text.len() as u64).div_ceil(4))
}

fn number(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path).and_then(Value::as_u64)
}

fn float(value: &Value, path: &str) -> Option<f64> {
    value.pointer(path).and_then(Value::as_f64)
}

fn string(value: &Value, path: &str) -> Option<String> {
    value.pointer(path).and_then(Value::as_str).map(str::to_string)
}

#[cfg(test)]
mod tests;
