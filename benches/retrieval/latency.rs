//! How long a search takes over many texts, without the model's own time.
//!
//! Texts are made of the words of `notes.jsonl` in their natural frequencies, vectors are random:
//! their values do not matter to the time of a scan. Queries are the data's own.

use crate::{admit, rows, text};
use lifecycle::config::SearchSettings;
use lifecycle::embed::{Descriptor, Embedder, Embedding, Role, unit};
use lifecycle::search::{Mode, Models, Query, WarmVectors, search};
use lifecycle::store::{self, Scope, Store};
use lifecycle_phases::{Actor, Channel, Entry, Kind, Source, Step};
use std::path::Path;
use std::time::{Duration, Instant};

const DIMENSIONS: usize = 384;

/// Vectors from the hash of a text.
struct Hashed(Descriptor);

impl Embedder for Hashed {
    fn descriptor(&self) -> &Descriptor {
        &self.0
    }

    fn embed(&self, texts: &[String], _role: Role) -> Vec<Embedding> {
        texts.iter().map(|text| Ok(vector(blake3::hash(text.as_bytes()).as_bytes()))).collect()
    }
}

fn vector(seed: &[u8; 32]) -> Vec<f32> {
    let mut bytes = vec![0u8; DIMENSIONS * 2];
    blake3::Hasher::new().update(seed).finalize_xof().fill(&mut bytes);
    let numbers = bytes.chunks_exact(2).map(|two| f32::from(i16::from_le_bytes([two[0], two[1]])));
    unit(numbers.collect(), DIMENSIONS).unwrap()
}

/// Numbers in a fixed order (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

fn fill(file: &Path, words: &[&str], count: usize, embedder: &Hashed) {
    let mut store = Store::open_file(file, Duration::from_secs(5)).unwrap();
    let mut dice = Dice(88_172_645_463_325_252);
    for portion in 0..count.div_ceil(1000) {
        let entries: Vec<Entry> = (0..1000.min(count - portion * 1000))
            .map(|n| {
                let some: Vec<&str> =
                    (0..20 + dice.below(40)).map(|_| words[dice.below(words.len())]).collect();
                let text = format!("{} {portion}.{n}", some.join(" "));
                let source = Source::new(Channel::Import, Actor::User);
                Entry::new(&text, Kind::Insight, None, 0, source)
            })
            .collect();
        let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
        let vectors = embedder.embed(&texts, Role::Document);
        store
            .write(|tx| {
                admit(tx, &entries)?;
                for (entry, vector) in entries.iter().zip(vectors) {
                    let (entry, descriptor) = (entry.id.clone(), embedder.0.id());
                    store::apply(tx, &Step::Embed { entry, descriptor, vector: vector? }, 0, "")?;
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Time that this process has had on all processors so far, in steps of ten milliseconds; unlike the
/// wall time it hardly depends on what else the machine does. 0 where the system does not say.
fn processor_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}

/// Fills a store of `count` texts (kept in `out`) and times the first search and the others.
pub fn run(folder: &Path, out: &Path, count: usize, settings: &SearchSettings) {
    let embedder = Hashed(Descriptor::of_server("random", DIMENSIONS));
    let notes = rows(&folder.join("notes.jsonl"));
    let words: Vec<&str> =
        notes.iter().flat_map(|note| text(note, "text").split_whitespace()).collect();
    let file = out.join(format!("latency-{count}.sqlite3"));
    if !file.exists() {
        let start = Instant::now();
        fill(&file, &words, count, &embedder);
        println!("filled {count} in {:.1} s", start.elapsed().as_secs_f64());
    }
    let queries = rows(&folder.join("queries.jsonl"));
    let queries: Vec<&str> = queries.iter().step_by(5).map(|row| text(row, "text")).collect();
    for (name, mode, keep) in [
        ("lexical", Mode::Lexical, false),
        ("dense", Mode::Dense, false),
        ("hybrid", Mode::Hybrid, false),
        ("dense, vectors in memory", Mode::Dense, true),
        ("hybrid, vectors in memory", Mode::Hybrid, true),
    ] {
        let store = Store::open_file(&file, Duration::from_secs(5)).unwrap();
        let store = store.for_searching().unwrap();
        let start = Instant::now();
        let warm =
            keep.then(|| WarmVectors::load(store.reader(), &embedder.0.id(), DIMENSIONS).unwrap());
        let loading = start.elapsed().as_secs_f64() * 1e3;
        let before = processor_ms();
        let mut times: Vec<f64> = queries
            .iter()
            .map(|words| {
                let query = Query { text: (*words).into(), scope: Scope::default(), k: 10, mode };
                let start = Instant::now();
                let models =
                    Models { embedder: Ok(&embedder), warm: warm.as_ref(), reranker: None };
                search(store.reader(), &models, settings, &query).unwrap();
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        let processor = (processor_ms() - before) / times.len() as f64;
        let first = times[0];
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (p50, p99) = (at(0.5), at(0.99));
        println!(
            "{name}: first {first:.1} ms, p50 {p50:.1} ms, p99 {p99:.1} ms, processor {processor:.1} ms \
             a query (loading {loading:.0} ms)"
        );
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        println!("peak memory of this process: {}", peak.trim_start_matches("VmHWM:").trim());
    }
}
