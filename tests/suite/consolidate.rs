//! The consolidate phase on a real store, against the stand-in as model and as embedding server.

use crate::support::standin::{Reply, Request, Standin, Vectors};
use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Origin, Settings};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{self, Context, Mode, RunOptions};
use lifecycle::{ExitCode, embed};
use lifecycle_phases::{
    Actor, Channel, Entry, EntryId, Kind, Link, Phase, PlannedStep, Source, State, Step,
};
use serde_json::json;

pub const NOW: i64 = 1_780_000_000_000;

/// A store with linked notes, a stand-in, and settings that point at it.
pub struct Bench {
    _folder: tempfile::TempDir,
    pub paths: Paths,
    pub server: Standin,
    pub settings: Settings,
    pub now: i64,
}

pub const BERTH: [&str; 3] = [
    "Berth buffer is 25 m",
    "Berth buffer of 25 m applies to tankers too",
    "Berth buffer shrinks to 15 m in winter",
];
pub const GOOD: &str = "The berth buffer is 25 m, tankers included; 15 m in winter.";

impl Bench {
    /// With further lines of settings; `m` is an OpenAI-compatible provider at the stand-in.
    pub fn with(more: &str) -> Self {
        Self::of_kind("openai-compatible", more)
    }

    /// The same with a provider of that kind.
    pub fn of_kind(kind: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let paths =
            Paths { data: root.join("data"), config_file: root.join("c.toml"), home: root.clone() };
        let server = Standin::start();
        server.vectors(Vectors::default());
        let url = server.url();
        let text = format!(
            "[embed]\nurl = \"{url}\"\nurl_model = \"standin\"\n[consolidate]\nmodel = \"m\"\n\
             [consolidate.call]\nbackoff_seconds = 0.0\ntimeout_seconds = 5.0\n\
             [consolidate.providers.m]\nkind = \"{kind}\"\nurl = \"{url}\"\nmodel = \"standin\"\n"
        );
        let mut layers = Layers::defaults();
        layers.merge_text(&text, Origin::Flag).unwrap();
        layers.merge_text(more, Origin::Flag).unwrap();
        let settings = layers.settings().unwrap();
        Self { _folder: folder, paths, server, settings, now: NOW }
    }

    pub fn new() -> Self {
        Self::with("")
    }

    pub fn store(&self) -> Store {
        Store::open(&self.paths, &self.settings).unwrap()
    }

    /// Admits notes, embeds them, and links each with each.
    pub fn cluster(&self, texts: &[&str]) -> Vec<EntryId> {
        self.cluster_of(
            texts.iter().zip(1..).map(|(text, i)| entry(text, NOW - 1_000_000 + i)).collect(),
        )
    }

    pub fn cluster_of(&self, entries: Vec<Entry>) -> Vec<EntryId> {
        let store = self.store();
        let embedder = tick::serving::open(store.reader(), &self.settings, &self.paths).unwrap();
        let descriptor = embedder.descriptor().id();
        let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
        let vectors = embedder.embed(&texts, embed::Role::Document);
        let mut steps = Vec::new();
        for (entry, vector) in entries.iter().zip(vectors) {
            steps.push(Step::Admit { entry: Box::new(entry.clone()) });
            steps.push(Step::Embed {
                entry: entry.id.clone(),
                descriptor: descriptor.clone(),
                vector: vector.unwrap(),
            });
        }
        for (i, a) in entries.iter().enumerate() {
            for b in &entries[i + 1..] {
                steps.push(link(&a.id, &b.id, &descriptor));
            }
        }
        self.perform(steps);
        entries.into_iter().map(|entry| entry.id).collect()
    }

    pub fn perform(&self, steps: Vec<Step>) {
        let mut ctx = Context::new(
            self.store(),
            &self.settings,
            &self.paths,
            Clock::Fixed(self.now),
            Mode::Live,
            "run",
        );
        let steps = steps.into_iter().map(|step| PlannedStep::new(Phase::Connect, step, "test"));
        ctx.perform(steps.collect()).unwrap();
        assert!(ctx.notes.is_empty(), "{:?}", ctx.notes);
    }

    /// One run of the phase.
    pub fn run(&self) -> tick::Run {
        self.run_as(false)
    }

    pub fn run_as(&self, dry_run: bool) -> tick::Run {
        let options =
            RunOptions { phases: vec![Phase::Consolidate], dry_run, yes: false, trigger: "run" };
        tick::run(&self.settings, &self.paths, Clock::Fixed(self.now), &options).unwrap()
    }

    pub fn state(&self, id: &EntryId) -> State {
        store::entry_by_id(self.store().reader(), id).unwrap().unwrap().entry.state
    }

