//! The lines between an assistant and the server, over standard input and output.
//!
//! What the protocol library leaves open is settled here: a line that is no JSON, or no message, is
//! answered as JSON-RPC wants it, with the id where one can be read; and when the assistant closes
//! its end, what it had asked is still answered before the server ends.

use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    DuplexStream, duplex,
};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// The longest line that is read (bytes).
const LONGEST: u64 = 16 << 20;
/// How long answers are waited for once the assistant has closed its end.
const PATIENCE: Duration = Duration::from_secs(120);

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Requests without an answer yet.
#[derive(Default)]
struct Open {
    ids: Mutex<BTreeSet<String>>,
    changed: Notify,
}

impl Open {
    fn ids<T>(&self, work: impl FnOnce(&mut BTreeSet<String>) -> T) -> T {
        let done = work(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        done
    }

    /// Waits until nothing is open.
    async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// The server's ends, and what goes on until everything is written.
pub struct Relay {
    /// What the server reads.
    pub input: DuplexStream,
    /// Where the server writes.
    pub output: DuplexStream,
    /// Ends once the server has closed its output and everything of it is written.
    pub written: JoinHandle<()>,
}

/// Begins to pass lines on, from `input` and to `output`.
pub fn start(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Relay {
    let (to_server, server_input) = duplex(1 << 16);
    let (server_output, from_server) = duplex(1 << 16);
    let open = Arc::new(Open::default());
    let (answers, own) = mpsc::channel(16);
    tokio::spawn(inward(BufReader::new(input), to_server, Arc::clone(&open), answers));
    let written = tokio::spawn(outward(BufReader::new(from_server), output, open, own));
    Relay { input: server_input, output: server_output, written }
}

async fn inward(
    mut input: impl AsyncBufRead + Unpin,
    mut server: DuplexStream,
    open: Arc<Open>,
    answers: mpsc::Sender<Value>,
) {
    let mut line = Vec::new();
    while let Ok(read) = next(&mut input, &mut line).await {
        let verdict = match read {
            Read::End => break,
            Read::TooLong => {
                let text = format!("a line is longer than {LONGEST} bytes");
                Verdict::Answer(failure(Value::Null, INVALID_REQUEST, &text))
            }
            Read::Line => judge(&line),
        };
        match verdict {
            Verdict::Nothing => {}
            Verdict::Answer(answer) => drop(answers.send(answer).await),
            Verdict::Pass(change) => {
                match change {
                    Change::Asks(id) => _ = open.ids(|ids| ids.insert(id)),
                    Change::Cancels(id) => _ = open.ids(|ids| ids.remove(&id)),
                    Change::None => {}
                }
                line.push(b'\n');
                if server.write_all(&line).await.is_err() {
                    return;
                }
            }
        }
    }
    // Whoever closes its end may still be reading: what it asked is answered.
    let _ = tokio::time::timeout(PATIENCE, open.settled()).await;
}

enum Read {
    Line,
    TooLong,
    End,
}

/// Reads the next line, its end left out; of one that is too long only the end is looked for.
async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<Read> {
    line.clear();
    let mut is_long = false;
    loop {
        let read = (&mut *input).take(LONGEST).read_until(b'\n', line).await?;
        let is_whole = line.last() == Some(&b'\n');
        if read == 0 && line.is_empty() && !is_long {
            return Ok(Read::End);
        }
        if is_whole || read == 0 || (read as u64) < LONGEST {
            while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                line.pop();
            }
            return Ok(if is_long { Read::TooLong } else { Read::Line });
        }
        is_long = true;
        line.clear();
    }
}

/// What a message changes in what is open.
enum Change {
    Asks(String),
    Cancels(String),
    None,
}

enum Verdict {
    /// There is nothing in the line.
    Nothing,
    /// The line goes to the server.
    Pass(Change),
    /// It is answered here.
    Answer(Value),
}

fn judge(line: &[u8]) -> Verdict {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Verdict::Nothing;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            return Verdict::Answer(failure(
                Value::Null,
                PARSE_ERROR,
                &format!("no JSON: {error}"),
            ));
        }
    };
    let id = message["id"].clone();
    let has = |key: &str| message.get(key).is_some();
    let is_shaped = message["method"].is_string() || has("result") || has("error");
    let is_message = is_shaped && serde_json::from_slice::<ClientJsonRpcMessage>(line).is_ok();
    if !is_message && (!message.is_object() || !id.is_null()) {
        return Verdict::Answer(failure(id, INVALID_REQUEST, "no message of the protocol"));
    }
    Verdict::Pass(match message["method"].as_str() {
        Some("notifications/cancelled") => {
            Change::Cancels(message["params"]["requestId"].to_string())
        }
        Some(_) if !id.is_null() => Change::Asks(id.to_string()),
        _ => Change::None,
    })
}

fn failure(id: Value, code: i32, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
}

async fn outward(
    mut server: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    open: Arc<Open>,
    mut own: mpsc::Receiver<Value>,
) {
    let mut line = Vec::new();
    let mut owned = true;
    loop {
        tokio::select! {
            // A read that is broken off keeps what it has in `line`.
            read = server.read_until(b'\n', &mut line) => {
                if !read.is_ok_and(|read| read > 0) || !put(&mut output, &line).await {
                    break;
                }
                let answered: Value = serde_json::from_slice(&line).unwrap_or_default();
                if answered.get("method").is_none() {
                    open.ids(|ids| ids.remove(&answered["id"].to_string()));
                }
                line.clear();
            }
            answer = own.recv(), if owned => match answer {
                Some(answer) => {
                    if !put(&mut output, format!("{answer}\n").as_bytes()).await {
                        break;
                    }
                }
                None => owned = false,
            },
        }
    }
    // What was answered here before the server ended; where nobody reads any more it fails at once.
    own.close();
    while let Some(answer) = own.recv().await {
        if !put(&mut output, format!("{answer}\n").as_bytes()).await {
            break;
        }
    }
    // Nobody reads any more: nothing is waited for.
    open.ids(BTreeSet::clear);
}

async fn put(output: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> bool {
    output.write_all(line).await.is_ok() && output.flush().await.is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(line: &[u8]) -> Option<(Value, i64)> {
        match judge(line) {
            Verdict::Answer(answer) => {
                Some((answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()))
            }
            _ => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_its_id_where_it_has_one() {
        assert_eq!(answer(b"hello"), Some((Value::Null, -32700)));
        assert_eq!(answer(b"{\"id\": 3"), Some((Value::Null, -32700)));
        assert_eq!(answer(b"\xff\xfe"), Some((Value::Null, -32700)));
        assert_eq!(answer(b"[1]"), Some((Value::Null, -32600)));
        assert_eq!(answer(b"{\"id\": 3, \"method\": 7}"), Some((json!(3), -32600)));
        for fine in [
            &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"[..],
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r",
            b"",
        ] {
            assert_eq!(answer(fine), None);
        }
    }

    #[tokio::test]
    async fn lines_are_bounded_and_the_next_one_is_whole() {
        let long = vec![b'x'; usize::try_from(LONGEST).unwrap() * 2 + 5];
        let text = [&long[..], b"\nnext\r\nlast"].concat();
        let (mut input, mut line) = (BufReader::new(&text[..]), Vec::new());
        assert!(matches!(next(&mut input, &mut line).await.unwrap(), Read::TooLong));
        for wanted in [&b"next"[..], b"last"] {
            assert!(matches!(next(&mut input, &mut line).await.unwrap(), Read::Line));
            assert_eq!(line, wanted);
        }
        assert!(matches!(next(&mut input, &mut line).await.unwrap(), Read::End));
    }
}
