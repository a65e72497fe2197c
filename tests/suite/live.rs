//! Consolidation against a real llama-server, judged by the facts that a faithful merge keeps.
//!
//! `LIFECYCLE_TEST_GGUF` names a model file and `LIFECYCLE_TEST_LLAMA_SERVER` the server program;
//! without them the test says so and ends. It never fails on a model's wording, only on what is
//! guaranteed: nothing accepted is invented or stale, nothing refused is lost, the account balances.

use crate::consolidate::{Bench, entry};
use lifecycle_phases::{Entry, EntryId, State};
use serde_json::Value;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Case {
    id: String,
    notes: Vec<String>,
    must: Vec<regex::Regex>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../fixtures/consolidation/clusters.json");
    let value: Value = serde_json::from_str(text).unwrap();
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_string()).collect()
    };
    let pattern =
        |text: &String| regex::RegexBuilder::new(text).case_insensitive(true).build().unwrap();
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|case| Case {
            id: case["id"].as_str().unwrap().to_string(),
            notes: strings(&case["notes"]),
            must: strings(&case["must"]).iter().map(pattern).collect(),
        })
        .collect()
}

/// A llama-server that ends with the test.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    pub fn start(program: &str, model: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .args(["-m", model, "--host", "127.0.0.1", "--port", &port.to_string(), "-c", "8192"])
            .args(["-np", "1", "-t", "1", "-tb", "1", "--alias", "live", "--offline", "--no-webui"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, port }
    }

    /// CPU seconds used so far, as the kernel counts them.
    pub fn cpu_seconds(&self) -> f64 {
        let mut text = String::new();
        let path = format!("/proc/{}/stat", self.child.id());
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)).unwrap_or(0);
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks =
            |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / 100.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was found of one cluster.
struct Found {
    id: String,
    coverage: Option<f64>,
    note: String,
}

fn measure(bench: &Bench, name: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for case in cases() {
        let day = 86_400_000;
        let start = bench.now - 100 * day;
        let entries: Vec<Entry> = case
            .notes
            .iter()
            .zip(1..)
            .map(|(text, i)| project(entry(text, start + i * day), &case.id))
            .collect();
        let ids = bench.cluster_of(entries);
        bench.run();
        found.push(judge(bench, &case, &ids));
    }
    let accepted: Vec<f64> = found.iter().filter_map(|one| one.coverage).collect();
    #[allow(clippy::cast_precision_loss)]
    let mean = accepted.iter().sum::<f64>() / accepted.len().max(1) as f64;
    println!("{name}: accepted {} of {}, mean coverage {mean:.2}", accepted.len(), found.len());
    for one in &found {
        println!("  {}: {:?} {}", one.id, one.coverage, one.note);
    }
    found
}

fn project(mut entry: Entry, name: &str) -> Entry {
    entry.project = Some(format!("/{name}"));
    entry.id = EntryId::derive(entry.project.as_deref(), &entry.content_hash);
    entry
}

/// Coverage of what was accepted; refused clusters must have kept every source.
fn judge(bench: &Bench, case: &Case, ids: &[EntryId]) -> Found {
    let proven: Vec<Entry> = bench
        .proven()
        .into_iter()
        .filter(|entry| entry.project.as_deref() == Some(&format!("/{}", case.id)))
        .collect();
    if proven.is_empty() {
        assert!(
            ids.iter().all(|id| bench.state(id) == State::Buffered),
            "{}: a source was lost",
            case.id
        );
        let row = bench.clusters().into_iter().find(|row| row.members.contains(ids[0].as_str()));
        return Found {
            id: case.id.clone(),
            coverage: None,
            note: row.map_or(String::new(), |row| row.reason),
        };
    }
    let text: String = proven.iter().map(|entry| format!("{}\n", entry.text)).collect();
    let left: String = ids
        .iter()
        .zip(&case.notes)
        .filter(|(id, _)| bench.state(id) == State::Buffered)
        .map(|(_, note)| format!("{note}\n"))
        .collect();
    let wanted: Vec<_> = case.must.iter().filter(|must| !must.is_match(&left)).collect();
    #[allow(clippy::cast_precision_loss)]
    let coverage = wanted.iter().filter(|must| must.is_match(&text)).count() as f64
        / wanted.len().max(1) as f64;
    let all = case.notes.join("\n");
    let number = regex::Regex::new(r"\d+(?:[.,]\d+)*").unwrap();
    for found in number.find_iter(&text) {
        assert!(
            all.contains(found.as_str()),
            "{}: {} is invented in {text}",
            case.id,
            found.as_str()
        );
    }
    if case.id.starts_with("c09") {
        let stale = regex::Regex::new(r"(?i)\b60 (requests|per)").unwrap();
        let former = regex::Regex::new(r"(?i)former|previous|was|from 60|raised").unwrap();
        assert!(!stale.is_match(&text) || former.is_match(&text), "stale: {text}");
        assert!(text.contains("120"), "{text}");
    }
    Found { id: case.id.clone(), coverage: Some(coverage), note: text.trim().to_string() }
}

#[test]
fn extractive_on_the_ten_clusters() {
    let bench = Bench::with("[consolidate]\nmodel = \"extractive\"\n");
    let started = Instant::now();
    let found = measure(&bench, "extractive");
    println!("  {:.2} s wall", started.elapsed().as_secs_f64());
    let accepted: Vec<f64> = found.iter().filter_map(|one| one.coverage).collect();
    assert_eq!(accepted.len(), 10);
    assert!(accepted.iter().all(|coverage| *coverage >= 0.9), "{accepted:?}");
}

#[test]
fn h6_a_real_server_from_end_to_end() {
    let (Ok(model), Ok(program)) =
        (std::env::var("LIFECYCLE_TEST_GGUF"), std::env::var("LIFECYCLE_TEST_LLAMA_SERVER"))
    else {
        println!(
            "skipped: LIFECYCLE_TEST_GGUF and LIFECYCLE_TEST_LLAMA_SERVER name no model and server"
        );
        return;
    };
    let server = Server::start(&program, &model);
    let kind = std::env::var("LIFECYCLE_TEST_KIND").unwrap_or_else(|_| "llama-server".into());
    let bench = Bench::with(&format!(
        "[consolidate.call]\ntimeout_seconds = 600.0\nload_seconds = 120.0\nmax_tokens = 512\nmax_tokens_limit = 512\nretries = 0\n[consolidate.providers.m]\nkind = \"{kind}\"\nurl = \"http://127.0.0.1:{}\"\nmodel = \"live\"\n",
        server.port
    ));
    while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let started = Instant::now();
    let found = measure(&bench, &model);
    let calls: i64 = bench.value("SELECT count(*) FROM call");
    let tokens: i64 =
        bench.value("SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM call");
    println!(
        "  {calls} calls, {tokens} tokens, {:.1} s wall, {:.1} s CPU of the server",
        started.elapsed().as_secs_f64(),
        server.cpu_seconds()
    );
    let balance = bench.balance();
    assert!(balance.is_settled(), "{balance:?}");
    for accepted in found.iter().filter_map(|one| one.coverage) {
        assert!(accepted >= 0.9, "an accepted merge lost facts: {accepted}");
    }
    let exact: i64 = bench.value(
        "SELECT count(*) FROM call WHERE prompt_tokens IS NOT NULL AND abs(prompt_tokens - counted_tokens) > 16",
    );
    assert_eq!(exact, 0, "our count of the prompt is the server's");
    let cached: i64 = bench.value("SELECT count(*) FROM call WHERE cached_tokens > 100");
    assert!(cached > 0, "a16: the rules are served from the prefix cache");
}
