//! Which model it really is: name, digest of its file, quantisation, runtime.
//!
//! A name says little: the same name may stand for another file, another quantisation, another
//! build of the runtime, and each of them writes other merges. `lifecycle doctor --pin` keeps what
//! is found here together with the versions of engine and prompt; what differs later is told.

use super::failure::Failure;
use super::http::Http;
use super::provider::{Provider, ProviderKind};
use super::server::{json, own_model};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// What is known about the model and its runtime; `None` where the server does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The model as the server names it.
    pub model: Option<String>,
    /// Digest of the weights: as the server states it, else of the file where it can be read.
    pub digest: Option<String>,
    /// Quantisation.
    pub quantisation: Option<String>,
    /// Runtime and its version.
    pub runtime: Option<String>,
}

/// A model with the versions of what asks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Model and runtime.
    pub identity: Identity,
    /// The model as configured.
    pub configured: String,
    /// Version of this program.
    pub engine: String,
    /// Version of the prompt.
    pub prompt: String,
}

impl Pin {
    /// What differs from `now`, in words. What one of the two does not know is no difference.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (old, new) = (&self.identity, &now.identity);
        [
            ("configured model", known(&self.configured), known(&now.configured)),
            ("model", old.model.clone(), new.model.clone()),
            ("digest", old.digest.clone(), new.digest.clone()),
            ("quantisation", old.quantisation.clone(), new.quantisation.clone()),
            ("runtime", old.runtime.clone(), new.runtime.clone()),
            ("engine", known(&self.engine), known(&now.engine)),
            ("prompt", known(&self.prompt), known(&now.prompt)),
        ]
        .into_iter()
        .filter_map(|(name, old, new)| {
            let (old, new) = (old?, new?);
            (old != new).then(|| format!("{name} was {old} and is {new}"))
        })
        .collect()
    }
}

/// Asks a server which model it has. With `hash`, a weights file that can be read is hashed.
pub fn identify(http: &Http, provider: &Provider, hash: bool) -> Result<Identity, Failure> {
    match provider.kind {
        ProviderKind::Ollama => ollama(http, provider),
        ProviderKind::Gemini => {
            let address = format!("{}/v1beta/models/{}", provider.url, provider.model);
            let shown = json(http.get(provider, &address))?.unwrap_or(Value::Null);
            Ok(Identity {
                model: text(&shown["name"]),
                digest: text(&shown["version"]),
                ..Identity::default()
            })
        }
        ProviderKind::OpenRouter | ProviderKind::Groq => Ok(Identity::default()),
        ProviderKind::LlamaServer | ProviderKind::OpenAiCompatible => {
            compatible(http, provider, hash)
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_string)
}

fn ollama(http: &Http, provider: &Provider) -> Result<Identity, Failure> {
    let get = |route: &str| json(http.get(provider, &format!("{}{route}", provider.url)));
    let tags = get("/api/tags")?.unwrap_or(Value::Null);
    let version = get("/api/version")?.unwrap_or(Value::Null);
    let own = own_model(&tags, provider).cloned().unwrap_or(Value::Null);
    Ok(Identity {
        model: text(&own["name"]),
        digest: text(&own["digest"]),
        quantisation: text(&own["details"]["quantization_level"]),
        runtime: text(&version["version"]).map(|version| format!("ollama {version}")),
    })
}

fn compatible(http: &Http, provider: &Provider, hash: bool) -> Result<Identity, Failure> {
    let root = provider.url.strip_suffix("/v1").unwrap_or(&provider.url);
    let props = json(http.get(provider, &format!("{root}/props")))?.unwrap_or(Value::Null);
    let path = text(&props["model_path"]);
    let file = path.as_deref().map(Path::new).filter(|_| hash && !provider.leaves_machine());
    Ok(Identity {
        model: text(&props["model_alias"]),
        digest: file.and_then(digest_of),
        quantisation: path.as_deref().and_then(quantisation),
        runtime: text(&props["build_info"]).map(|build| format!("llama.cpp {build}")),
    })
}

/// Hash of a weights file; `None` where it cannot be read.
fn digest_of(path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = crate::regular::open(path).ok()?;
    std::io::copy(&mut file, &mut hasher).ok()?;
    Some(format!("blake3:{}", &hasher.finalize().to_hex()[..32]))
}

/// The quantisation that the name of a weights file tells: `…-Q4_K_M.gguf`.
fn quantisation(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?.trim_end_matches(".gguf");
    let part = name.rsplit(['-', '.']).next()?.to_uppercase();
    let is_level = part.starts_with('Q') || part.starts_with("IQ") || part.contains("F16");
    (is_level && part.chars().any(|ch| ch.is_ascii_digit())).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e15_what_differs_is_named_and_what_is_unknown_is_not() {
        let pin = Pin {
            identity: Identity {
                digest: Some("a".into()),
                quantisation: Some("Q4_K_M".into()),
                ..Identity::default()
            },
            configured: "m".into(),
            engine: "0.1.0".into(),
            prompt: "p1".into(),
        };
        assert_eq!(pin.differences(&pin), Vec::<String>::new());
        let mut now = pin.clone();
        now.identity.digest = Some("b".into());
        now.identity.quantisation = None;
        now.prompt = "p2".into();
        assert_eq!(now.identity.runtime, None);
        assert_eq!(pin.differences(&now), ["digest was a and is b", "prompt was p1 and is p2"]);
    }

    #[test]
    fn the_name_of_a_weights_file_tells_its_quantisation() {
        assert_eq!(quantisation("/m/qwen-0.5b-Q4_K_M.gguf").as_deref(), Some("Q4_K_M"));
        assert_eq!(quantisation("SmolLM2-135M-Instruct.Q4_1.gguf").as_deref(), Some("Q4_1"));
        assert_eq!(quantisation("/m/smollm2.gguf"), None);
    }
}
