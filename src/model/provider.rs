//! The settings of one model server, resolved: kind's defaults, `[consolidate.call]`, its own table.

use crate::config::{CallSettings, ConsolidateSettings, ProviderSettings};
use crate::error::{Error, Result};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// What a server speaks, by the name a user knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// llama.cpp's server.
    LlamaServer,
    /// Any other server with `/v1/chat/completions`.
    OpenAiCompatible,
    /// Google's Gemini API.
    Gemini,
    /// openrouter.ai.
    OpenRouter,
    /// groq.com.
    Groq,
}

/// The three forms of request and reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Ollama's own API.
    Ollama,
    /// `/v1/chat/completions`.
    OpenAi,
    /// `:generateContent`.
    Gemini,
}

impl ProviderKind {
    const ALL: [Self; 6] = [
        Self::Ollama,
        Self::LlamaServer,
        Self::OpenAiCompatible,
        Self::Gemini,
        Self::OpenRouter,
        Self::Groq,
    ];

    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaServer => "llama-server",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Gemini => "gemini",
            Self::OpenRouter => "openrouter",
            Self::Groq => "groq",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The form of request and reply.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Ollama => Dialect::Ollama,
            Self::Gemini => Dialect::Gemini,
            _ => Dialect::OpenAi,
        }
    }

    /// Whether the service runs on other people's machines by nature.
    pub fn is_hosted(self) -> bool {
        matches!(self, Self::Gemini | Self::OpenRouter | Self::Groq)
    }

    /// The address where the settings name none. Local ones use a port of their own, so that the
    /// server a person chats with is never used by accident.
    fn default_url(self) -> Option<&'static str> {
        match self {
            Self::Ollama | Self::LlamaServer => Some("http://127.0.0.1:11435"),
            Self::OpenAiCompatible => None,
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::OpenRouter => Some("https://openrouter.ai/api"),
            Self::Groq => Some("https://api.groq.com/openai"),
        }
    }

    fn default_key_env(self) -> Option<&'static str> {
        match self {
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Groq => Some("GROQ_API_KEY"),
            _ => None,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the rules of a prompt go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesIn {
    /// A system message of their own.
    System,
    /// At the head of the one user message; works with every server.
    User,
    /// Nowhere: the model carries them (`lifecycle model-file`).
    ModelFile,
}

/// Whether the model may reason before it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Switched off explicitly.
    Off,
    /// Switched on explicitly.
    On,
    /// Switched on with this effort (`low`, `medium`, `high`).
    Effort(String),
    /// The request says nothing.
    Omit,
}

impl Thinking {
    fn parse(word: &str) -> Self {
        match word {
            "off" | "false" => Self::Off,
            "on" | "true" => Self::On,
            "omit" => Self::Omit,
            effort => Self::Effort(effort.to_string()),
        }
    }

    /// The word recorded with each call.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Omit => "omit",
            Self::Effort(effort) => effort,
        }
    }
}

/// A key that no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key itself, for the one header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// A model server as it is used.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The user's name for it.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Base address without a slash at the end.
    pub url: String,
    /// The model as configured.
    pub model: String,
    /// The key, where one is needed.
    pub key: Option<Key>,
    /// Limit of one attempt.
    pub timeout: Duration,
    /// Longest wait for a model that is being loaded.
    pub load_wait: Duration,
    /// Further attempts after one that failed.
    pub retries: u32,
    /// Wait before the first of them; doubled each time.
    pub backoff: Duration,
    /// Output budget (tokens).
    pub max_tokens: u32,
    /// Largest output budget that a cut reply may be retried with (tokens).
    pub max_tokens_limit: u32,
    /// Sampling temperature.
    pub temperature: f64,
    /// Seed.
    pub seed: i64,
    /// Context length (tokens); 0: asked from the server.
    pub context_tokens: u32,
    /// Largest prompt that is sent (tokens); 0: as much as the context takes.
    pub max_prompt_tokens: u32,
    /// How long Ollama keeps the model loaded.
    pub keep_alive: String,
    /// Reasoning.
    pub thinking: Thinking,
    /// Requests a minute; 0: no limit.
    pub per_minute: u32,
    /// Requests in 24 hours; 0: no limit.
    pub per_day: u32,
    /// Requests open at once.
    pub max_in_flight: usize,
    /// Where the rules go.
    pub rules_in: RulesIn,
    /// Whether the reply's shape is constrained by the server.
    pub schema: bool,
}

