//! Speed, memory and recall of connecting: `connect DIR [--more N] [--sample K] [--graph]`.
//!
//! DIR holds a stream with vectors (`notes.jsonl`, `vectors.bin` of 32-bit or 16-bit floats, and
//! `meta.json`). All but the last MORE notes (20) are connected from empty in chunks of 256, as a
//! tick does: added to their project's index and its file, compared with their neighbours, learned
//! from, linked. Then the indexes are opened from their files and the last MORE come on top; the
//! components that these touch are clustered, then all. Texts and vectors are read when they are
//! needed, as the store would, and not kept. With `--sample K` only every K-th chunk is connected
//! and the time of the rest is taken from those. `--graph` walks a graph whatever the size. Prints
//! one JSON object. `connect --shapes` times the clustering of linked groups of some shapes and sizes
//! instead, and needs no stream.

mod stream;
mod world;

use serde_json::json;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use stream::Stream;
use world::World;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Notes of a chunk, as in a tick.
const CHUNK: usize = 256;

struct Args {
    folder: PathBuf,
    more: usize,
    sample: usize,
    graph: bool,
}

fn main() -> Result<()> {
    if std::env::args().any(|word| word == "--shapes") {
        println!("{:#}", world::shapes(&[160, 320, 640, 1_280, 2_560, 5_120]));
        return Ok(());
    }
    let Some(args) = arguments()? else {
        println!("usage: connect DIR [--more N] [--sample K] [--graph]; connect --shapes");
        return Ok(());
    };
    let stream = Stream::open(Path::new(&args.folder))?;
    let (all, first) = (stream.len(), stream.len().saturating_sub(args.more));
    let folder = tempfile::tempdir()?;
    let mut world = World::new(stream, folder.path(), args.graph);
    let mut sampled = 0.0;
    for (chunk, start) in (0..first).step_by(CHUNK).enumerate() {
        let range = start..(start + CHUNK).min(first);
        world.index(range.clone())?;
        if chunk % args.sample == args.sample / 2 {
            let started = Instant::now();
            world.connect(range)?;
            sampled += started.elapsed().as_secs_f64();
        }
    }
    let spent = std::mem::take(&mut world.spent);
    let indexing = spent.get("index").copied().unwrap_or_default();
    let chain = world::chain(320);
    let started = Instant::now();
    world.reopen();
    let opening = started.elapsed().as_secs_f64();
    let started = Instant::now();
    world.index(first..all)?;
    world.connect(first..all)?;
    let on_top = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let touched = world.clusters(first..all);
    let touched_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let clusters = world.clusters(0..all);
    let cluster_seconds = started.elapsed().as_secs_f64();
    let peak = peak_mb();
    let report = json!({
        "notes": all, "dimensions": world.stream.dimensions, "links": world.links(),
        "sample": args.sample, "from_empty_s": indexing + sampled * args.sample as f64,
        "of_it": spent, "open_s": opening, "more": args.more, "more_on_top_s": on_top,
        "more_of_it": world.spent, "touched": touched, "touched_s": touched_seconds,
        "clusters": clusters, "clusters_s": cluster_seconds, "chain_of_320": chain,
        "peak_mb": peak, "index_mb": world.file_mb()?, "recall": world.recall(),
        "indexes": world.kinds(), "templates": world.templates(),
    });
    println!("{report:#}");
    Ok(())
}

fn arguments() -> Result<Option<Args>> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(folder) = words.next() else { return Ok(None) };
    let mut args = Args { folder: folder.into(), more: 20, sample: 1, graph: false };
    while let Some(word) = words.next() {
        let mut number = || -> Result<usize> { Ok(words.next().ok_or("a number")?.parse()?) };
        match word.as_str() {
            "--more" => args.more = number()?,
            "--sample" => args.sample = number()?.max(1),
            "--graph" => args.graph = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(Some(args))
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kb.unwrap_or(f64::NAN) / 1024.0
}
