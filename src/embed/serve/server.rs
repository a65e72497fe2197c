//! The server: two routes over a queue.

use super::guard::Guard;
use super::worker::{Done, Queue};
use super::{Health, MOST_TEXTS, PROTOCOL, Request, lock, proof};
use crate::embed::{Embedder, Embedding, Role};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Bytes of a request that are read at most.
const LARGEST_REQUEST: usize = 16 << 20;

/// How to serve.
pub struct Serving {
    /// Address to listen on, already checked.
    pub address: SocketAddr,
    /// Secret that each request must carry.
    pub token: Option<String>,
    /// Stop after so long without a request; zero: never.
    pub idle: Duration,
}

#[derive(Clone)]
struct Shared {
    queue: Queue,
    guard: Guard,
    proof_key: [u8; 32],
    descriptor: String,
    name: String,
    dimensions: usize,
    last_request: Arc<Mutex<Instant>>,
}

/// Serves until idle or until the process is told to end. `ready` gets the address once requests
/// are taken.
pub fn serve(
    embedder: Arc<dyn Embedder>,
    paths: &Paths,
    serving: &Serving,
    ready: impl FnOnce(SocketAddr),
) -> Result<()> {
    let proof_key = lock::token(paths)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Error::new(ExitCode::Failure, format!("serve: {error}")))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(serving.address).await.map_err(|error| {
            Error::new(ExitCode::Busy, format!("{}: {error}", serving.address))
                .hint("another program has that port; set embed.serve_address to a free one")
        })?;
        let address = listener.local_addr().unwrap_or(serving.address);
        let shared = shared(embedder, serving, address, proof_key);
        let idle = stop(serving.idle, Arc::clone(&shared.last_request));
        ready(address);
        axum::serve(listener, router(shared))
            .with_graceful_shutdown(idle)
            .await
            .map_err(|error| Error::new(ExitCode::Failure, format!("serve: {error}")))
    })
}

fn shared(
    embedder: Arc<dyn Embedder>,
    serving: &Serving,
    address: SocketAddr,
    proof_key: [u8; 32],
) -> Shared {
    Shared {
        guard: Guard { address, token: serving.token.clone() },
        proof_key,
        descriptor: embedder.descriptor().id(),
        name: embedder.descriptor().name.clone(),
        dimensions: embedder.descriptor().dimensions,
        last_request: Arc::new(Mutex::new(Instant::now())),
        queue: Queue::start(embedder),
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/v1/embeddings", post(embeddings))
        .layer(DefaultBodyLimit::max(LARGEST_REQUEST))
        .with_state(shared)
}

/// Ends when nothing was asked for `idle`, or on Ctrl-C.
async fn stop(idle: Duration, last_request: Arc<Mutex<Instant>>) {
    let asleep = async {
        loop {
            let since = last_request.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            match idle.checked_sub(since) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    };
    tokio::select! {
        () = asleep, if !idle.is_zero() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

impl Shared {
    fn touch(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

async fn health(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    if let Err(refusal) = shared.guard.check(&headers) {
        return refused(refusal);
    }
    let nonce = query.get("nonce").map_or("", String::as_str);
    Json(Health {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        descriptor: shared.descriptor.clone(),
        dimensions: shared.dimensions,
        pid: std::process::id(),
        proof: proof(&shared.proof_key, nonce),
    })
    .into_response()
}

async fn embeddings(
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Result<Json<Request>, axum::extract::rejection::JsonRejection>,
) -> Response {
    if let Err(refusal) = shared.guard.check(&headers) {
        return refused(refusal);
    }
    let request = match body {
        Ok(Json(request)) => request,
        Err(rejection) => return refused((rejection.status(), rejection.body_text())),
    };
    if !request.model.is_empty() && ![&shared.name, &shared.descriptor].contains(&&request.model) {
        let problem = format!("the model here is {}, not {}", shared.name, request.model);
        return refused((StatusCode::NOT_FOUND, problem));
    }
    shared.touch();
    let answer = answer(&shared, request).await;
    shared.touch();
    answer
}

async fn answer(shared: &Shared, request: Request) -> Response {
    let role = if request.input_type == "query" { Role::Query } else { Role::Document };
    let in_base64 = request.encoding_format == "base64";
    let partial = request.partial;
    let texts = request.input.into_texts();
    if texts.len() > MOST_TEXTS {
        let problem = format!("{} texts, the most is {MOST_TEXTS}", texts.len());
        return refused((StatusCode::BAD_REQUEST, problem));
    }
    // Our own client asks for partial answers and has no use for counts.
    let Some(Done { results, tokens }) = shared.queue.embed(texts, role, !partial).await else {
        return refused((StatusCode::SERVICE_UNAVAILABLE, "the worker ended".into()));
    };
    if let Some((status, problem)) = failure(&results, partial) {
        return refused((status, problem));
    }
    let data: Vec<Value> =
        results.iter().enumerate().map(|(at, result)| item(at, result, in_base64)).collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    Json(json!({"object": "list", "data": data, "model": shared.name, "usage": usage}))
        .into_response()
}

/// A failure of the whole request: of the model at any rate, of a text unless `partial`.
fn failure(results: &[Embedding], partial: bool) -> Option<(StatusCode, String)> {
    let errors =
        results.iter().enumerate().filter_map(|(at, result)| Some((at, result.as_ref().err()?)));
    for (at, error) in errors {
        if error.is_transient() {
            return Some((StatusCode::SERVICE_UNAVAILABLE, error.to_string()));
        }
        if !partial {
            return Some((StatusCode::BAD_REQUEST, format!("input {at}: {error}")));
        }
    }
    None
}

fn item(index: usize, result: &Embedding, in_base64: bool) -> Value {
    let embedding = match result {
        Ok(vector) if in_base64 => json!(STANDARD.encode(bytes(vector))),
        Ok(vector) => json!(vector),
        Err(error) => {
            return json!({"object": "embedding", "index": index, "error": error.to_string()});
        }
    };
    json!({"object": "embedding", "index": index, "embedding": embedding})
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn refused((status, message): (StatusCode, String)) -> Response {
    (status, Json(json!({"error": {"message": message, "type": "invalid_request_error"}})))
        .into_response()
}
