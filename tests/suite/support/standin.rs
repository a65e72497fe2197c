//! A stand-in for a model server and an embedding server, in process, on 127.0.0.1 only.
//!
//! *Chat* (`POST /api/chat`, `/api/generate`, `/v1/chat/completions`, `…:generateContent`): the
//! n-th call gets the n-th of [`Standin::replies`], the last one repeats. *Embeddings*
//! (`POST /api/embed`, `/api/embeddings`, `/v1/embeddings`): the first rule whose words occur in
//! the text gives the vector, else the fallback. Any other route answers what
//! [`Standin::route`] says. Every request is kept with its bytes ([`Standin::requests`]).
//!
//! All of it can be changed while the server runs, so a test can break and mend it.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// The body as JSON; `Null` where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Every message text of a chat request, in order, joined with line feeds.
    pub fn prompt(&self) -> String {
        let body = self.json();
        let mut texts = Vec::new();
        for path in ["/systemInstruction/parts/0/text", "/system", "/prompt"] {
            texts.extend(body.pointer(path).and_then(Value::as_str).map(str::to_string));
        }
        for message in body["messages"].as_array().into_iter().flatten() {
            texts.extend(message["content"].as_str().map(str::to_string));
        }
        for content in body["contents"].as_array().into_iter().flatten() {
            texts.extend(
                content.pointer("/parts/0/text").and_then(Value::as_str).map(str::to_string),
            );
        }
        texts.join("\n")
    }

    fn kind(&self) -> Route {
        let path = self.path.split('?').next().unwrap_or("");
        if self.method != "POST" {
            Route::Other
        } else if matches!(path, "/api/embed" | "/api/embeddings" | "/v1/embeddings") {
            Route::Embed
        } else if matches!(path, "/api/chat" | "/api/generate" | "/v1/chat/completions")
            || path.ends_with(":generateContent")
        {
            Route::Chat
        } else {
            Route::Other
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Route {
    Chat,
    Embed,
    Other,
}

/// What a request gets.
#[derive(Clone)]
pub enum Reply {
    /// Message text, wrapped as the route asked for wraps it.
    Text(String),
    /// The whole HTTP body with a status.
    Raw(u16, Vec<u8>),
    /// Status, extra headers, body.
    Full(u16, Vec<(String, String)>, Vec<u8>),
    /// Answered after this time, or at once when the client has gone.
    After(Duration, Box<Reply>),
    /// The connection is closed without a byte.
    Close,
    /// No answer until the client closes the connection.
    Hang,
    /// Head, then one byte each time this has passed, without an end.
    Drip(Duration),
    /// Head and a part of the body, then closed.
    Cut(Vec<u8>),
    /// Made from the request (its ids, its length).
    With(Arc<dyn Fn(&Request) -> Reply + Send + Sync>),
}

impl Reply {
    /// Message text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A JSON body with a status.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::Raw(status, body.to_string().into_bytes())
    }

    /// Made from the request.
    pub fn with(make: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::With(Arc::new(make))
    }

    /// The same, late.
    pub fn after(self, delay: Duration) -> Self {
        Self::After(delay, Box::new(self))
    }
}

/// Vectors by words, as `vectors.json` of a case states them.
#[derive(Clone, Debug)]
pub struct Vectors {
    pub dims: usize,
    pub rules: Vec<(String, Vec<f64>)>,
    /// `hash` | `zero` | `nan` | `empty`
    pub fallback: String,
}

impl Default for Vectors {
    fn default() -> Self {
        Self { dims: 64, rules: Vec::new(), fallback: "hash".into() }
    }
}

impl Vectors {
    /// Reads `{"dims":64,"rules":[{"contains":"words","vec":[…]}],"fallback":"hash"}`.
    pub fn parse(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).expect("vectors are JSON");
        let numbers = |value: &Value| -> Vec<f64> {
            value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
        };
        Self {
            dims: value["dims"].as_u64().map_or(64, |dims| dims as usize),
            rules: value["rules"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|rule| {
                    (rule["contains"].as_str().unwrap_or("").to_string(), numbers(&rule["vec"]))
                })
                .collect(),
            fallback: value["fallback"].as_str().unwrap_or("hash").to_string(),
        }
    }

    /// The same with one more rule at the end: `axis` of 1 with a small second part, so that
    /// texts of one axis are close and those of two are at a right angle.
    pub fn rule(mut self, contains: &str, axis: usize, lean: f64) -> Self {
        let mut vector = vec![0.0; self.dims];
        vector[axis] = 1.0;
        vector[self.dims - 1] = lean;
        self.rules.push((contains.to_string(), vector));
        self
    }

    /// The vector of `text`, of unit length where it has one; empty with the fallback `empty`.
    pub fn of(&self, text: &str) -> Vec<f64> {
        let mut vector = match self.rules.iter().find(|(words, _)| text.contains(words.as_str())) {
            Some((_, vector)) => vector.clone(),
            None => match self.fallback.as_str() {
                "zero" => Vec::new(),
                "nan" => vec![f64::NAN; self.dims],
                "empty" => return Vec::new(),
                _ => gaussian(text, self.dims),
            },
        };
        vector.resize(self.dims, 0.0);
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 { vector.iter().map(|x| x / norm).collect() } else { vector }
    }
}

