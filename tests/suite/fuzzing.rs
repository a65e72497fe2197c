//! The fuzzers' bodies over mutations of their corpora, so that every run of the tests runs them.
//!
//! `LIFECYCLE_TEST_FUZZ_SECONDS` sets how long each (a fixed number of inputs by default),
//! `LIFECYCLE_TEST_FUZZ_SEED` with which numbers. `scripts/fuzz` runs `cargo fuzz` where it is installed.

#[path = "../../fuzz/bodies.rs"]
mod bodies;

use lifecycle_phases::{Actor, Channel, Entry, Kind, Phase, Plan, PlannedStep, Source, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Pieces that matter to one format or another.
const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r\n",
    b"\t",
    b"#",
    b"-",
    b"- ",
    b"&a ",
    b"*a",
    b"|\n",
    b"'''",
    b"\"\"\"",
    b"```",
    b"---\n",
    b"<!-- lifecycle:begin -->\n",
    b"<!-- lifecycle:end -->\n",
    b"# lifecycle:begin\n",
    b"# lifecycle:end\n",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"NaN",
    b"\\ud83d",
    b"\\u0000",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b"\xf0\x9f\x9a\xa2",
    b"<think>",
    b"</think>",
    b"rules",
    b"tool",
    b"notes",
    b"[[rules]]\n",
    b"9223372036854775808",
];

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 1).unwrap() % sides.max(1)
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    if name == "plan" {
        seeds.push(serde_json::to_vec(&sample_plan()).unwrap());
    }
    seeds
}

/// A plan with steps that build on each other.
fn sample_plan() -> Plan {
    let mut steps = Vec::new();
    for text in ["Pilots board at the outer buoy", "Tugs are booked a day ahead"] {
        let source = Source::new(Channel::Cli, Actor::User);
        let entry = Entry::new(text, Kind::Insight, Some("/p".into()), 1, source);
        let (id, from) = (entry.id.clone(), entry.state);
        let all = [
            Step::Admit { entry: Box::new(entry) },
            Step::Embed { entry: id.clone(), descriptor: "d".into(), vector: vec![0.6, 0.8] },
            Step::Reprieve { entry: id.clone(), from: 0, to: 1 },
            Step::Expire { entry: id, from },
        ];
        steps.extend(all.into_iter().map(|step| PlannedStep::new(Phase::Age, step, "seed")));
    }
    Plan { version: Plan::VERSION, now: 7, base: "x".into(), steps, receipts: Vec::new() }
}

fn mutated(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.roll(seeds.len())].clone();
    for _ in 0..1 + dice.roll(6) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(7) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            2 if at < bytes.len() => _ = bytes.remove(at),
            3 if at < bytes.len() => {
                let end = (at + 1 + dice.roll(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => {
                let other = &seeds[dice.roll(seeds.len())];
                let from = dice.roll(other.len() + 1);
                let end = (from + dice.roll(80)).min(other.len());
                bytes.splice(at..at, other[from..end].to_vec());
            }
            _ => _ = bytes.splice(at..at, WORDS[dice.roll(WORDS.len())].to_vec()),
        }
    }
    bytes
}

/// Runs a body over its corpus and over mutations of it; how many inputs that were.
fn run((name, body): bodies::Body) -> usize {
    let number =
        |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("LIFECYCLE_TEST_FUZZ_SECONDS");
    let mut dice = Dice(number("LIFECYCLE_TEST_FUZZ_SEED").unwrap_or(0x9e37_79b9) | 1);
    let seeds = corpus(name);
    assert!(seeds.len() > 1, "{name} has a corpus");
    let started = Instant::now();
    let mut inputs = 0;
    loop {
        let bytes = seeds.get(inputs).cloned().unwrap_or_else(|| mutated(&seeds, &mut dice));
        if catch_unwind(AssertUnwindSafe(|| body(&bytes))).is_err() {
            let file = std::env::temp_dir().join(format!("lifecycle-fuzz-{name}"));
            std::fs::write(&file, &bytes).unwrap();
            panic!(
                "{name}: input {inputs} kept in {}: {:?}",
                file.display(),
                String::from_utf8_lossy(&bytes)
            );
        }
        inputs += 1;
        let enough = match seconds {
            Some(seconds) => started.elapsed() > Duration::from_secs(seconds),
            None => inputs >= 400,
        };
        if enough {
            println!("{name}: {inputs} inputs in {:?}", started.elapsed());
            return inputs;
        }
    }
}

fn named(name: &str) {
    run(*bodies::ALL.iter().find(|(other, _)| *other == name).unwrap());
}

macro_rules! fuzzers {
    ($($name:ident)*) => { $(#[test] fn $name() { named(stringify!($name)); })* };
}

fuzzers! { hook transcript reply plan markdown toml yaml json config embeddings }

#[test]
fn every_fuzzer_has_a_corpus_a_target_and_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let tests = include_str!("fuzzing.rs");
    let listed = tests.split("fuzzers! { ").nth(1).unwrap().split(" }").next().unwrap();
    for (name, _) in bodies::ALL {
        assert!(root.join("fuzz_targets").join(format!("{name}.rs")).is_file(), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        assert!(listed.split(' ').any(|word| word == *name), "{name}");
    }
}
