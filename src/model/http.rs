//! The one door through which requests leave.
//!
//! Redirects are not followed and no proxy is used for a loopback address, so text meant for this
//! machine cannot leave it.

use super::failure::Failure;
use super::provider::Provider;
use super::wire::{HttpReply, key_header};
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};

/// Longest body that is read (bytes).
const MAX_BODY: u64 = 8 << 20;
/// Limit of the small requests that ask about a server.
const ASK_LIMIT: Duration = Duration::from_secs(10);

/// Clients for local and for hosted addresses.
#[derive(Clone)]
pub struct Http {
    local: reqwest::blocking::Client,
    hosted: reqwest::blocking::Client,
}

impl Http {
    /// Clients without a default time limit; each request has its own.
    pub fn new() -> Result<Self, Failure> {
        let builder = || {
            reqwest::blocking::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .timeout(None)
                .connect_timeout(ASK_LIMIT)
                .pool_max_idle_per_host(0)
                .user_agent(concat!("lifecycle/", env!("CARGO_PKG_VERSION")))
        };
        let built = |client: reqwest::Result<reqwest::blocking::Client>| {
            client.map_err(|error| Failure::Broken(format!("no HTTP client: {error}")))
        };
        Ok(Self { local: built(builder().no_proxy().build())?, hosted: built(builder().build())? })
    }

    /// Sends a model request and waits for the whole reply, at most `limit`. Replies are never
    /// streamed, so this one limit bounds the whole request.
    pub fn send(
        &self,
        provider: &Provider,
        address: &str,
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<HttpReply, Failure> {
        let request = self
            .client(provider)
            .post(address)
            .header("content-type", "application/json")
            .body(body);
        self.run(provider, request, limit)
    }

    /// A small `POST` that asks about a server.
    pub fn post(
        &self,
        provider: &Provider,
        address: &str,
        body: &Value,
    ) -> Result<HttpReply, Failure> {
        let request = self
            .client(provider)
            .post(address)
            .header("content-type", "application/json")
            .body(body.to_string());
        self.run(provider, request, ASK_LIMIT)
    }

    /// A small `GET` that asks about a server.
    pub fn get(&self, provider: &Provider, address: &str) -> Result<HttpReply, Failure> {
        self.run(provider, self.client(provider).get(address), ASK_LIMIT)
    }

    fn client(&self, provider: &Provider) -> &reqwest::blocking::Client {
        if provider.leaves_machine() { &self.hosted } else { &self.local }
    }

    fn run(
        &self,
        provider: &Provider,
        request: reqwest::blocking::RequestBuilder,
        limit: Duration,
    ) -> Result<HttpReply, Failure> {
        let request = match key_header(provider) {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        let started = Instant::now();
        crate::fault::point("model request");
        let failed = |error: &reqwest::Error| failure(error, provider, started.elapsed());
        let response = request.timeout(limit).send().map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let header = response.headers().get("retry-after");
        let retry_after = header.and_then(|value| value.to_str().ok()).map(str::to_string);
        let body = read_body(response, started, limit)?;
        crate::fault::point("model answered");
        Ok(HttpReply {
            status,
            retry_after,
            body,
            wall_ms: started.elapsed().as_secs_f64() * 1000.0,
        })
    }
}

/// Reads a body to its end. The limit holds for the whole of it: a server that sends a byte now and
/// then gets no more time than one that sends nothing.
fn read_body(
    response: reqwest::blocking::Response,
    started: Instant,
    limit: Duration,
) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut part = [0_u8; 16 * 1024];
    let mut source = response.take(MAX_BODY);
    loop {
        match source.read(&mut part) {
            Ok(0) => return Ok(body),
            Ok(read) => body.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                return Err(Failure::TimedOut(started.elapsed()));
            }
            Err(_) if started.elapsed() >= limit => {
                return Err(Failure::TimedOut(started.elapsed()));
            }
            Err(error) => return Err(Failure::Broken(error.to_string())),
        }
        if started.elapsed() >= limit {
            return Err(Failure::TimedOut(started.elapsed()));
        }
    }
}

/// Sorts a transport error. The address stays out of the message: it may hold a secret.
fn failure(error: &reqwest::Error, provider: &Provider, elapsed: Duration) -> Failure {
    if error.is_connect() {
        return Failure::Unreachable { host: provider.host(), why: innermost(error) };
    }
    if error.is_timeout() {
        return Failure::TimedOut(elapsed);
    }
    Failure::Broken(innermost(error))
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