/// Normal numbers from a hash of the text (Box and Muller), far from those of any other text.
fn gaussian(text: &str, dims: usize) -> Vec<f64> {
    let mut bytes = vec![0u8; dims * 16];
    blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
    let unit = |bytes: &[u8]| {
        let number = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        ((number >> 11) as f64 + 1.0) / ((1u64 << 53) as f64 + 1.0)
    };
    bytes
        .chunks(16)
        .map(|pair| {
            (-2.0 * unit(&pair[..8]).ln()).sqrt() * (std::f64::consts::TAU * unit(&pair[8..])).cos()
        })
        .collect()
}

#[derive(Default)]
struct Script {
    replies: Vec<Reply>,
    chats: usize,
    embeds: Vec<Reply>,
    embed_calls: usize,
    vectors: Vectors,
    chat_status: u16,
    embed_status: u16,
    max_embed_chars: usize,
    routes: BTreeMap<String, Reply>,
    requests: Vec<Request>,
}

struct Shared {
    script: Mutex<Script>,
    open: AtomicUsize,
    peak: AtomicUsize,
    gone: AtomicUsize,
    stop: AtomicBool,
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The running server; it ends when this is dropped.
pub struct Standin {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Standin {
    /// Starts on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            script: Mutex::new(Script { chat_status: 200, embed_status: 200, ..Script::default() }),
            open: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if server.stop.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&server);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { address, shared }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Scripts the chat replies and starts counting anew; the last one repeats.
    pub fn replies(&self, replies: impl IntoIterator<Item = Reply>) -> &Self {
        let mut script = self.shared.script();
        script.replies = replies.into_iter().collect();
        script.chats = 0;
        drop(script);
        self
    }

    /// Scripts replies of the embedding routes instead of the vectors; none: the vectors again.
    pub fn embed_replies(&self, replies: impl IntoIterator<Item = Reply>) -> &Self {
        let mut script = self.shared.script();
        script.embeds = replies.into_iter().collect();
        script.embed_calls = 0;
        drop(script);
        self
    }

    /// The vectors by words.
    pub fn vectors(&self, vectors: Vectors) -> &Self {
        self.shared.script().vectors = vectors;
        self
    }

    /// Status of every chat call; other than 200 it answers with an error.
    pub fn chat_status(&self, status: u16) -> &Self {
        self.shared.script().chat_status = status;
        self
    }

    /// Status of every embedding call; other than 200 it answers with an error.
    pub fn embed_status(&self, status: u16) -> &Self {
        self.shared.script().embed_status = status;
        self
    }

    /// Longer texts are refused by the embedding routes with 400; 0: no limit.
    pub fn max_embed_chars(&self, chars: usize) -> &Self {
        self.shared.script().max_embed_chars = chars;
        self
    }

    /// What `method path` (without query) answers: `route("GET /props", …)`.
    pub fn route(&self, route: &str, reply: Reply) -> &Self {
        self.shared.script().routes.insert(route.to_string(), reply);
        self
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.script().requests.clone()
    }

    /// The chat requests so far.
    pub fn chats(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.kind() == Route::Chat).collect()
    }

    /// The embedding requests so far.
    pub fn embeds(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.kind() == Route::Embed).collect()
    }

    /// The most chat requests that were open at once.
    pub fn peak(&self) -> usize {
        self.shared.peak.load(Ordering::SeqCst)
    }

    /// Clients that closed the connection before they had their answer.
    pub fn gone(&self) -> usize {
        self.shared.gone.load(Ordering::SeqCst)
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _wake = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, shared: &Shared) {
    let Some(request) = read_request(stream) else { return };
    let (route, reply) = plan(&request, shared);
    if route == Route::Chat {
        let open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
        shared.peak.fetch_max(open, Ordering::SeqCst);
    }
    answer(stream, &request, reply, shared);
    if route == Route::Chat {
        shared.open.fetch_sub(1, Ordering::SeqCst);
    }
    let _closed = stream.shutdown(Shutdown::Both);
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.trim().to_lowercase(), value.trim().to_string());
        }
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}

