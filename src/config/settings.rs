//! The settings as types. What each key means stands in `config/default.toml`.

#![allow(missing_docs, reason = "each field is documented by the comment in config/default.toml")]

use serde::Deserialize;
use std::collections::BTreeMap;

/// All settings of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    pub store: StoreSettings,
    pub capture: CaptureSettings,
    pub embed: EmbedSettings,
    pub connect: ConnectSettings,
    pub consolidate: ConsolidateSettings,
    pub route: RouteSettings,
    pub age: AgeSettings,
    pub schedule: ScheduleSettings,
}

/// `[store]`
#[derive(Clone, Debug, Deserialize)]
pub struct StoreSettings {
    pub busy_timeout_ms: u64,
}

/// `[capture]`
#[derive(Clone, Debug, Deserialize)]
pub struct CaptureSettings {
    pub scan: Vec<String>,
    pub scan_days: u32,
    pub settle_seconds: u64,
    pub exclude: Vec<String>,
    pub max_line_bytes: usize,
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
    pub onnxruntime: String,
    pub hub: String,
}

/// `[connect]`
#[derive(Clone, Debug, Deserialize)]
pub struct ConnectSettings {
    pub link_similarity: f32,
    pub max_links: usize,
}

/// `[consolidate]`
#[derive(Clone, Debug, Deserialize)]
pub struct ConsolidateSettings {
    pub model: String,
    pub min_cluster: usize,
    pub local_only: bool,
}

/// `[route]`
#[derive(Clone, Debug, Deserialize)]
pub struct RouteSettings {
    pub enabled: bool,
    pub floor: f32,
    pub margin: f32,
    pub general: bool,
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
    pub enabled: Option<bool>,
}

/// `[age]`
#[derive(Clone, Debug, Deserialize)]
pub struct AgeSettings {
    pub newer_entries: u64,
    pub max_reprieves: u32,
    pub max_expire_share: f64,
    pub max_expire_free: usize,
}

/// `[schedule]`
#[derive(Clone, Debug, Deserialize)]
pub struct ScheduleSettings {
    pub cron: String,
    pub by: String,
}
