//! One request to `POST /v1/embeddings`, and what its failure means.

use crate::config::EmbedSettings;
use crate::error::{Error, Result};
use reqwest::StatusCode;
use reqwest::blocking::{Client as Http, Response};
use reqwest::redirect::Policy;
use serde::Deserialize;
use std::time::Duration;

/// Bytes of an answer that are read at most: 32 vectors of 4,096 numbers as text, and some.
const LONGEST_ANSWER: u64 = 64 << 20;

/// Why a request has no answer.
pub(super) enum Failure {
    /// The content was refused; fewer or shorter texts may be taken.
    Refused(String),
    /// No text is to blame.
    Server(String),
}

/// A connection to the server of the settings.
pub(super) struct Client {
    http: Http,
    url: String,
    model: String,
    key: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    #[serde(default)]
    embedding: Option<Vec<Option<f32>>>,
}

impl Client {
    /// Reads the settings; no request is made.
    pub fn new(settings: &EmbedSettings) -> Result<Self> {
        let url = endpoint(&settings.url)?;
        let mut builder = Http::builder()
            .timeout(Duration::from_secs(settings.timeout_seconds.max(1)))
            .redirect(Policy::none());
        if is_loopback(&url) {
            builder = builder.no_proxy();
            if url.scheme() == "http" {
                // Reading the system's certificates takes longer than embedding a search.
                builder = builder.tls_certs_only([]);
            }
        }
        let http = builder.build().map_err(|error| Error::config(format!("embed.url: {error}")))?;
        Ok(Self {
            http,
            url: url.to_string(),
            model: settings.url_model.clone(),
            key: key(settings)?,
        })
    }

    /// One list of numbers a text, in the order of the texts; empty where none came.
    pub fn embeddings(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
        let body = serde_json::json!({
            "model": self.model, "input": texts, "encoding_format": "float",
        });
        let mut request = self.http.post(&self.url).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        crate::fault::point("embedding request");
        let response = request.send().map_err(|error| Failure::Server(describe(&error)))?;
        crate::fault::point("embedding answered");
        let status = response.status();
        let text = read(response).map_err(|error| Failure::Server(error.to_string()))?;
        if !status.is_success() {
            return Err(classify(status, &text));
        }
        let answer = parse(&text)
            .map_err(|error| Failure::Server(format!("its answer cannot be read: {error}")))?;
        Ok(in_order(answer, texts.len()))
    }
}

fn endpoint(url: &str) -> Result<reqwest::Url> {
    let trimmed = url.trim_end_matches('/');
    let whole = if trimmed.ends_with("/embeddings") {
        trimmed.to_string()
    } else if trimmed.ends_with("/v1") {
        format!("{trimmed}/embeddings")
    } else {
        format!("{trimmed}/v1/embeddings")
    };
    let wrong = |problem: &dyn std::fmt::Display| {
        Error::config(format!("embed.url: `{url}`: {problem}"))
            .hint("write it like http://127.0.0.1:8080")
    };
    let parsed = reqwest::Url::parse(&whole).map_err(|error| wrong(&error))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(wrong(&format!("{scheme} is not spoken"))),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn key(settings: &EmbedSettings) -> Result<Option<String>> {
    let name = &settings.url_key_env;
    if name.is_empty() {
        return Ok(None);
    }
    let key = std::env::var(name).ok().filter(|key| !key.is_empty());
    key.map(Some).ok_or_else(|| {
        Error::config(format!("embed.url_key_env: the variable {name} is not set"))
            .hint("set it where the tick runs, or empty the setting")
    })
}

fn read(response: Response) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    response.take(LONGEST_ANSWER).read_to_string(&mut text)?;
    Ok(text)
}

fn describe(error: &reqwest::Error) -> String {
    let kind = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "nothing listens there"
    } else {
        "the connection failed"
    };
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("{kind} ({cause})")
}

/// 400, 413 and 422 speak of the content; every other status of the server or of the settings.
fn classify(status: StatusCode, body: &str) -> Failure {
    let start: String = body.chars().take(200).collect();
    let problem = format!("{status}: {}", start.trim());
    match status.as_u16() {
        400 | 413 | 422 => Failure::Refused(problem),
        _ => Failure::Server(problem),
    }
}

/// The vectors in the body of an answer to `count` texts; `None` where it cannot be read.
pub fn read_answer(text: &str, count: usize) -> Option<Vec<Vec<f32>>> {
    parse(text).ok().map(|answer| in_order(answer, count))
}

/// Some servers write `NaN`, which is no JSON: such numbers become nulls, so that one text's bad
/// vector does not spoil the answer for its neighbours.
fn parse(text: &str) -> serde_json::Result<Answer> {
    serde_json::from_str(text).or_else(|error| {
        let mended = without_bare_words(text);
        if mended == text { Err(error) } else { serde_json::from_str(&mended) }
    })
}

fn without_bare_words(text: &str) -> String {
    let mut mended = text.to_string();
    for word in ["-Infinity", "Infinity", "NaN"] {
        for before in ["[", ",", ", ", "[ "] {
            mended = mended.replace(&format!("{before}{word}"), &format!("{before}null"));
        }
    }
    mended
}

fn in_order(answer: Answer, count: usize) -> Vec<Vec<f32>> {
    let mut vectors = vec![Vec::new(); count];
    for (place, item) in answer.data.into_iter().enumerate() {
        if let Some(slot) = vectors.get_mut(item.index.unwrap_or(place)) {
            let numbers = item.embedding.unwrap_or_default();
            *slot = numbers.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect();
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_completed() {
        for url in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/embeddings"] {
            assert_eq!(endpoint(url).expect("valid").as_str(), "http://h:1/v1/embeddings");
        }
        assert!(endpoint("h:1").is_err());
        assert!(endpoint("ftp://h").is_err());
    }

    #[test]
    fn vectors_are_put_in_order_and_nan_is_one_texts_own() {
        let text = r#"{"data":[{"index":1,"embedding":[NaN, 1]},{"index":0,"embedding":[1,2]}]}"#;
        let vectors = in_order(parse(text).expect("mended"), 3);
        assert_eq!(vectors[0], [1.0, 2.0]);
        assert!(vectors[1][0].is_nan());
        assert!(vectors[2].is_empty());
    }
}