impl Provider {
    /// The provider called `name`, or what is wrong with its settings.
    pub fn resolve(name: &str, settings: &ConsolidateSettings) -> Result<Self> {
        let provider = Self::without_key(name, settings)?;
        let table = format!("consolidate.providers.{name}");
        let key = match settings.providers.get(name) {
            Some(own) => key(provider.kind, own, &table)?,
            None => None,
        };
        Ok(Self { key, ..provider })
    }

    fn without_key(name: &str, settings: &ConsolidateSettings) -> Result<Self> {
        let own = settings.providers.get(name).ok_or_else(|| unknown(name, settings))?;
        let table = format!("consolidate.providers.{name}");
        let kind = kind(own, &table)?;
        let url = own.url.clone().or_else(|| kind.default_url().map(str::to_string));
        let url = url.ok_or_else(|| {
            Error::config(format!("{table}: `url` is missing"))
                .hint("the base address of the server, e.g. url = \"http://127.0.0.1:8080\"")
        })?;
        if reqwest::Url::parse(&url).ok().and_then(|url| url.host_str().map(drop)).is_none() {
            return Err(Error::config(format!("{table}: `{url}` is no address"))
                .hint("e.g. url = \"http://127.0.0.1:11435\""));
        }
        let model = own.model.clone().unwrap_or_default();
        if model.is_empty() && kind != ProviderKind::LlamaServer {
            return Err(Error::config(format!("{table}: `model` is missing"))
                .hint("the model as the server names it"));
        }
        let provider =
            Self::with(name, kind, url.trim_end_matches('/'), model, own, &settings.call)?;
        provider.check_address(settings, own)?;
        Ok(provider)
    }

    fn with(
        name: &str,
        kind: ProviderKind,
        url: &str,
        model: String,
        own: &ProviderSettings,
        call: &CallSettings,
    ) -> Result<Self> {
        let seconds = |value: f64| Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX);
        let rules_in = own.rules_in.as_deref().unwrap_or(&call.rules_in);
        Ok(Self {
            name: name.to_string(),
            kind,
            url: url.to_string(),
            model,
            key: None,
            timeout: seconds(own.timeout_seconds.unwrap_or(call.timeout_seconds)),
            load_wait: seconds(own.load_seconds.unwrap_or(call.load_seconds)),
            retries: own.retries.unwrap_or(call.retries),
            backoff: seconds(own.backoff_seconds.unwrap_or(call.backoff_seconds)),
            max_tokens: own.max_tokens.unwrap_or(call.max_tokens),
            max_tokens_limit: own.max_tokens_limit.unwrap_or(call.max_tokens_limit),
            temperature: own.temperature.unwrap_or(call.temperature),
            seed: own.seed.unwrap_or(call.seed),
            context_tokens: own.context_tokens.unwrap_or(call.context_tokens),
            max_prompt_tokens: own.max_prompt_tokens.unwrap_or(call.max_prompt_tokens),
            keep_alive: own.keep_alive.clone().unwrap_or_else(|| call.keep_alive.clone()),
            thinking: Thinking::parse(own.thinking.as_deref().unwrap_or(&call.thinking)),
            per_minute: own.per_minute.unwrap_or(call.per_minute),
            per_day: own.per_day.unwrap_or(call.per_day),
            max_in_flight: own.max_in_flight.unwrap_or(call.max_in_flight).max(1),
            rules_in: parse_rules_in(rules_in)?,
            schema: own.schema.unwrap_or(call.schema),
        })
    }

    /// Host and port, for records and messages.
    pub fn host(&self) -> String {
        reqwest::Url::parse(&self.url).ok().map_or_else(
            || self.url.clone(),
            |url| {
                let host = url.host_str().unwrap_or("").to_string();
                url.port().map_or(host.clone(), |port| format!("{host}:{port}"))
            },
        )
    }

    /// Whether text sent to it leaves this machine.
    pub fn leaves_machine(&self) -> bool {
        !is_loopback(&self.url)
    }

    /// Refuses an address that the settings do not allow.
    fn check_address(&self, settings: &ConsolidateSettings, own: &ProviderSettings) -> Result<()> {
        if !self.leaves_machine() {
            return Ok(());
        }
        let name = &self.name;
        if settings.local_only {
            return Err(Error::config(format!(
                "provider {name}: {} is not on this machine and consolidate.local_only is true",
                self.host()
            ))
            .hint("a hosted model needs consolidate.local_only = false and hosted = true in its table"));
        }
        if own.hosted != Some(true) {
            return Err(Error::config(format!(
                "provider {name}: notes would leave this machine for {}",
                self.host()
            ))
            .hint(format!("set consolidate.providers.{name}.hosted = true if that is wanted; text is redacted before it is sent")));
        }
        Ok(())
    }
}