    pub fn proven(&self) -> Vec<Entry> {
        let filter = store::Filter { state: Some(State::Proven), ..store::Filter::default() };
        let listed = store::list(self.store().reader(), &filter).unwrap();
        listed.into_iter().map(|stored| stored.entry).collect()
    }

    pub fn clusters(&self) -> Vec<store::ClusterRow> {
        store::clusters(self.store().reader()).unwrap()
    }

    pub fn balance(&self) -> store::Balance {
        store::balance(self.store().reader(), None).unwrap()
    }

    /// One value of the database.
    pub fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        self.store().reader().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[track_caller]
    pub fn all_buffered(&self, ids: &[EntryId]) {
        for id in ids {
            assert_eq!(self.state(id), State::Buffered);
        }
        assert!(self.proven().is_empty());
    }
}

pub fn entry(text: &str, created: i64) -> Entry {
    Entry::new(
        text,
        Kind::Insight,
        Some("/p".into()),
        created,
        Source::new(Channel::Cli, Actor::Tool),
    )
}

pub fn link(a: &EntryId, b: &EntryId, descriptor: &str) -> Step {
    let (a, b) = Link::pair(a.clone(), b.clone());
    Step::Link {
        link: Link {
            a,
            b,
            similarity: 0.9,
            cosine: 0.9,
            descriptor: descriptor.into(),
            differing: None,
        },
    }
}

/// A reply in the shape that is asked for.
pub fn merged(text: &str) -> String {
    json!({"entries": [{"kind": "insight", "sources": ["n1", "n2", "n3"], "text": text, "title": "Berth buffer"}]})
        .to_string()
}

/// The tick that merges also connects what it merged; the index follows the store all the same.
#[test]
fn ordinary_ticks_build_no_index_anew() {
    let bench = Bench::new();
    bench.server.replies([Reply::text(merged(GOOD))]);
    let options =
        RunOptions { phases: Phase::ALL.to_vec(), dry_run: false, yes: true, trigger: "run" };
    bench.cluster(&BERTH);
    for n in 0..4 {
        let text = format!("Crane {n} lifts {n}0 tons at the quay");
        bench.perform(vec![Step::Admit { entry: Box::new(entry(&text, NOW - 1_000 + n)) }]);
        let run =
            tick::run(&bench.settings, &bench.paths, Clock::Fixed(NOW + n), &options).unwrap();
        let notes = serde_json::to_string(&run.report.notes).unwrap();
        assert!(!notes.contains("built anew"), "tick {n}: {notes}");
        if n == 0 {
            assert_eq!(bench.proven().len(), 1, "{notes}");
        }
    }
}

#[test]
fn a_cluster_becomes_one_proven_entry_by_one_request() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Success, "{:?}", run.report);
    let proven = bench.proven();
    assert_eq!((proven.len(), proven[0].text.as_str()), (1, GOOD));
    assert_eq!(proven[0].generated_by.as_deref(), Some("standin"));
    assert!(ids.iter().all(|id| bench.state(id) == State::Merged));
    assert_eq!(bench.server.chats().len(), 1);
    let balance = bench.balance();
    assert_eq!((balance.sent, balance.answered, balance.is_settled()), (1, 1, true));
    bench.run();
    assert_eq!(bench.server.chats().len(), 1);
}

#[test]
fn a_server_that_is_away_is_one_note_and_everything_waits() {
    let bench = Bench::with(
        "[consolidate.providers.m]\nkind = \"openai-compatible\"\nurl = \"http://127.0.0.1:9\"\nmodel = \"x\"\n",
    );
    let ids = bench.cluster(&BERTH);
    let more = bench.cluster(&[
        "The API limit is 7",
        "The API limit holds per key",
        "The API limit is stated in a header",
    ]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Incomplete);
    bench.all_buffered(&ids);
    bench.all_buffered(&more);
    assert_eq!(bench.clusters().len(), 2);
    assert!(
        bench.clusters().iter().all(|row| row.attempts == 0 && row.reason.contains("127.0.0.1:9"))
    );
}

#[test]
fn without_a_model_the_sentences_of_the_sources_serve() {
    let bench = Bench::with("[consolidate]\nmodel = \"extractive\"\n");
    let ids = bench.cluster(&BERTH);
    assert_eq!(bench.run().code, ExitCode::Success);
    let proven = bench.proven();
    assert_eq!(proven[0].generated_by.as_deref(), Some("extractive"));
    assert!(proven[0].text.contains("25 m") && proven[0].text.contains("15 m in winter"));
    assert!(ids.iter().all(|id| bench.state(id) == State::Merged));
    assert_eq!(bench.server.chats().len(), 0);
}