/// Records the request and picks its reply under one lock.
fn plan(request: &Request, shared: &Shared) -> (Route, Reply) {
    let mut script = shared.script();
    script.requests.push(request.clone());
    let key = format!("{} {}", request.method, request.path.split('?').next().unwrap_or(""));
    let route = request.kind();
    let reply = match script.routes.get(&key) {
        Some(reply) => reply.clone(),
        None => match route {
            Route::Chat => next_chat(&mut script),
            Route::Embed => next_embed(&mut script, request),
            Route::Other if request.method == "GET" => Reply::json(
                200,
                &json!({"models": [{"name": "standin"}], "data": [{"id": "standin"}], "version": "0"}),
            ),
            Route::Other => Reply::json(
                404,
                &json!({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
            ),
        },
    };
    (route, reply)
}

fn next_chat(script: &mut Script) -> Reply {
    let n = script.chats;
    script.chats += 1;
    if script.chat_status != 200 {
        return Reply::json(script.chat_status, &json!({"error": "stand-in chat failure"}));
    }
    let last = script.replies.len().saturating_sub(1);
    script.replies.get(n.min(last)).cloned().unwrap_or_else(|| Reply::text("{}"))
}

fn next_embed(script: &mut Script, request: &Request) -> Reply {
    let n = script.embed_calls;
    script.embed_calls += 1;
    if script.embed_status != 200 {
        return Reply::json(script.embed_status, &json!({"error": "stand-in embedding failure"}));
    }
    if let Some(reply) = script.embeds.get(n.min(script.embeds.len().saturating_sub(1))) {
        return reply.clone();
    }
    let body = request.json();
    let input = body.get("input").or_else(|| body.get("prompt")).cloned().unwrap_or(json!(""));
    let texts: Vec<String> = match &input {
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap_or("").to_string()).collect()
        }
        other => vec![other.as_str().unwrap_or("").to_string()],
    };
    let limit = script.max_embed_chars;
    if limit > 0 && texts.iter().any(|text| text.chars().count() > limit) {
        return Reply::json(400, &json!({"error": "the input length exceeds the context length"}));
    }
    Reply::Raw(200, embed_body(&request.path, &texts, &script.vectors).into_bytes())
}

fn embed_body(path: &str, texts: &[String], vectors: &Vectors) -> String {
    let lists: Vec<String> = texts.iter().map(|text| number_list(&vectors.of(text))).collect();
    if path.starts_with("/api/embeddings") {
        return format!("{{\"embedding\":{}}}", lists.first().map_or("[]", String::as_str));
    }
    if path.starts_with("/v1") {
        let items: Vec<String> = lists
            .iter()
            .enumerate()
            .map(|(i, list)| {
                format!("{{\"object\":\"embedding\",\"index\":{i},\"embedding\":{list}}}")
            })
            .collect();
        return format!(
            "{{\"object\":\"list\",\"model\":\"standin\",\"data\":[{}],\"usage\":{{\"prompt_tokens\":1,\"total_tokens\":1}}}}",
            items.join(",")
        );
    }
    format!("{{\"model\":\"standin\",\"embeddings\":[{}]}}", lists.join(","))
}

/// JSON of the numbers, with the bare word `NaN` that some servers write.
fn number_list(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers
        .iter()
        .map(|x| if x.is_nan() { "NaN".to_string() } else { format!("{x}") })
        .collect();
    format!("[{}]", texts.join(","))
}

fn answer(mut stream: &TcpStream, request: &Request, reply: Reply, shared: &Shared) {
    match reply {
        Reply::Text(text) => {
            write_response(stream, 200, &[], wrap(&request.path, &text).as_bytes(), shared);
        }
        Reply::Raw(status, body) => write_response(stream, status, &[], &body, shared),
        Reply::Full(status, headers, body) => {
            write_response(stream, status, &headers, &body, shared);
        }
        Reply::After(delay, then) => {
            if client_left(stream, Some(delay)) {
                shared.gone.fetch_add(1, Ordering::SeqCst);
            } else {
                answer(stream, request, *then, shared);
            }
        }
        Reply::Close => {}
        Reply::Hang => {
            if client_left(stream, None) {
                shared.gone.fetch_add(1, Ordering::SeqCst);
            }
        }
        Reply::Drip(pause) => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{";
            let mut open = stream.write_all(head).is_ok();
            while open {
                std::thread::sleep(pause);
                open = stream.write_all(b" ").and_then(|()| stream.flush()).is_ok();
            }
            shared.gone.fetch_add(1, Ordering::SeqCst);
        }
        Reply::Cut(body) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len() + 100);
            let _sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
        Reply::With(make) => answer(stream, request, make(request), shared),
    }
}

/// Waits for the client to close, at most `limit`.
fn client_left(mut stream: &TcpStream, limit: Option<Duration>) -> bool {
    if stream.set_read_timeout(limit).is_err() {
        return false;
    }
    let mut byte = [0u8; 1];
    match stream.read(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => {
            !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
        }
    }
}

fn write_response(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    shared: &Shared,
) {
    let mut head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    if sent.is_err() {
        shared.gone.fetch_add(1, Ordering::SeqCst);
    }
}

/// The reply body of the route asked for, with `text` as the message.
pub fn wrap(path: &str, text: &str) -> String {
    let value = if path.contains(":generateContent") {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}],
            "modelVersion": "standin"})
    } else if path.starts_with("/v1") {
        json!({"id": "x", "object": "chat.completion", "model": "standin", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]})
    } else if path.starts_with("/api/generate") {
        json!({"model": "standin", "response": text, "done": true, "done_reason": "stop"})
    } else {
        json!({"model": "standin", "message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"})
    };
    value.to_string()
}
