//! What a server says about itself: context length, slots, a tokenizer.

use super::failure::Failure;
use super::http::Http;
use super::provider::{Dialect, Provider, ProviderKind};
use super::wire::{HttpReply, Wire, openai_address, request};
use serde_json::Value;

/// Context length where neither a setting nor the server says (tokens).
const ASSUMED: u64 = 4096;
/// Context length asked from Ollama where the settings name none (tokens); a model trained for
/// less gets what it was trained for.
const OLLAMA: u64 = 8192;
/// Bytes a token, taken low so that the estimate is high.
const BYTES_A_TOKEN: u64 = 3;

/// Where the context length comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `context_tokens`.
    Setting,
    /// The server says so.
    Server,
    /// Nobody says; a low value is taken, and the report says so.
    Assumed,
}

/// What is known about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Context length of one request (tokens).
    pub context: u64,
    /// Where that comes from.
    pub origin: Origin,
    /// Requests it works on at once.
    pub slots: Option<u64>,
    /// Whether it counts the tokens of a chat, template included.
    pub counts: bool,
    /// Whether the model is in memory, where the server loads one at need and tells.
    pub loaded: Option<bool>,
}

/// Asks a server about itself.
pub fn learn(http: &Http, provider: &Provider) -> Result<Server, Failure> {
    let mut server = match provider.kind {
        ProviderKind::Ollama => ollama(http, provider)?,
        ProviderKind::Gemini => gemini(http, provider)?,
        ProviderKind::LlamaServer | ProviderKind::OpenAiCompatible => compatible(http, provider)?,
        ProviderKind::OpenRouter | ProviderKind::Groq => listed(http, provider)?,
    };
    if provider.context_tokens > 0 {
        server.context = u64::from(provider.context_tokens);
        server.origin = Origin::Setting;
    }
    Ok(server)
}

fn known(context: Option<u64>, slots: Option<u64>, counts: bool) -> Server {
    let origin = if context.is_some() { Origin::Server } else { Origin::Assumed };
    Server { context: context.unwrap_or(ASSUMED), origin, slots, counts, loaded: None }
}

/// The JSON of a 200; `None` for any other reply, an error where there is no server.
pub(super) fn json(reply: Result<HttpReply, Failure>) -> Result<Option<Value>, Failure> {
    match reply {
        Ok(reply)
            if reply.status == 503
                && String::from_utf8_lossy(&reply.body).contains("Loading model") =>
        {
            Err(Failure::Loading)
        }
        Ok(reply) if reply.status == 200 => Ok(serde_json::from_slice(&reply.body).ok()),
        Ok(_) | Err(Failure::TimedOut(_) | Failure::Broken(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn number(value: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| value.pointer(name).and_then(Value::as_u64)).filter(|n| *n > 0)
}

/// llama-server tells in `/props`, vLLM and others in the list of models, LM Studio in its own.
fn compatible(http: &Http, provider: &Provider) -> Result<Server, Failure> {
    let root = provider.url.strip_suffix("/v1").unwrap_or(&provider.url);
    let props = json(http.get(provider, &format!("{root}/props")))?.unwrap_or(Value::Null);
    if let Some(context) = number(&props, &["/default_generation_settings/n_ctx"]) {
        return Ok(known(Some(context), number(&props, &["/total_slots"]), true));
    }
    let own = json(http.get(provider, &format!("{root}/api/v0/models")))?;
    let names = ["/loaded_context_length", "/max_context_length"];
    if let Some(context) = own.and_then(|list| in_list(&list, &provider.model, &names)) {
        return Ok(known(Some(context), None, false));
    }
    listed(http, provider)
}

fn listed(http: &Http, provider: &Provider) -> Result<Server, Failure> {
    let list =
        json(http.get(provider, &openai_address(provider, "models")))?.unwrap_or(Value::Null);
    let names = ["/max_model_len", "/context_window", "/context_length", "/meta/n_ctx"];
    Ok(known(in_list(&list, &provider.model, &names), None, false))
}

fn in_list(list: &Value, model: &str, names: &[&str]) -> Option<u64> {
    let items = list["data"].as_array()?;
    let own = items.iter().find(|item| item["id"].as_str() == Some(model));
    number(own.or(if items.len() == 1 { items.first() } else { None })?, names)
}

fn gemini(http: &Http, provider: &Provider) -> Result<Server, Failure> {
    let address = format!("{}/v1beta/models/{}", provider.url, provider.model);
    let model = json(http.get(provider, &address))?.unwrap_or(Value::Null);
    Ok(known(number(&model, &["/inputTokenLimit"]), None, false))
}

/// The trained context from the list of models, else from `/api/show`. What is asked for stays the
/// same from call to call: a changed value makes Ollama load the model again.
fn ollama(http: &Http, provider: &Provider) -> Result<Server, Failure> {
    let tags =
        json(http.get(provider, &format!("{}/api/tags", provider.url)))?.unwrap_or(Value::Null);
    let own = own_model(&tags, provider);
    let trained = match own {
        Some(model) if model["details"].is_object() => {
            match number(model, &["/details/context_length"]) {
                Some(context) => Some(context),
                None => shown_context(http, provider)?,
            }
        }
        _ => None,
    };
    let mut server = known(trained.map(|trained| trained.min(OLLAMA)), None, false);
    if server.origin == Origin::Assumed && own.is_some_and(|model| model["details"].is_object()) {
        server.context = OLLAMA;
    }
    let running = json(http.get(provider, &format!("{}/api/ps", provider.url)))?;
    server.loaded = running.map(|list| own_model(&list, provider).is_some());
    Ok(server)
}

/// The configured model in a list of Ollama's.
pub fn own_model<'a>(list: &'a Value, provider: &Provider) -> Option<&'a Value> {
    list["models"].as_array()?.iter().find(|model| {
        let name = model["name"].as_str().unwrap_or("");
        name == provider.model || name == format!("{}:latest", provider.model)
    })
}

/// `/api/show`: the system prompt and the trained context of a model.
pub fn show(http: &Http, provider: &Provider) -> Result<Option<Value>, Failure> {
    let body = serde_json::json!({"model": provider.model});
    json(http.post(provider, &format!("{}/api/show", provider.url), &body))
}

fn shown_context(http: &Http, provider: &Provider) -> Result<Option<u64>, Failure> {
    let Some(shown) = show(http, provider)? else { return Ok(None) };
    let arch =
        shown.pointer("/model_info/general.architecture").and_then(Value::as_str).unwrap_or("");
    Ok(shown["model_info"][format!("{arch}.context_length")].as_u64())
}

/// Tokens of a prompt, and whether the server counted them itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Tokens.
    pub tokens: u64,
    /// Counted by the server's own tokenizer, template included.
    pub exact: bool,
}

