//! The client: the user's server where it is sound, in process where it is not.

use super::lock::{known_token, start_detached};
use super::{Health, PROTOCOL, proof};
use crate::embed::onnx::OnnxEmbedder;
use crate::embed::{Descriptor, EmbedError, Embedder, Embedding, Role, unit};
use crate::error::Result;
use crate::paths::Paths;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::blocking::Client;
use serde::Deserialize;
use serde_json::json;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A server that is there answers `/health` from memory.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);

/// Why the server is not used.
#[derive(Debug)]
enum Unusable {
    Down,
    Slow,
    Foreign(String),
    Old(u32),
    OtherModel(String),
    Failing(String),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("it is not running"),
            Self::Slow => f.write_str("it does not answer in time"),
            Self::Foreign(why) => write!(f, "what listens there is not ours: {why}"),
            Self::Old(protocol) => write!(f, "it speaks protocol {protocol}, not {PROTOCOL}"),
            Self::OtherModel(id) => write!(f, "it serves {id}"),
            Self::Failing(why) => write!(f, "it answered badly: {why}"),
        }
    }
}

/// Whether the server is asked.
enum Way {
    Untried,
    Server(Client),
    InProcess,
}

/// Asks the user's server, and embeds in process from the first failure on.
pub struct ServedEmbedder {
    local: OnnxEmbedder,
    paths: Paths,
    base: String,
    timeout: Duration,
    start: bool,
    way: Mutex<Way>,
    notes: Mutex<Vec<String>>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Option<String>,
    error: Option<String>,
}

impl ServedEmbedder {
    /// A client for the server at `address`; `start` starts one where none runs. `local` is what
    /// is used without it and says which model is wanted.
    pub fn new(
        local: OnnxEmbedder,
        paths: &Paths,
        address: &str,
        timeout: Duration,
        start: bool,
    ) -> Self {
        Self {
            local,
            paths: paths.clone(),
            base: format!("http://{address}"),
            timeout,
            start,
            way: Mutex::new(Way::Untried),
            notes: Mutex::default(),
        }
    }

    /// One result a text by the server; `None`: embed in process.
    fn ask(&self, texts: &[String], role: Role) -> Option<Vec<Embedding>> {
        let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Way::Untried = *way {
            *way = match self.connect() {
                Ok(client) => Way::Server(client),
                Err(problem) => self.give_up(&problem),
            };
        }
        let Way::Server(client) = &*way else { return None };
        match self.request(client, texts, role) {
            Ok(results) => Some(results),
            Err(problem) => {
                *way = self.give_up(&problem);
                None
            }
        }
    }

    /// Says once why the server is not used. One that simply is not running is no news.
    fn give_up(&self, problem: &Unusable) -> Way {
        if !matches!(problem, Unusable::Down) {
            let note =
                format!("the embedding server at {}: {problem}; embedding in process", self.base);
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        } else if self.start
            && let Err(error) = start_detached(&self.paths)
        {
            let note = format!("the embedding server could not be started: {error}");
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        }
        Way::InProcess
    }

    fn connect(&self) -> Result<Client, Unusable> {
        let key = known_token(&self.paths).ok_or(Unusable::Down)?;
        // Without certificates: reading the system's takes longer than embedding a search.
        let client = Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .timeout(self.timeout)
            .build()
            .map_err(|error| Unusable::Failing(error.to_string()))?;
        let nonce = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let url = format!("{}/health?nonce={nonce}", self.base);
        let response =
            client.get(url).timeout(HEALTH_TIMEOUT).send().map_err(|error| classify(&error))?;
        let health: Health =
            response.json().map_err(|_| Unusable::Foreign("no answer to /health".into()))?;
        self.check(&health, &proof(&key, &nonce)).map(|()| client)
    }

    fn check(&self, health: &Health, proof: &str) -> Result<(), Unusable> {
        if health.protocol != PROTOCOL {
            return Err(Unusable::Old(health.protocol));
        }
        if health.proof != proof {
            return Err(Unusable::Foreign("it does not know this user's token".into()));
        }
        if health.descriptor != self.descriptor().id() {
            return Err(Unusable::OtherModel(health.descriptor.clone()));
        }
        Ok(())
    }

    fn request(
        &self,
        client: &Client,
        texts: &[String],
        role: Role,
    ) -> Result<Vec<Embedding>, Unusable> {
        let mut results = Vec::with_capacity(texts.len());
        for texts in texts.chunks(super::MOST_TEXTS) {
            results.extend(self.request_some(client, texts, role)?);
        }
        Ok(results)
    }

    fn request_some(
        &self,
        client: &Client,
        texts: &[String],
        role: Role,
    ) -> Result<Vec<Embedding>, Unusable> {
        let input_type = if role == Role::Query { "query" } else { "document" };
        let body = json!({
            "model": self.descriptor().id(), "input": texts, "input_type": input_type,
            "encoding_format": "base64", "partial": true,
        });
        let url = format!("{}/v1/embeddings", self.base);
        let response = client.post(url).json(&body).send().map_err(|error| classify(&error))?;
        let status = response.status();
        if !status.is_success() {
            let text: String = response.text().unwrap_or_default().chars().take(200).collect();
            return Err(Unusable::Failing(format!("{status} {text}")));
        }
        let answer: Answer =
            response.json().map_err(|error| Unusable::Failing(error.to_string()))?;
        self.in_order(answer, texts.len())
    }

    /// A vector that is none, or a text without any answer, means that the server is broken.
    fn in_order(&self, answer: Answer, count: usize) -> Result<Vec<Embedding>, Unusable> {
        let mut results: Vec<Option<Embedding>> = vec![None; count];
        for item in answer.data {
            let result = match (item.embedding, item.error) {
                (Some(vector), _) => Ok(self.decode(&vector)?),
                (None, error) => Err(EmbedError::Refused(error.unwrap_or_default())),
            };
            if let Some(slot) = results.get_mut(item.index) {
                *slot = Some(result);
            }
        }
        let whole: Option<Vec<Embedding>> = results.into_iter().collect();
        whole.ok_or_else(|| Unusable::Failing("texts without an answer".into()))
    }

    fn decode(&self, text: &str) -> Result<Vec<f32>, Unusable> {
        let failing = |problem: &dyn fmt::Display| Unusable::Failing(problem.to_string());
        let bytes = STANDARD.decode(text).map_err(|error| failing(&error))?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        unit(numbers, self.descriptor().dimensions).map_err(|problem| failing(&problem))
    }
}

fn classify(error: &reqwest::Error) -> Unusable {
    if error.is_connect() {
        Unusable::Down
    } else if error.is_timeout() {
        Unusable::Slow
    } else {
        Unusable::Failing(error.to_string())
    }
}

impl Embedder for ServedEmbedder {
    fn descriptor(&self) -> &Descriptor {
        self.local.descriptor()
    }

    fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding> {
        if texts.is_empty() {
            return Vec::new();
        }
        self.ask(texts, role).unwrap_or_else(|| self.local.embed(texts, role))
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
