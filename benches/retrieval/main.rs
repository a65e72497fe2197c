//! Search quality on a folder with `notes.jsonl` and `queries.jsonl`: one store a set of notes, one
//! file of rankings a column, for the scorer that comes with the data.
//!
//! `cargo bench --bench retrieval -- FOLDER OUT` writes OUT/<column>.jsonl: grep (words that occur, no
//! weights), lexical, dense, hybrid, and reranked where BENCH_SET names a search.reranker. Stores are
//! kept in OUT and used again, embeddings included. `cargo bench --bench retrieval -- FOLDER OUT 100000` times
//! searches over that many texts instead.

#![allow(clippy::unwrap_used, missing_docs, reason = "a measurement that cannot go on has failed")]

mod latency;

use lifecycle::config::Layers;
use lifecycle::embed::{self, CHUNK, Embedder, Role};
use lifecycle::paths::Paths;
use lifecycle::search::{Mode, Models, Query, search};
use lifecycle::store::{self, Scope, Store};
use lifecycle_phases::{Actor, Channel, Entry, Kind, Source, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

/// The notes of one set in a store, and the note of each entry id.
struct Filled {
    store: Store,
    names: HashMap<String, Vec<String>>,
}

fn fill(file: &Path, notes: &[&Value], embedder: &dyn Embedder) -> Filled {
    let is_new = !file.exists();
    let mut store = Store::open_file(file, Duration::from_secs(5)).unwrap();
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    let mut entries = Vec::new();
    for note in notes {
        let source = Source::new(Channel::Import, Actor::User);
        let entry = Entry::new(text(note, "text"), Kind::Insight, None, 0, source);
        let known = names.entry(entry.id.to_string()).or_default();
        if known.is_empty() {
            entries.push(entry);
        }
        known.push(text(note, "id").to_string());
    }
    if is_new {
        store.write(|tx| admit(tx, &entries)).unwrap();
        for chunk in entries.chunks(CHUNK) {
            let texts: Vec<String> = chunk.iter().map(|entry| entry.text.clone()).collect();
            let vectors = embedder.embed(&texts, Role::Document);
            store
                .write(|tx| {
                    for (entry, vector) in chunk.iter().zip(vectors) {
                        let descriptor = embedder.descriptor().id();
                        let (entry, vector) = (entry.id.clone(), vector?);
                        store::apply(tx, &Step::Embed { entry, descriptor, vector }, 0, "")?;
                    }
                    Ok(())
                })
                .unwrap();
        }
    } else {
        store.write(store::rebuild_words).unwrap();
    }
    Filled { store, names }
}

fn admit(tx: &rusqlite::Transaction<'_>, entries: &[Entry]) -> lifecycle::Result<()> {
    entries.iter().try_for_each(|entry| {
        store::apply(tx, &Step::Admit { entry: Box::new(entry.clone()) }, 0, "bench")
    })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [folder, out, rest @ ..] = args.as_slice() else {
        println!("usage: cargo bench --bench retrieval -- FOLDER OUT [COUNT]");
        return;
    };
    let (folder, out) = (Path::new(folder), Path::new(out));
    std::fs::create_dir_all(out).unwrap();
    let paths = Paths::from_env().unwrap();
    let flags: Vec<String> = std::env::var("BENCH_SET")
        .map(|sets| sets.split(';').map(str::to_string).collect())
        .unwrap_or_default();
    let settings = Layers::load(&paths, &flags).unwrap().settings().unwrap();
    if let Some(count) = rest.first().and_then(|count| count.parse().ok()) {
        return latency::run(folder, out, count, &settings.search);
    }
    let embedder = embed::open(&settings, &paths).unwrap();
    let notes = rows(&folder.join("notes.jsonl"));
    let mut sets: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for note in &notes {
        sets.entry(text(note, "store")).or_default().push(note);
    }
    let stores: HashMap<&str, Filled> = sets
        .iter()
        .map(|(name, notes)| {
            let file = out.join(format!("{name}-{}.sqlite3", embedder.descriptor().name));
            (*name, fill(&file, notes, &*embedder))
        })
        .collect();
    let queries = rows(&folder.join("queries.jsonl"));
    let reranker = embed::open_reranker(&settings, &paths).unwrap();
    by_grep(&queries, &sets, out);
    let mut columns = vec![
        ("lexical", Mode::Lexical, None),
        ("dense", Mode::Dense, None),
        ("hybrid", Mode::Hybrid, None),
    ];
    columns.extend(reranker.as_deref().map(|model| ("reranked", Mode::Hybrid, Some(model))));
    for (column, mode, reranker) in columns {
        let mut file = std::fs::File::create(out.join(format!("{column}.jsonl"))).unwrap();
        let mut times = Vec::new();
        for row in &queries {
            let filled = &stores[text(row, "store")];
            let scope = Scope::default();
            let query = Query { text: text(row, "text").into(), scope, k: 20, mode };
            let start = Instant::now();
            let models = Models { embedder: Ok(&*embedder), warm: None, reranker };
            let answer = search(filled.store.reader(), &models, &settings.search, &query).unwrap();
            times.push(start.elapsed().as_secs_f64() * 1e3);
            let ids = answer.hits.iter().flat_map(|hit| filled.names[&hit.id()].clone());
            let ranking: Vec<String> = ids.take(20).collect();
            writeln!(file, "{}", json!({"id": row["id"], "ranking": ranking})).unwrap();
        }
        print_times(column, times);
    }
}

fn print_times(column: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{column}: p50 {:.2} ms, p99 {:.2} ms a query", at(0.5), at(0.99));
}

/// What somebody does with `grep -i -c` for each word of the question: notes by how many of its
/// words they contain, earlier ones first among equals.
fn by_grep(queries: &[Value], sets: &BTreeMap<&str, Vec<&Value>>, out: &Path) {
    let lower: BTreeMap<&str, Vec<(String, &str)>> = sets
        .iter()
        .map(|(name, notes)| {
            let notes =
                notes.iter().map(|note| (text(note, "text").to_lowercase(), text(note, "id")));
            (*name, notes.collect())
        })
        .collect();
    let mut file = std::fs::File::create(out.join("grep.jsonl")).unwrap();
    let mut times = Vec::new();
    for row in queries {
        let start = Instant::now();
        let asked = text(row, "text").to_lowercase();
        let mut words: Vec<&str> =
            asked.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        words.sort();
        words.dedup();
        let mut counted: Vec<(usize, &str)> = lower[text(row, "store")]
            .iter()
            .map(|(note, id)| (words.iter().filter(|word| note.contains(**word)).count(), *id))
            .collect();
        counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        times.push(start.elapsed().as_secs_f64() * 1e3);
        let ranking: Vec<&str> = counted.iter().take(20).map(|(_, id)| *id).collect();
        writeln!(file, "{}", json!({"id": row["id"], "ranking": ranking})).unwrap();
    }
    print_times("grep", times);
}
