//! Time and memory of a route phase: `route [FILES] [SECTIONS] [ENTRIES]` (250, 40, 200).
//!
//! Makes a project with FILES instruction files of SECTIONS sections each and a store with ENTRIES
//! proven entries, routes them (cold: no section has a vector yet), then proves as many again and
//! routes those (warm: only what the first run wrote is new). Texts are drawn from words with a
//! fixed generator; half of the entries speak of a section. Needs the embedding model
//! (`LIFECYCLE_MODELS`). Prints one JSON object.

use lifecycle::clock::Clock;
use lifecycle::config::Layers;
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{self, RunOptions};
use lifecycle_phases::{Actor, Channel, Entry, Kind, Phase, Source, State, Step};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SUBJECTS: &[&str] = &[
    "importer",
    "scheduler",
    "gateway",
    "renderer",
    "parser",
    "cache",
    "queue",
    "planner",
    "index",
    "exporter",
    "session",
    "ledger",
    "router",
    "sampler",
    "compiler",
    "watcher",
    "resolver",
];
const PLACES: &[&str] = &[
    "berth", "harbor", "tide", "crane", "vessel", "cargo", "manifest", "pilot", "quay", "lighter",
    "anchor", "signal", "weather", "customs", "ballast", "draft", "mooring", "channel", "dredge",
];
const VERBS: &[&str] = &[
    "retries",
    "drops",
    "batches",
    "validates",
    "signs",
    "rotates",
    "locks",
    "streams",
    "compares",
    "rejects",
    "merges",
    "delays",
    "counts",
    "archives",
    "replays",
    "splits",
];
const OBJECTS: &[&str] = &[
    "rows without a time zone",
    "requests above the quota",
    "stale leases",
    "duplicate events",
    "unsigned manifests",
    "partial uploads",
    "expired tokens",
    "orphaned files",
    "late callbacks",
    "empty batches",
    "foreign keys",
    "unknown fields",
    "broken links",
    "cold partitions",
];

struct Draw(u64);

impl Draw {
    fn next(&mut self, of: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % of
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.next(words.len())]
    }

    fn fact(&mut self) -> String {
        let (place, subject, verb) = (self.of(PLACES), self.of(SUBJECTS), self.of(VERBS));
        let (object, other, number) = (self.of(OBJECTS), self.of(PLACES), self.next(9000));
        format!("The {place} {subject} {verb} {object} of the {other} feed after {number} ms")
    }
}

fn main() -> Outcome<()> {
    let args: Vec<usize> =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |n: usize, usual: usize| args.get(n).copied().unwrap_or(usual);
    let (files, sections, entries) = (number(0, 250), number(1, 40), number(2, 200));
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let mut draw = Draw(7);
    let project = root.join("project");
    make_project(&project, files, sections, &mut draw)?;
    let paths = Paths {
        data: root.join("data"),
        config_file: root.join("config.toml"),
        home: root.join("home"),
    };
    std::fs::create_dir_all(&paths.data)?;
    let mut report = json!({"files": files, "sections": files * sections, "entries": entries});
    for run in ["cold", "warm"] {
        prove(&paths, &project, entries, &mut draw)?;
        report[run] = route(&paths)?;
    }
    println!("{report:#}");
    Ok(())
}

fn make_project(root: &Path, files: usize, sections: usize, draw: &mut Draw) -> Outcome<()> {
    for n in 0..files {
        let folder = root.join(format!("area{}/part{n}", n % 10));
        std::fs::create_dir_all(&folder)?;
        let mut text = format!("# Part {n}\n");
        for section in 0..sections {
            let (place, subject) = (draw.of(PLACES), draw.of(SUBJECTS));
            text.push_str(&format!("\n## {section} {place} {subject}\n\n- {}\n", draw.fact()));
        }
        std::fs::write(folder.join("AGENTS.md"), text)?;
    }
    std::fs::write(root.join("AGENTS.md"), "# Project\n\n- See the parts\n")?;
    Ok(())
}

fn prove(paths: &Paths, project: &Path, entries: usize, draw: &mut Draw) -> Outcome<()> {
    let mut store = Store::open_file(&paths.database(), Duration::from_secs(5))?;
    let project = project.display().to_string();
    let steps: Vec<Step> = (0..entries)
        .map(|_| {
            let source = Source::new(Channel::Tick, Actor::User);
            let mut entry = Entry::new(
                &draw.fact(),
                Kind::Insight,
                Some(project.clone()),
                1_780_000_000_000,
                source,
            );
            entry.state = State::Proven;
            Step::Admit { entry: Box::new(entry) }
        })
        .collect();
    store.write(|tx| {
        steps.iter().try_for_each(|step| store::apply(tx, step, 1_780_000_000_000, "bench"))
    })?;
    Ok(())
}

fn route(paths: &Paths) -> Outcome<Value> {
    let settings = Layers::load(paths, &[])?.settings()?;
    let options =
        RunOptions { phases: vec![Phase::Route], dry_run: false, yes: false, trigger: "run" };
    // Starts the peak anew.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let (started, before) = (Instant::now(), processor_seconds());
    let run = tick::run(&settings, paths, Clock::System, &options)?;
    Ok(json!({
        "seconds": started.elapsed().as_secs_f64(),
        "processor_seconds": processor_seconds() - before,
        "peak_mb": peak_mb(),
        "routed": run.report.counts.get("route"),
        "notes": run.report.notes.len(),
    }))
}

/// User and system time of this process.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kb.unwrap_or(f64::NAN) / 1024.0
}
