//! The fate of every note of a stream: `lifecycle FOLDER [--vectors] [--every HOURS] [--plain]
//! [--no-judge] [--home DIR] [--out FILE]`.
//!
//! FOLDER holds a stream of notes with known fates (`notes.jsonl`, `gold.jsonl`, with `--vectors`
//! also `vectors.bin` and `meta.json`). The notes are added in order of time to a real store, each
//! at its own time, and a whole tick runs every HOURS (24) of the stream's time, so that entries
//! are linked, merged and aged while the stream goes on; one more runs at the end. Texts are
//! embedded by the installed model, or stand for the vectors of the stream. Where the engine asks
//! a model whether an isolated note holds knowledge, a server on loopback answers as the gold says
//! (`--no-judge`: nobody answers). `--plain`: every note but decisions and thoughts is an insight,
//! session records too. `--home`: where the store is kept; else it is removed. Writes one row a note (`id`, `state`, `group`) and prints the shares.

mod oracle;
mod score;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/suite/support/standin.rs"]
mod standin;

use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Settings};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{self, RunOptions};
use lifecycle_phases::buffer::{Arrival, clean};
use lifecycle_phases::{Actor, Channel, Entry, EntryId, Kind, Phase, Source, State};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A note of the stream.
#[derive(Deserialize)]
pub struct Note {
    id: usize,
    ts: i64,
    project: String,
    #[serde(rename = "type")]
    kind: String,
    text: String,
}

/// What is known of a note.
#[derive(Deserialize)]
pub struct Gold {
    class: String,
    accept: Vec<String>,
    topic: Option<String>,
    substance: bool,
}

struct Args {
    folder: PathBuf,
    vectors: bool,
    hours: i64,
    plain: bool,
    judge: bool,
    home: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Some(args) = arguments()? else {
        println!(
            "usage: lifecycle FOLDER [--vectors] [--every HOURS] [--plain] [--no-judge] [--home DIR] [--out FILE]"
        );
        return Ok(());
    };
    let notes: Vec<Note> = rows(&args.folder.join("notes.jsonl"))?;
    let gold: Vec<Gold> = rows(&args.folder.join("gold.jsonl"))?;
    let oracle = oracle::start(&args.folder, args.vectors, &notes, &gold)?;
    let scratch = tempfile::tempdir()?;
    let home = args.home.as_deref().unwrap_or(scratch.path());
    for note in &notes {
        std::fs::create_dir_all(home.join(&note.project))?;
    }
    let world = World::new(home, &args, &oracle.url())?;
    let started = Instant::now();
    let entries = world.live(&notes, args.hours * 3_600_000)?;
    let seconds = started.elapsed().as_secs_f64();
    let out = world.fates(&notes, &entries)?;
    if let Some(path) = &args.out {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        for (note, (state, group)) in notes.iter().zip(&out) {
            writeln!(file, "{}", json!({"id": note.id, "state": state, "group": group}))?;
        }
    }
    let mut figures = score::score(&gold, &out);
    figures["seconds"] = json!(seconds);
    figures["ticks"] = json!(store::ticks(world.open()?.reader(), u32::MAX)?.len() - notes.len());
    println!("{figures:#}");
    Ok(())
}

fn arguments() -> Result<Option<Args>> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(folder) = words.next() else { return Ok(None) };
    let mut args = Args {
        folder: folder.into(),
        vectors: false,
        hours: 24,
        plain: false,
        judge: true,
        home: None,
        out: None,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--vectors" => args.vectors = true,
            "--plain" => args.plain = true,
            "--no-judge" => args.judge = false,
            "--every" => args.hours = words.next().ok_or("--every HOURS")?.parse()?,
            "--home" => args.home = Some(words.next().ok_or("--home DIR")?.into()),
            "--out" => args.out = Some(words.next().ok_or("--out FILE")?.into()),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(Some(args))
}

fn rows<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    BufReader::new(std::fs::File::open(path)?)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

/// A store of its own and the settings that it runs with.
struct World {
    paths: Paths,
    settings: Settings,
    plain: bool,
}

impl World {
    fn new(home: &Path, args: &Args, url: &str) -> Result<Self> {
        let paths = Paths {
            data: home.join("data"),
            config_file: home.join("config.toml"),
            home: home.to_path_buf(),
        };
        let mut text = String::from("[embed]\nserve = \"off\"\n");
        if args.vectors {
            text += &format!("url = \"{url}\"\nurl_model = \"stream\"\n");
        }
        if args.judge {
            text += &format!(
                "[age]\nmodel = \"gold\"\nmax_questions = 100000\n[consolidate.providers.gold]\n\
                 kind = \"openai-compatible\"\nurl = \"{url}\"\nmodel = \"gold\"\n"
            );
        }
        std::fs::write(&paths.config_file, text)?;
        let settings = Layers::load(&paths, &[])?.settings()?;
        Ok(Self { paths, settings, plain: args.plain })
    }

    fn open(&self) -> Result<Store> {
        Ok(Store::open(&self.paths, &self.settings)?)
    }

