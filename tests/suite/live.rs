//! Consolidation against a real llama-server, judged by the facts that a faithful merge keeps.
//!
//! `LIFECYCLE_TEST_GGUF` names a model file and `LIFECYCLE_TEST_LLAMA_SERVER` the server program;
//! without them the test says so and ends. It never fails on a model's wording, only on what is
//! guaranteed: nothing accepted is invented or stale, nothing refused is lost, the account balances.
//! `scripts/test-live` fetches both and runs it.
//!
//! `LIFECYCLE_TEST_CASES` limits the clusters, `LIFECYCLE_TEST_TOKENS` the length of a reply,
//! `LIFECYCLE_TEST_OUT` names a file for the raw results, `LIFECYCLE_TEST_CAPTURE` one for the
//! prompts and replies.

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
    let most = number("LIFECYCLE_TEST_CASES", 1000);
    value
        .as_array()
        .unwrap()
        .iter()
        .take(most)
        .map(|case| Case {
            id: case["id"].as_str().unwrap().to_string(),
            notes: strings(&case["notes"]),
            must: strings(&case["must"]).iter().map(pattern).collect(),
        })
        .collect()
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
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
    entry.id = EntryId::derive(entry.project.as_deref(), &entry.text);
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
    // Names of code and of people: inner capitals, underscores, or a capital inside a sentence.
    let name = regex::Regex::new(r"\b\w*(?:_\w|[a-z][A-Z])\w*|[a-z,] ([A-Z]\w+)").unwrap();
    for found in name.captures_iter(&text) {
        let found = found.get(1).or(found.get(0)).unwrap().as_str();
        let known = all.to_lowercase().contains(&found.to_lowercase());
        assert!(known, "{}: {found} is invented in {text}", case.id);
    }
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