/// Says at load what is wrong with the names of models and with the tables of providers, so that
/// nobody learns of it in the middle of a tick. Keys are looked for once one is needed.
pub fn check(settings: &ConsolidateSettings, names: &[&str]) -> Result<()> {
    for (name, own) in &settings.providers {
        let table = format!("consolidate.providers.{name}");
        if matches!(name.as_str(), "extractive" | "none") {
            return Err(Error::config(format!("{table}: this name stands for no model"))
                .hint("give the provider another name"));
        }
        kind(own, &table)?;
        check_words(own.rules_in.as_deref(), own.thinking.as_deref(), &table)?;
    }
    let call = &settings.call;
    check_words(Some(&call.rules_in), Some(&call.thinking), "consolidate.call")?;
    names
        .iter()
        .filter(|name| !matches!(**name, "extractive" | "none" | ""))
        .try_for_each(|name| Provider::without_key(name, settings).map(drop))
}

fn check_words(rules_in: Option<&str>, thinking: Option<&str>, table: &str) -> Result<()> {
    const THINKING: &[&str] = &["off", "false", "on", "true", "omit", "low", "medium", "high"];
    if let Some(word) = rules_in {
        parse_rules_in(word)
            .map_err(|error| Error { message: format!("{table}: {}", error.message), ..error })?;
    }
    match thinking {
        Some(word) if !THINKING.contains(&word) => {
            Err(Error::config(format!("{table}: thinking is `{word}`"))
                .hint("one of off, on, low, medium, high, omit"))
        }
        _ => Ok(()),
    }
}

fn unknown(name: &str, settings: &ConsolidateSettings) -> Error {
    let known: Vec<&str> = settings.providers.keys().map(String::as_str).collect();
    Error::config(format!("consolidate.model names `{name}`, which is no provider")).hint(format!(
        "add [consolidate.providers.{name}] with kind, url and model; known: extractive, none{}{}",
        if known.is_empty() { "" } else { ", " },
        known.join(", ")
    ))
}

fn kind(own: &ProviderSettings, table: &str) -> Result<ProviderKind> {
    let word = own.kind.as_deref().unwrap_or("");
    ProviderKind::parse(word).ok_or_else(|| {
        let kinds: Vec<&str> = ProviderKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let what = if word.is_empty() { "is missing".into() } else { format!("is `{word}`") };
        Error::config(format!("{table}: `kind` {what}"))
            .hint(format!("one of {}", kinds.join(", ")))
    })
}

fn parse_rules_in(word: &str) -> Result<RulesIn> {
    match word {
        "system" => Ok(RulesIn::System),
        "user" => Ok(RulesIn::User),
        "modelfile" => Ok(RulesIn::ModelFile),
        _ => {
            Err(Error::config(format!("rules_in is `{word}`"))
                .hint("one of system, user, modelfile"))
        }
    }
}

/// The key from its variable or its file. A local server needs none.
fn key(kind: ProviderKind, own: &ProviderSettings, table: &str) -> Result<Option<Key>> {
    if let Some(path) = &own.key_file {
        return read_key_file(Path::new(path)).map(Some);
    }
    let variable =
        own.key_env.as_deref().or(kind.default_key_env()).filter(|name| !name.is_empty());
    let value = variable
        .and_then(|name| std::env::var(name).ok())
        .map(|value| value.trim().to_string())
        .filter(|value| !value.is_empty());
    match (value, variable) {
        (Some(value), _) => Ok(Some(Key(value))),
        (None, Some(name)) if kind.is_hosted() => {
            Err(Error::config(format!("{table}: the variable {name} is not set"))
                .hint(format!("export {name}, or set key_file in the table")))
        }
        _ => Ok(None),
    }
}

fn read_key_file(path: &Path) -> Result<Key> {
    let wrong = |error: std::io::Error| Error::config(format!("{}: {error}", path.display()));
    let file = crate::regular::open(path).map_err(wrong)?;
    let metadata = file.metadata().map_err(wrong)?;
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0 {
        return Err(Error::config(format!("{}: others can read this key", path.display()))
            .hint(format!("chmod 600 {}", path.display())));
    }
    if metadata.len() > 4096 {
        return Err(Error::config(format!("{}: too long for a key", path.display())));
    }
    let bytes = crate::regular::bounded(file, 4096).map_err(wrong)?;
    let text = crate::regular::into_text(bytes).map_err(wrong)?;
    let key = text.trim();
    if key.is_empty() {
        return Err(Error::config(format!("{}: the file is empty", path.display())));
    }
    Ok(Key(key.to_string()))
}

/// Whether an address is this machine. A name counts only if it is `localhost`.
pub fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