    /// Adds the notes and runs the ticks; the entry that each note is.
    fn live(&self, notes: &[Note], every: i64) -> Result<Vec<EntryId>> {
        let mut entries = Vec::with_capacity(notes.len());
        let mut next = notes.first().map_or(0, |note| note.ts * 1000) + every;
        let mut store = self.open()?;
        for note in notes {
            let now = note.ts * 1000;
            if now >= next {
                drop(store);
                self.tick(next)?;
                next = now - (now - next) % every + every;
                store = self.open()?;
            }
            let arrival = self.arrival(note);
            let id = entry_of(&arrival).ok_or("a note without a text")?;
            tick::buffer::admit(&mut store, &[arrival], now, "add")?;
            entries.push(id);
        }
        drop(store);
        self.tick(next)?;
        Ok(entries)
    }

    fn tick(&self, now: i64) -> Result<()> {
        let options = RunOptions {
            phases: Phase::ALL.to_vec(),
            dry_run: false,
            yes: false,
            trigger: "schedule",
        };
        let run = tick::run(&self.settings, &self.paths, Clock::Fixed(now), &options)?;
        for note in run.report.notes.iter().filter(|note| note.level == tick::Level::Failed) {
            eprintln!("{}: {}", lifecycle::clock::format_time(now), note.text);
        }
        Ok(())
    }

    fn arrival(&self, note: &Note) -> Arrival {
        let kind = match note.kind.as_str() {
            "decision" => Kind::Decision,
            "user-thought" => Kind::Thought,
            "auto-session-save" if !self.plain => Kind::Session,
            _ => Kind::Insight,
        };
        Arrival {
            text: note.text.clone(),
            kind,
            project: Some(self.paths.home.join(&note.project).display().to_string()),
            created: note.ts * 1000,
            source: Source::new(Channel::Cli, Actor::User),
        }
    }

    /// State and group of each note at the end.
    fn fates(
        &self,
        notes: &[Note],
        entries: &[EntryId],
    ) -> Result<Vec<(&'static str, Option<String>)>> {
        let store = self.open()?;
        let filter = store::Filter { all: true, ..store::Filter::default() };
        let all = store::list(store.reader(), &filter)?;
        let merged = merged_into(&store)?;
        let linked = linked(&store)?;
        let mut fates = HashMap::new();
        for stored in &all {
            let has_link = linked.get(&stored.seq);
            let state = match stored.entry.state {
                State::Expired => "expired",
                State::Merged => "consolidated",
                _ if stored.entry.is_protected() => "kept",
                _ if has_link.is_some() => "linked",
                _ if stored.entry.reprieves > 0 => "reprieved",
                _ => "kept",
            };
            let group = merged.get(&stored.seq).or(has_link).cloned();
            fates.insert(stored.entry.id.clone(), (state, group));
        }
        let mut seen = std::collections::HashSet::new();
        let fate = |(_, id): (&Note, &EntryId)| match seen.insert(id.clone()) {
            true => fates.get(id).cloned().unwrap_or(("expired", None)),
            // What came again is gone with the entry that it is.
            false if fates.get(id).is_some_and(|fate| fate.0 == "expired") => ("expired", None),
            false => ("deduplicated", None),
        };
        Ok(notes.iter().zip(entries).map(fate).collect())
    }
}

fn entry_of(arrival: &Arrival) -> Option<EntryId> {
    let Arrival { text, kind, project, created, source } = arrival.clone();
    Some(Entry::new(&clean(&text)?, kind, project, created, source).id)
}

/// The proven entry that each merged one lives on in.
fn merged_into(store: &Store) -> Result<HashMap<i64, String>> {
    let mut query = store.reader().prepare(
        "SELECT p.source, p.proven FROM provenance p JOIN entry e ON e.seq = p.source
         WHERE p.active AND e.state = 'merged' ORDER BY p.proven",
    )?;
    let rows =
        query.query_map([], |row| Ok((row.get(0)?, format!("p{}", row.get::<_, i64>(1)?))))?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

/// The linked component of each entry that has a link.
fn linked(store: &Store) -> Result<HashMap<i64, String>> {
    let mut query = store.reader().prepare("SELECT a, b FROM link WHERE active")?;
    let pairs: Vec<(i64, i64)> = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<std::result::Result<_, _>>()?;
    let mut parent: BTreeMap<i64, i64> = BTreeMap::new();
    fn root(parent: &mut BTreeMap<i64, i64>, mut of: i64) -> i64 {
        while let Some(up) = parent.get(&of).copied().filter(|up| *up != of) {
            of = up;
        }
        parent.entry(of).or_insert(of);
        of
    }
    for (a, b) in &pairs {
        let (a, b) = (root(&mut parent, *a), root(&mut parent, *b));
        parent.insert(a.max(b), a.min(b));
    }
    let ends: Vec<i64> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    Ok(ends.into_iter().map(|end| (end, format!("l{}", root(&mut parent, end)))).collect())
}

/// A figure as JSON.
pub fn share(hits: usize, of: usize) -> Value {
    json!(hits as f64 / of.max(1) as f64)
}
