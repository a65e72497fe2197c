//! The settings as types. What each key means stands in `config/default.toml`.

#![allow(missing_docs, reason = "each field is documented by the comment in config/default.toml")]

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All settings of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    pub store: StoreSettings,
    pub capture: CaptureSettings,
    pub redact: RedactSettings,
    pub embed: EmbedSettings,
    pub connect: ConnectSettings,
    pub consolidate: ConsolidateSettings,
    pub observe: ObserveSettings,
    pub brief: BriefSettings,
    pub route: RouteSettings,
    pub age: AgeSettings,
    pub schedule: ScheduleSettings,
    pub search: SearchSettings,
    pub documents: DocumentSettings,
    pub mcp: McpSettings,
}

/// `[store]`
#[derive(Clone, Debug, Deserialize)]
pub struct StoreSettings {
    pub busy_timeout_ms: u64,
    pub backups: usize,
}

/// `[capture]`
#[derive(Clone, Debug, Deserialize)]
pub struct CaptureSettings {
    pub scan: Vec<String>,
    pub scan_days: u32,
    pub settle_seconds: u64,
    pub exclude: Vec<String>,
    pub max_line_bytes: usize,
    pub max_entry_bytes: usize,
    pub session_entries: bool,
    pub own_wordings: Vec<String>,
    pub marks: CaptureMarks,
}

/// `[capture.marks]`
#[derive(Clone, Debug, Deserialize)]
pub struct CaptureMarks {
    pub insight: Vec<String>,
    pub decision: Vec<String>,
    pub thought: Vec<String>,
}

/// `[redact]`
#[derive(Clone, Debug, Deserialize)]
pub struct RedactSettings {
    pub patterns: BTreeMap<String, String>,
}

/// `[embed]`
#[derive(Clone, Debug, Deserialize)]
pub struct EmbedSettings {
    pub model: String,
    pub url: String,
    pub url_model: String,
    pub url_dimensions: usize,
    pub url_key_env: String,
    pub timeout_seconds: u64,
    pub threads: usize,
    pub batch_tokens: usize,
    pub max_attempts: u32,
    pub refill_entries: usize,
    pub url_parallel: usize,
    pub onnxruntime: String,
    pub hub: String,
    pub serve: Serve,
    pub serve_address: String,
    pub serve_idle_seconds: u64,
}

/// What a client does with the user's embedding server.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Serve {
    Off,
    Use,
    Start,
}

/// `[connect]`
#[derive(Clone, Debug, Deserialize)]
pub struct ConnectSettings {
    pub link_similarity: f32,
    pub max_links: usize,
    pub exact_numbers: usize,
}

/// `[consolidate]`
#[derive(Clone, Debug, Deserialize)]
pub struct ConsolidateSettings {
    pub model: Names,
    pub min_cluster: usize,
    pub cluster_similarity: f32,
    pub local_only: bool,
    pub min_coverage: f64,
    pub max_text_bytes: usize,
    pub stuck_after: u32,
    pub retry_minutes: u32,
    pub stop_after_timeouts: u32,
    pub redo: usize,
    pub keep_replies: bool,
    pub reply_bytes: usize,
    pub keep_prompts: bool,
    pub max_load: f64,
    pub call: CallSettings,
    pub doctor: DoctorSettings,
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderSettings>,
}

/// One name, or several in order of preference.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    /// The names in order of preference.
    pub fn list(&self) -> Vec<&str> {
        match self {
            Self::One(name) => vec![name.as_str()],
            Self::Many(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

impl From<&str> for Names {
    fn from(name: &str) -> Self {
        Self::One(name.to_string())
    }
}

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.list().join(", "))
    }
}

/// `[consolidate.doctor]`
#[derive(Clone, Debug, Deserialize)]
pub struct DoctorSettings {
    pub days: u32,
    pub window: u32,
    pub queue_seconds: f64,
    pub bad_attribution: f64,
    pub unreadable: f64,
    pub identical: f64,
    pub leaked: f64,
    pub attempts_per_merge: f64,
    pub run: usize,
    pub min_length: f64,
}