/// Counts the tokens of a prompt: by the server where it can, else by its bytes, on the high side.
pub fn count(http: &Http, provider: &Provider, server: &Server, wire: &Wire<'_>) -> Count {
    let counted = (server.counts && provider.kind.dialect() == Dialect::OpenAi)
        .then(|| counted_by_server(http, provider, wire))
        .flatten();
    match counted {
        Some(tokens) => Count { tokens, exact: true },
        None => Count { tokens: estimate(wire.prompt_bytes(provider)), exact: false },
    }
}

/// Tokens of that many bytes, on the high side.
pub fn estimate(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_A_TOKEN) + 32
}

fn counted_by_server(http: &Http, provider: &Provider, wire: &Wire<'_>) -> Option<u64> {
    let (_, body) = request(provider, wire);
    let address = openai_address(provider, "chat/completions/input_tokens");
    json(http.post(provider, &address, &body)).ok()??["input_tokens"].as_u64()
}

/// Tokens kept free beside prompt and reply, for what a template adds.
const MARGIN: u64 = 32;

/// Whether prompt, reply and margin fit.
pub fn check_budget(
    provider: &Provider,
    server: &Server,
    count: Count,
    wire: &Wire<'_>,
) -> Result<(), Failure> {
    let reserve = u64::from(wire.max_tokens) + MARGIN;
    let limit = u64::from(provider.max_prompt_tokens);
    let over = limit > 0 && count.tokens > limit;
    if over || count.tokens + reserve > server.context {
        return Err(Failure::PromptTooLong {
            tokens: count.tokens,
            reserve: if over { 0 } else { reserve },
            context: if over { limit } else { server.context },
            bytes: wire.prompt_bytes(provider),
        });
    }
    Ok(())
}

/// Below this a server has not counted at all (tokens): no truncation leaves so little.
const NO_COUNT: u64 = 16;
/// Bytes a token that no real text reaches; a count below says that text is missing.
const MOST_BYTES_A_TOKEN: u64 = 8;

/// Whether the server saw as many tokens as were sent. A server that cuts a prompt in silence
/// reports what was left of it.
pub fn check_seen(count: Count, bytes: u64, seen: Option<u64>) -> Result<(), Failure> {
    let Some(seen) = seen.filter(|seen| *seen >= NO_COUNT) else { return Ok(()) };
    let tolerance = (count.tokens / 20).max(16);
    let missing = if count.exact {
        seen + tolerance < count.tokens
    } else {
        seen < bytes / MOST_BYTES_A_TOKEN
    };
    if missing {
        return Err(Failure::SuspectedTruncation { sent: count.tokens, seen });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_a_prompt_that_was_cut_is_noticed() {
        let exact = Count { tokens: 1256, exact: true };
        assert!(check_seen(exact, 5000, Some(258)).is_err());
        assert!(check_seen(exact, 5000, Some(1240)).is_ok());
        let estimated = Count { tokens: estimate(5000), exact: false };
        assert!(check_seen(estimated, 5000, Some(258)).is_err());
        assert!(check_seen(estimated, 5000, Some(1256)).is_ok());
        assert!(check_seen(estimated, 5000, Some(1)).is_ok());
        assert!(check_seen(estimated, 5000, None).is_ok());
    }
}
