//! The server on loopback that stands for the embedding model and for a perfect judge.

use super::standin::{Reply, Request, Standin};
use super::{Gold, Note, Result};
use lifecycle_phases::text::normalise;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Starts it.
pub fn start(folder: &Path, vectors: bool, notes: &[Note], gold: &[Gold]) -> Result<Standin> {
    let server = Standin::start();
    let substance: HashMap<String, bool> =
        notes.iter().zip(gold).map(|(note, gold)| (key(&note.text), gold.substance)).collect();
    server.route(
        "POST /v1/chat/completions",
        Reply::with(move |request| {
            let knowledge = substance.get(&asked(&request.prompt())).copied().unwrap_or(true);
            Reply::json(200, &chat(&json!({"knowledge": knowledge}).to_string()))
        }),
    );
    if vectors {
        let vectors = Vectors::open(folder, notes)?;
        let reply = Reply::with(move |request| Reply::json(200, &vectors.answer(request)));
        server.route("POST /v1/embeddings", reply);
    }
    Ok(server)
}

fn key(text: &str) -> String {
    normalise(text).chars().filter(|ch| ch.is_alphanumeric()).collect()
}

/// The note between the lines that frame it.
fn asked(prompt: &str) -> String {
    let after = prompt.rsplit_once("BEGIN NOTE ").map_or("", |(_, after)| after);
    let body = after.split_once('\n').map_or("", |(_, body)| body);
    key(body.rsplit_once("END NOTE").map_or(body, |(body, _)| body))
}

fn chat(text: &str) -> Value {
    json!({
        "id": "gold", "object": "chat.completion", "model": "gold",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    })
}

/// The vectors of the stream by text. A text that is no note (a merge, a sentence of one) has the
/// mean of the notes that it quotes.
struct Vectors {
    file: std::fs::File,
    dimensions: usize,
    notes: HashMap<String, usize>,
    pieces: HashMap<String, Vec<usize>>,
}

impl Vectors {
    fn open(folder: &Path, notes: &[Note]) -> Result<Self> {
        let meta: Value = serde_json::from_reader(std::fs::File::open(folder.join("meta.json"))?)?;
        let dimensions = usize::try_from(meta["dim"].as_u64().ok_or("no vectors")?)?;
        if meta["vectors"] != "f32" {
            return Err("vectors of 32-bit floats are needed".into());
        }
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for note in notes {
            known.entry(key(&note.text)).or_insert(note.id);
            for piece in pieces(&note.text) {
                found.entry(piece).or_default().push(note.id);
            }
        }
        let file = std::fs::File::open(folder.join("vectors.bin"))?;
        Ok(Self { file, dimensions, notes: known, pieces: found })
    }

    fn answer(&self, request: &Request) -> Value {
        let body = request.json();
        let texts = match &body["input"] {
            Value::Array(texts) => texts.clone(),
            one => vec![one.clone()],
        };
        let rows = texts.iter().enumerate().map(|(index, text)| {
            json!({"index": index, "object": "embedding",
                "embedding": self.of(text.as_str().unwrap_or(""))})
        });
        json!({"object": "list", "model": "stream", "data": rows.collect::<Vec<_>>()})
    }

    fn of(&self, text: &str) -> Vec<f32> {
        if let Some(vector) = self.notes.get(&key(text)).and_then(|row| self.row(*row)) {
            return vector;
        }
        let quoted = pieces(text).filter_map(|piece| self.pieces.get(&piece)).flatten();
        let mut sum = vec![0.0f32; self.dimensions];
        for vector in quoted.filter_map(|row| self.row(*row)) {
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        if sum.iter().all(|value| *value == 0.0) {
            let mut bytes = vec![0; self.dimensions];
            blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
            sum = bytes.iter().map(|byte| f32::from(*byte) - 127.5).collect();
        }
        sum
    }

    fn row(&self, row: usize) -> Option<Vec<f32>> {
        let mut bytes = vec![0; self.dimensions * 4];
        let offset = (row * self.dimensions * 4) as u64;
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        Some(bytes.chunks_exact(4).map(number).collect())
    }
}

/// Sentences and parts of them, long enough to be told apart.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split(['.', ';', ':', '\n']).map(key).filter(|piece| piece.chars().count() >= 12)
}
