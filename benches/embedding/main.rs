//! One measurement of embedding in a fresh process, printed as one JSON line.
//!
//!     cargo bench --bench embedding -- MODE [--model NAME] [--threads N] [--repeats N] [--out FILE]
//!
//! Modes: `first` (start to first vector), `one` (one text of about 60 tokens, warm), `batch` (20
//! such texts), `each` (20 such texts one after the other, as they come from a person), `served` (one
//! text through the server, on the loopback), `mixed` (2,000 texts of 6 to 257 tokens), `vectors` (500
//! vectors into --out).
//! `run.py` runs these and the same modes of `reference.py` in turn and keeps the raw lines.

#![allow(clippy::unwrap_used, missing_docs, reason = "a measurement that fails has failed")]

use lifecycle::config::Layers;
use lifecycle::embed::onnx::OnnxEmbedder;
use lifecycle::embed::serve::{ServedEmbedder, Serving, serve};
use lifecycle::embed::{CHUNK, Catalog, Embedder, Role};
use lifecycle::paths::Paths;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Arguments {
    mode: String,
    model: String,
    threads: usize,
    repeats: usize,
    out: Option<PathBuf>,
    texts: Option<PathBuf>,
    limit: usize,
}

fn main() {
    lifecycle::quiet::silence_runtime();
    lifecycle::quiet::settle_memory();
    let start = Instant::now();
    let arguments = arguments();
    let embedder = embedder(&arguments);
    let mut row = match arguments.mode.as_str() {
        "first" => first(&embedder, &arguments),
        "one" => warm(&embedder, &texts(&arguments, "batch")[..1], &arguments),
        "batch" => warm(&embedder, &texts(&arguments, "batch"), &arguments),
        "each" => each(&embedder, &arguments),
        "served" => served(embedder, &arguments),
        "mixed" => mixed(&embedder, &arguments),
        "vectors" => vectors(&embedder, &arguments),
        other => panic!("no mode `{other}`"),
    };
    row["mode"] = json!(arguments.mode);
    row["model"] = json!(arguments.model);
    row["threads"] = json!(arguments.threads);
    row["program"] = json!("lifecycle");
    row["process_s"] = json!(start.elapsed().as_secs_f64());
    row["cpu_s"] = json!(cpu_seconds());
    row["peak_mb"] = json!(peak_mb());
    println!("{row}");
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        mode: "batch".into(),
        model: "all-minilm-l6-v2".into(),
        threads: 2,
        repeats: 15,
        out: None,
        texts: None,
        limit: 2000,
    };
    let mut rest = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().unwrap();
        match argument.as_str() {
            "--model" => found.model = value(),
            "--threads" => found.threads = value().parse().unwrap(),
            "--repeats" => found.repeats = value().parse().unwrap(),
            "--out" => found.out = Some(value().into()),
            "--limit" => found.limit = value().parse().unwrap(),
            "--texts" => found.texts = Some(value().into()),
            mode => found.mode = mode.into(),
        }
    }
    found
}

fn embedder(arguments: &Arguments) -> OnnxEmbedder {
    let paths = Paths::from_env().unwrap();
    let mut settings = Layers::load(&paths, &[]).unwrap().settings().unwrap().embed;
    settings.threads = arguments.threads;
    let descriptor = Catalog::load(&paths).unwrap().get(&arguments.model).unwrap().clone();
    OnnxEmbedder::new(descriptor, &settings, &paths.models())
}

fn texts(arguments: &Arguments, group: &str) -> Vec<String> {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/embedding/texts.jsonl");
    let file = arguments.texts.clone().unwrap_or(shipped);
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["group"] == group)
        .map(|row| row["text"].as_str().unwrap().to_string())
        .collect()
}

fn embed(embedder: &dyn Embedder, texts: &[String]) -> Vec<Vec<f32>> {
    texts
        .chunks(CHUNK)
        .flat_map(|chunk| embedder.embed(chunk, Role::Document))
        .map(Result::unwrap)
        .collect()
}

fn first(embedder: &OnnxEmbedder, arguments: &Arguments) -> Value {
    let texts = texts(arguments, "batch");
    let start = Instant::now();
    embed(embedder, &texts[..1]);
    json!({"first_s": start.elapsed().as_secs_f64()})
}

fn warm(embedder: &dyn Embedder, texts: &[String], arguments: &Arguments) -> Value {
    embed(embedder, texts);
    let times: Vec<f64> = (0..arguments.repeats)
        .map(|_| {
            let start = Instant::now();
            embed(embedder, texts);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    timed(texts.len(), times)
}

fn timed(texts: usize, times: Vec<f64>) -> Value {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    json!({"texts": texts, "least_ms": least, "all_ms": times})
}

fn each(embedder: &OnnxEmbedder, arguments: &Arguments) -> Value {
    let texts = texts(arguments, "batch");
    embed(embedder, &texts[..1]);
    let mut times = Vec::new();
    for _ in 0..arguments.repeats.div_ceil(texts.len()) {
        for text in texts.chunks(1) {
            let start = Instant::now();
            embed(embedder, text);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    timed(1, times)
}

/// A server in this process and a client that speaks to it over the loopback.
fn served(embedder: OnnxEmbedder, arguments: &Arguments) -> Value {
    let text = &texts(arguments, "batch")[..1];
    embed(&embedder, text);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_path_buf();
    let paths = Paths { config_file: data.join("config.toml"), home: data.clone(), data };
    let descriptor = embedder.descriptor().clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let server_paths = paths.clone();
    std::thread::spawn(move || {
        let address = "127.0.0.1:0".parse().unwrap();
        let serving = Serving { address, token: None, idle: Duration::ZERO };
        serve(Arc::new(embedder), &server_paths, &serving, |at| sender.send(at).unwrap()).unwrap();
    });
    let address = receiver.recv().unwrap().to_string();
    // Without files of its own: what is not answered by the server fails.
    let settings = Layers::defaults().settings().unwrap().embed;
    let local = OnnxEmbedder::new(descriptor, &settings, folder.path());
    let timeout = Duration::from_secs(60);
    let client = ServedEmbedder::new(local, &paths, &address, timeout, false);
    warm(&client, text, arguments)
}

fn mixed(embedder: &OnnxEmbedder, arguments: &Arguments) -> Value {
    let mut texts = texts(arguments, "mixed");
    texts.truncate(arguments.limit);
    embed(embedder, &texts[..1]);
    let start = Instant::now();
    embed(embedder, &texts);
    let seconds = start.elapsed().as_secs_f64();
    json!({"texts": texts.len(), "seconds": seconds, "a_second": texts.len() as f64 / seconds})
}

fn vectors(embedder: &OnnxEmbedder, arguments: &Arguments) -> Value {
    let texts = texts(arguments, "mixed");
    let mut file = std::fs::File::create(arguments.out.as_ref().unwrap()).unwrap();
    for vector in embed(embedder, &texts[..500]) {
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        file.write_all(&bytes).unwrap();
    }
    json!({"texts": 500})
}

/// Largest resident memory of this process so far, in MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1e3
}

/// Processor time of this process so far, all threads.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks =
        |at| after_name.split_whitespace().nth(at).and_then(|text| text.parse::<f64>().ok());
    // Fields 14 and 15 of proc(5), in hundredths of a second on Linux.
    (ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / 100.0
}