/// `[consolidate.call]`: what holds for every provider that does not say otherwise.
#[derive(Clone, Debug, Deserialize)]
pub struct CallSettings {
    pub timeout_seconds: f64,
    pub load_seconds: f64,
    pub retries: u32,
    pub backoff_seconds: f64,
    pub max_tokens: u32,
    pub max_tokens_limit: u32,
    pub temperature: f64,
    pub seed: i64,
    pub context_tokens: u32,
    pub max_prompt_tokens: u32,
    pub keep_alive: String,
    pub thinking: String,
    pub per_minute: u32,
    pub per_day: u32,
    pub max_in_flight: usize,
    pub rules_in: String,
    pub schema: bool,
}

/// `[consolidate.providers.NAME]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    pub kind: Option<String>,
    pub url: Option<String>,
    pub model: Option<String>,
    pub hosted: Option<bool>,
    pub key_env: Option<String>,
    pub key_file: Option<String>,
    pub timeout_seconds: Option<f64>,
    pub load_seconds: Option<f64>,
    pub retries: Option<u32>,
    pub backoff_seconds: Option<f64>,
    pub max_tokens: Option<u32>,
    pub max_tokens_limit: Option<u32>,
    pub temperature: Option<f64>,
    pub seed: Option<i64>,
    pub context_tokens: Option<u32>,
    pub max_prompt_tokens: Option<u32>,
    pub keep_alive: Option<String>,
    pub thinking: Option<String>,
    pub per_minute: Option<u32>,
    pub per_day: Option<u32>,
    pub max_in_flight: Option<usize>,
    pub rules_in: Option<String>,
    pub schema: Option<bool>,
}

/// `[observe]`
#[derive(Clone, Debug, Deserialize)]
pub struct ObserveSettings {
    pub enabled: bool,
    pub model: Names,
    pub max_calls: usize,
    pub max_bytes: usize,
    pub output_bytes: usize,
    pub per_tick: usize,
    pub banners: Vec<String>,
}

/// `[brief]`
#[derive(Clone, Debug, Deserialize)]
pub struct BriefSettings {
    pub session_start: bool,
    pub on_prompt: bool,
    pub tokens: usize,
    pub prompt_tokens: usize,
    pub least_score: f64,
    pub promote_recalls: u32,
    pub limit_ms: u64,
}

/// `[route]`
#[derive(Clone, Debug, Deserialize)]
pub struct RouteSettings {
    pub enabled: bool,
    pub floor: f32,
    pub margin: f32,
    pub near: f32,
    pub general: bool,
    pub max_rewrites: usize,
    pub roots: Vec<String>,
    pub deny: Vec<String>,
    #[serde(default)]
    pub targets: BTreeMap<String, TargetSettings>,
}

/// `[route.targets.NAME]`; what each field means stands in `config/targets.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSettings {
    pub about: Option<String>,
    pub paths: Option<Vec<String>>,
    pub scope: Option<String>,
    pub format: Option<String>,
    pub key: Option<String>,
    pub general: Option<bool>,
    pub create: Option<bool>,
    pub max_lines: Option<usize>,
    pub max_bytes: Option<usize>,
    pub chain: Option<bool>,
    pub hidden_by: Option<String>,
    pub enabled: Option<bool>,
}

/// `[age]`
#[derive(Clone, Debug, Deserialize)]
pub struct AgeSettings {
    pub newer_entries: u64,
    pub max_reprieves: u32,
    pub growth: u64,
    pub max_expire_share: f64,
    pub max_expire_free: usize,
    pub model: Names,
    pub max_questions: usize,
}

/// `[schedule]`
#[derive(Clone, Debug, Deserialize)]
pub struct ScheduleSettings {
    pub cron: String,
    pub by: String,
    pub from_hooks: bool,
    pub hook_delay_seconds: u64,
}

/// `[search]`
#[derive(Clone, Debug, Deserialize)]
pub struct SearchSettings {
    pub results: usize,
    pub max_results: usize,
    pub least_score: f64,
    pub lexical_weight: f64,
    pub candidates: usize,
    pub whole_chars: usize,
    pub snippet_chars: usize,
    pub chunks_per_document: usize,
    pub reranker: String,
    pub rerank_candidates: usize,
}

/// `[documents]`
#[derive(Clone, Debug, Deserialize)]
pub struct DocumentSettings {
    pub allowed_roots: Vec<String>,
    pub extensions: Vec<String>,
    pub deny: Vec<String>,
    pub max_bytes: u64,
    pub timeout_seconds: u64,
    pub redirects: u32,
    pub private_addresses: bool,
}

/// `[mcp]`
#[derive(Clone, Debug, Deserialize)]
pub struct McpSettings {
    pub allow_write: bool,
}