/// Figures of a run, printed and kept.
fn report(bench: &Bench, name: &str, found: &[Found], seconds: f64, cpu: Option<f64>) {
    let accepted: Vec<f64> = found.iter().filter_map(|one| one.coverage).collect();
    #[allow(clippy::cast_precision_loss)]
    let mean = accepted.iter().sum::<f64>() / accepted.len().max(1) as f64;
    let figures = serde_json::json!({
        "model": name,
        "clusters": found.len(),
        "accepted": accepted.len(),
        "mean_coverage": mean,
        "least_coverage": accepted.iter().copied().fold(1.0, f64::min),
        "calls": bench.value::<i64>("SELECT count(*) FROM call"),
        "prompt_tokens": bench.value::<i64>("SELECT coalesce(sum(prompt_tokens), 0) FROM call"),
        "completion_tokens": bench.value::<i64>("SELECT coalesce(sum(completion_tokens), 0) FROM call"),
        "wall_seconds": seconds,
        "cpu_seconds": cpu,
        "cases": found.iter().map(|one| serde_json::json!({
            "id": one.id, "coverage": one.coverage, "text_or_reason": one.note,
        })).collect::<Vec<_>>(),
    });
    let mut short = figures.clone();
    short.as_object_mut().unwrap().remove("cases");
    println!("{short}");
    if let Ok(path) = std::env::var("LIFECYCLE_TEST_OUT") {
        let mut text = std::fs::read_to_string(&path).unwrap_or_default();
        text += &format!("{figures}\n");
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn extractive_on_the_ten_clusters() {
    let bench = Bench::with("[consolidate]\nmodel = \"extractive\"\n");
    let started = Instant::now();
    let found = measure(&bench, "extractive");
    report(&bench, "extractive", &found, started.elapsed().as_secs_f64(), None);
    let accepted: Vec<f64> = found.iter().filter_map(|one| one.coverage).collect();
    assert_eq!(accepted.len(), cases().len());
    assert!(accepted.iter().all(|coverage| *coverage >= 0.9), "{accepted:?}");
}

/// The server and the model that the variables name, or why there is none.
fn named() -> Option<(String, String)> {
    let program = std::env::var("LIFECYCLE_TEST_LLAMA_SERVER");
    match (std::env::var("LIFECYCLE_TEST_GGUF"), program) {
        (Ok(model), Ok(program)) => Some((model, program)),
        _ => {
            println!(
                "skipped: LIFECYCLE_TEST_GGUF and LIFECYCLE_TEST_LLAMA_SERVER name no model and server"
            );
            None
        }
    }
}

/// One test, since two servers at once would slow each other down.
#[test]
fn a4_c10_h6_a_real_server_from_end_to_end() {
    let Some((model, program)) = named() else { return };
    let server = Server::start(&program, &model);
    let tokens = number("LIFECYCLE_TEST_TOKENS", 512);
    let settings = |kind: &str| {
        format!(
            "[consolidate]\nkeep_prompts = true\n[consolidate.call]\ntimeout_seconds = 7200.0\nload_seconds = 7200.0\n\
             max_tokens = {tokens}\nmax_tokens_limit = {tokens}\nretries = 0\n[consolidate.providers.m]\n\
             kind = \"{kind}\"\nurl = \"http://127.0.0.1:{}\"\nmodel = \"live\"\n",
            server.port
        )
    };
    while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let bench = Bench::with(&settings("llama-server"));
    rules_are_short(&bench);
    let started = Instant::now();
    let found = measure(&bench, &model);
    let seconds = started.elapsed().as_secs_f64();
    let name = std::path::Path::new(&model).file_name().unwrap().to_string_lossy().into_owned();
    report(&bench, &name, &found, seconds, Some(server.cpu_seconds()));
    capture(&bench, &name);
    let balance = bench.balance();
    assert!(balance.is_settled() && balance.sent > 0, "{balance:?}");
    for accepted in found.iter().filter_map(|one| one.coverage) {
        assert!(accepted >= 0.9, "an accepted merge lost facts: {accepted}");
    }
    let other: i64 = bench.value(
        "SELECT count(*) FROM call WHERE prompt_tokens IS NOT NULL AND abs(prompt_tokens - counted_tokens) > 16",
    );
    assert_eq!(other, 0, "our count of the prompt is the server's");
    let cached: i64 = bench.value("SELECT count(*) FROM call WHERE cached_tokens > 100");
    assert!(found.len() < 2 || cached > 0, "a16: the rules are served from the prefix cache");
    let median: i64 = bench.value(
        "SELECT counted_tokens FROM call ORDER BY counted_tokens LIMIT 1 OFFSET (SELECT count(*) / 2 FROM call)",
    );
    assert!(median <= 4000, "c10: a median prompt has {median} tokens");
    // The same server under the name of any compatible one: nothing but a setting changes.
    let other = Bench::with(&settings("openai-compatible"));
    other.cluster(&crate::consolidate::BERTH);
    other.run();
    let row: String = other.value("SELECT json_array(count(*), min(prompt_tokens) > 0) FROM call");
    assert_eq!(row, "[1,1]", "a4");
}

/// C10: the fixed block, counted by a real tokenizer.
fn rules_are_short(bench: &Bench) {
    use lifecycle::model::{http::Http, provider::Provider};
    let provider = Provider::resolve("m", &bench.settings.consolidate).unwrap();
    let rules = lifecycle_phases::consolidate::prompt::fixed(lifecycle::model::MERGE_RULES);
    let body = serde_json::json!({"content": rules});
    let http = Http::new().unwrap();
    let mut tokens = 0;
    for _ in 0..number("LIFECYCLE_TEST_LOAD_SECONDS", 120) * 5 {
        let reply = http.post(&provider, &format!("{}/tokenize", provider.url), &body);
        if let Ok(reply) = reply.as_ref().map(|reply| &reply.body) {
            let value: Value = serde_json::from_slice(reply).unwrap_or(Value::Null);
            tokens = value["tokens"].as_array().map_or(0, Vec::len);
        }
        if tokens > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("the rules have {tokens} tokens");
    assert!((50..=2000).contains(&tokens), "c10: {tokens} tokens");
}

/// Adds prompts and replies to the file that the variable names.
fn capture(bench: &Bench, model: &str) {
    let Ok(path) = std::env::var("LIFECYCLE_TEST_CAPTURE") else { return };
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    for row in lifecycle::store::kept_replies(bench.store().reader()).unwrap() {
        let line = lifecycle::tick::consolidate::Captured {
            prompt: row.prompt_version,
            model: model.to_string(),
            cluster: serde_json::from_str(row.asked.as_deref().unwrap()).unwrap(),
            reply: lifecycle::tick::consolidate::message_of(&row.reply),
        };
        text += &format!("{}\n", serde_json::to_string(&line).unwrap());
    }
    std::fs::write(path, text).unwrap();
}
