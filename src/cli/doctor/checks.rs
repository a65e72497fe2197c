//! Thresholds, and the likely cause that each of them names.

use super::Checkup;
use crate::config::{ConsolidateSettings, DoctorSettings};
use crate::model::http::Http;
use crate::model::provider::{Provider, ProviderKind, RulesIn};
use crate::model::server;
use crate::store::Quality;
use serde_json::Value;

/// Words by which a warning says where to look.
const CONTEXT: &str = "context or prompt problem, not model quality";

/// Adds a finding for each threshold that is passed.
pub fn judge(settings: &ConsolidateSettings, found: &mut Checkup) {
    let mut findings = std::mem::take(&mut found.findings);
    findings.extend(server_findings(found));
    findings.extend(queue(&settings.doctor, found));
    findings.extend(generators(found));
    for line in &found.quality {
        findings.extend(quality(&settings.doctor, line));
    }
    findings.extend(attempts(&settings.doctor, found));
    findings.extend(failing(found));
    found.findings = findings;
}

fn server_findings(found: &Checkup) -> Vec<String> {
    let mut findings = Vec::new();
    let Some(server) = &found.server else { return findings };
    if server.context_from == Some("assumed") {
        let context = server.context.unwrap_or(0);
        findings.push(format!(
            "the server does not say its context length; {context} tokens are assumed: set context_tokens"
        ));
    }
    if let (Some(slots), Some(provider)) = (server.slots, &found.provider)
        && provider.max_in_flight as u64 > slots
    {
        findings.push(format!(
            "max_in_flight is {} but the server has {slots} slots: requests wait for each other",
            provider.max_in_flight
        ));
    }
    if !server.other_models.is_empty() {
        findings.push(format!(
            "the server also holds {}: it seems to be the one people chat with; give lifecycle its \
             own on port 11435",
            server.other_models.join(", ")
        ));
    }
    findings
}

fn queue(doctor: &DoctorSettings, found: &Checkup) -> Option<String> {
    let call = found.call.as_ref().and_then(|call| call.queue_ms);
    let wait = found.queue_wait_ms.into_iter().chain(call).fold(0.0, f64::max);
    (wait > doctor.queue_seconds * 1000.0).then(|| {
        format!(
            "requests wait {:.1} s for a slot: raise the server's parallelism or lower max_in_flight; \
             a smaller model would not help",
            wait / 1000.0
        )
    })
}

fn generators(found: &Checkup) -> Vec<String> {
    let odd = found.generators.iter().filter(|one| {
        let (asked, got) = (one.configured.to_lowercase(), one.answered.to_lowercase());
        !asked.is_empty() && !got.contains(&asked) && !asked.contains(&got)
    });
    odd.map(|one| {
        format!(
            "{} answers came from {} although {} is configured for {}: another file is loaded, or an alias",
            one.answers, one.answered, one.configured, one.provider
        )
    })
    .collect()
}

fn quality(doctor: &DoctorSettings, line: &Quality) -> Vec<String> {
    let mut findings = Vec::new();
    let mut above = |value: f64, limit: f64, text: &str| {
        if value > limit {
            findings.push(format!("{}: {:.0} % {text}", line.model, value * 100.0));
        }
    };
    above(
        line.bad_attribution,
        doctor.bad_attribution,
        "speak of the user although no user spoke: the prompt's actors are ignored",
    );
    above(line.unreadable, doctor.unreadable, &format!("cannot be read ({CONTEXT})"));
    above(
        line.identical,
        doctor.identical,
        &format!("are identical for different clusters ({CONTEXT})"),
    );
    above(line.leaked, doctor.leaked, &format!("restate the instructions ({CONTEXT})"));
    if line.unreadable_run >= doctor.run.max(1) {
        findings.push(format!(
            "{}: the last {} replies cannot be read, earlier ones could ({CONTEXT})",
            line.model, line.unreadable_run
        ));
    }
    // An observation is a few sentences about a log: only a merge must keep what its sources say.
    let is_merge = line.purpose != "observe" && line.model != "extractive";
    if is_merge && line.length.is_some_and(|length| length < doctor.min_length) {
        let length = line.length.unwrap_or(0.0) * 100.0;
        findings.push(format!(
            "{}: merges have {length:.0} % of the length of their sources: facts are likely lost",
            line.model
        ));
    }
    findings
}

fn attempts(doctor: &DoctorSettings, found: &Checkup) -> Option<String> {
    #[allow(clippy::cast_precision_loss, reason = "a window has few rows")]
    let merged: f64 = found
        .quality
        .iter()
        .filter(|line| line.model != "extractive")
        .map(|line| line.accepted * line.replies as f64)
        .sum();
    #[allow(clippy::cast_precision_loss, reason = "a window has few rows")]
    let each = found.latency.n as f64 / merged.max(1.0);
    (found.latency.n >= 10 && each > doctor.attempts_per_merge)
        .then(|| format!("{each:.1} attempts a merge ({CONTEXT})"))
}

/// Since when consolidation fails, and how many clusters wait.
fn failing(found: &Checkup) -> Option<String> {
    let one = found.consolidation.as_ref()?;
    let since = crate::clock::format_time(one.failing_since?);
    Some(format!(
        "consolidation has been failing since {since}; {} clusters wait: `lifecycle status` says why",
        one.waiting
    ))
}

/// Models that an Ollama server holds beside ours.
pub fn other_models(http: &Http, provider: &Provider) -> Vec<String> {
    if provider.kind != ProviderKind::Ollama {
        return Vec::new();
    }
    let reply = http.get(provider, &format!("{}/api/ps", provider.url));
    let value: Value = reply
        .ok()
        .and_then(|reply| serde_json::from_slice(&reply.body).ok())
        .unwrap_or(Value::Null);
    let models = value["models"].as_array().into_iter().flatten();
    models
        .filter_map(|model| model["name"].as_str())
        .filter(|name| *name != provider.model && *name != format!("{}:latest", provider.model))
        .map(str::to_string)
        .collect()
}

/// The warning that the model is loaded with another context than each of our requests states:
/// Ollama loads it again at every change.
pub fn other_context(http: &Http, provider: &Provider, context: u64) -> Option<String> {
    if provider.kind != ProviderKind::Ollama {
        return None;
    }
    let reply = http.get(provider, &format!("{}/api/ps", provider.url)).ok()?;
    let list: Value = serde_json::from_slice(&reply.body).ok()?;
    let own = server::own_model(&list, provider)?;
    let loaded = own["context_length"].as_u64().filter(|loaded| *loaded != context)?;
    Some(format!(
        "the model is loaded with a context of {loaded} tokens while each request states {context}: \
         something else uses this server, and each change loads the model anew"
    ))
}

/// The warning that our system message replaces the one of the model.
pub fn own_system(http: &Http, provider: &Provider) -> Option<String> {
    if provider.kind != ProviderKind::Ollama || provider.rules_in != RulesIn::System {
        return None;
    }
    let shown = server::show(http, provider).ok()??;
    let system = shown["system"].as_str().filter(|text| !text.trim().is_empty())?;
    Some(format!(
        "the model has a SYSTEM of its own ({} characters) which our system message replaces; use \
         rules_in = \"user\" or \"modelfile\" to keep it",
        system.chars().count()
    ))
}