#[test]
fn a_chain_that_ends_in_extractive_needs_no_server() {
    let bench = Bench::with("[consolidate]\nmodel = [\"m\", \"extractive\"]\n");
    bench.cluster(&BERTH);
    bench.server.chat_status(500);
    let run = bench.run();
    assert_eq!(bench.proven()[0].generated_by.as_deref(), Some("extractive"));
    let notes = serde_json::to_string(&run.report).unwrap();
    assert!(notes.contains("extractive was taken instead"), "{notes}");
}

#[test]
fn no_model_at_all_makes_clusters_wait_and_a_second_run_writes_nothing() {
    let bench = Bench::with("[consolidate]\nmodel = \"none\"\n");
    let ids = bench.cluster(&BERTH);
    assert_eq!(bench.run().code, ExitCode::Success);
    bench.all_buffered(&ids);
    let steps: i64 = bench.value("SELECT count(*) FROM step");
    bench.run();
    assert_eq!(bench.value::<i64>("SELECT count(*) FROM step"), steps);
}

#[test]
fn a_later_entry_is_merged_from_the_originals() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    bench.run();
    let old = bench.proven()[0].clone();
    let late = entry("Berth buffer is 40 m for gas carriers", NOW);
    let descriptor: String = bench.value("SELECT descriptor FROM vector LIMIT 1");
    bench.perform(vec![
        Step::Admit { entry: Box::new(late.clone()) },
        link(&late.id, &old.id, &descriptor),
    ]);
    bench.server.replies([Reply::with(|request: &Request| {
        let prompt = request.prompt();
        assert!(prompt.contains(BERTH[2]) && !prompt.contains(GOOD), "{prompt}");
        Reply::text(merged(
            "The berth buffer is 25 m, tankers included; 15 m in winter; 40 m for gas carriers.",
        ))
    })]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Success, "{:?}", run.report);
    let proven = bench.proven();
    assert_eq!(proven.len(), 1, "{proven:?}");
    assert!(proven[0].text.contains("40 m"));
    assert_eq!(bench.state(&old.id), State::Merged);
    assert!(ids.iter().chain([&late.id]).all(|id| bench.state(id) == State::Merged));
    let sources: i64 = bench.value("SELECT count(*) FROM provenance WHERE active");
    assert_eq!(sources, 4);
}

#[test]
fn b3_a_cluster_that_keeps_failing_is_stuck_and_still_there() {
    let mut bench = Bench::with("[consolidate]\nstuck_after = 2\nretry_minutes = 10\n");
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text("no JSON today")]);
    assert_eq!(bench.run().code, ExitCode::Incomplete);
    bench.run();
    assert_eq!(bench.server.chats().len(), 1, "not before its time");
    bench.now += 11 * 60_000;
    bench.run();
    let row = bench.clusters().remove(0);
    assert_eq!((row.outcome.as_str(), row.attempts), ("stuck", 2));
    bench.now += 1_000_000_000;
    bench.run();
    assert_eq!(bench.server.chats().len(), 2);
    bench.all_buffered(&ids);
    let reasons: i64 = bench.value("SELECT count(*) FROM call WHERE reason = 'no_object'");
    assert_eq!(reasons, 2);
}

#[test]
fn a_dry_run_asks_and_writes_nothing_but_the_account() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    let run = bench.run_as(true);
    let merges = run.plan.steps.iter().filter(|step| matches!(step.step, Step::Merge { .. }));
    assert_eq!(merges.count(), 1);
    bench.all_buffered(&ids);
    let balance = bench.balance();
    assert_eq!((balance.sent, balance.answered), (1, 1));
    for table in ["quality", "tick WHERE trigger <> 'run' OR id > 1", "cluster"] {
        assert_eq!(bench.value::<i64>(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

#[test]
fn what_was_merged_without_a_model_is_made_anew_once_one_appears() {
    let mut bench = Bench::with("[consolidate]\nmodel = \"extractive\"\n");
    let ids = bench.cluster(&BERTH);
    bench.run();
    let old = bench.proven()[0].id.clone();
    bench.settings.consolidate.model = "m".into();
    bench.server.chat_status(500);
    assert_eq!(bench.run().code, ExitCode::Success, "the old merge stays");
    assert_eq!(bench.state(&old), State::Proven);
    bench.server.chat_status(200).replies([Reply::text(merged(GOOD))]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!((bench.proven().len(), bench.proven()[0].text.as_str()), (1, GOOD));
    assert_eq!(bench.state(&old), State::Merged);
    assert!(ids.iter().all(|id| bench.state(id) == State::Merged));
    let asked = bench.server.chats().len();
    bench.run();
    assert_eq!(bench.server.chats().len(), asked);
}
