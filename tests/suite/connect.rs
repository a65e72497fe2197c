//! The connect phase over a real store with the real model.

use crate::support::models;
use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Origin, Settings};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store, links};
use lifecycle::tick::{self, Run, RunOptions, connect::graph};
use lifecycle_phases::cluster::group;
use lifecycle_phases::{
    Actor, Channel, Differing, Entry, Kind, Phase, PlannedStep, Source, State, Step,
};

struct World {
    folder: tempfile::TempDir,
    settings: Settings,
}

impl World {
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        std::os::unix::fs::symlink(models(), data.join("models")).unwrap();
        let mut layers = Layers::defaults();
        layers.merge_text(settings, Origin::Flag).unwrap();
        Self { folder, settings: layers.settings().unwrap() }
    }

    fn paths(&self) -> Paths {
        let root = self.folder.path();
        Paths { data: root.join("data"), config_file: root.join("c.toml"), home: root.into() }
    }

    fn store(&self) -> Store {
        Store::open(&self.paths(), &self.settings).unwrap()
    }

    fn perform(&self, steps: Vec<PlannedStep>) {
        tick::by_hand(&self.settings, &self.paths(), Clock::Fixed(1), "run", steps).unwrap();
    }

    fn add(&self, project: Option<&str>, texts: &[&str]) -> Vec<Entry> {
        let entry = |text: &&str| {
            let source = Source::new(Channel::Cli, Actor::User);
            Entry::new(text, Kind::Insight, project.map(Into::into), 1, source)
        };
        let entries: Vec<Entry> = texts.iter().map(entry).collect();
        let admit = |entry: &Entry| {
            let step = Step::Admit { entry: Box::new(entry.clone()) };
            PlannedStep::new(Phase::Buffer, step, "test")
        };
        self.perform(entries.iter().map(admit).collect());
        entries
    }

    fn connect(&self, dry_run: bool) -> Run {
        self.run(vec![Phase::Connect], dry_run)
    }

    fn run(&self, phases: Vec<Phase>, dry_run: bool) -> Run {
        let options = RunOptions { phases, dry_run, yes: false, trigger: "run" };
        tick::run(&self.settings, &self.paths(), Clock::Fixed(2), &options).unwrap()
    }

    /// Entries of the components that the next run looks at for clusters.
    fn looked_at(&self) -> usize {
        let (store, descriptor) = (self.store(), self.descriptor());
        let seeds = graph::touched(store.reader(), &descriptor, &self.settings).unwrap();
        graph::load_components(store.reader(), &descriptor, &seeds).unwrap().entries.len()
    }

    fn descriptor(&self) -> String {
        store::descriptors(self.store().reader()).unwrap().pop().unwrap()
    }

    fn links(&self) -> Vec<links::StoredLink> {
        links::links(self.store().reader(), &self.descriptor(), None).unwrap()
    }
}

const QUAY: &[&str] = &[
    "The quay gate times out because the lock is held across an await",
    "Quay gate timeouts: a lock stays held over an await point",
    "Root cause of the quay gate timeout is a lock kept across await",
    "Invoices are rounded to whole cents before tax",
];

#[test]
fn restatements_link_and_cluster_and_a_stranger_stays_alone() {
    let world = World::new("");
    let entries = world.add(Some("/p"), QUAY);
    let run = world.connect(false);
    assert_eq!(run.plan.steps.iter().filter(|s| s.step.name() == "embed").count(), 4);
    assert_eq!(world.links().len(), 3);
    let store = world.store();
    let all = graph::load_graph(store.reader(), &world.descriptor(), Some("/p")).unwrap();
    let grouping = group(&all.graph, graph::cluster_settings(&world.settings));
    assert_eq!(grouping.clusters.len(), 1);
    assert_eq!(grouping.clusters[0].members.len(), 3);
    assert_eq!(grouping.isolated, [entries[3].id.clone()]);
    let seed = store::seq_of(store.reader(), &entries[0].id).unwrap();
    let part = graph::load_components(store.reader(), &world.descriptor(), &[seed]).unwrap();
    assert_eq!(part.entries.len(), 3);
}

#[test]
fn a_second_run_does_nothing_and_a_dry_run_plans_the_same() {
    let world = World::new("");
    world.add(Some("/p"), QUAY);
    let dry = world.connect(true);
    let live = world.connect(false);
    assert_eq!(dry.plan.steps, live.plan.steps);
    let before = std::fs::read(world.paths().database()).unwrap();
    assert!(world.connect(false).plan.steps.is_empty());
    assert_eq!(std::fs::read(world.paths().database()).unwrap(), before);
}

#[test]
fn entries_that_come_one_by_one_get_the_same_links() {
    let (together, apart) = (World::new(""), World::new(""));
    together.add(Some("/p"), QUAY);
    together.connect(false);
    for text in QUAY.iter().rev() {
        apart.add(Some("/p"), &[text]);
        apart.connect(false);
    }
    let pairs = |world: &World| {
        let mut pairs: Vec<_> =
            world.links().into_iter().map(|stored| (stored.link.a, stored.link.b)).collect();
        pairs.sort();
        pairs
    };
    assert_eq!(pairs(&together), pairs(&apart));
}

#[test]
fn projects_do_not_link_and_no_project_is_one_of_its_own() {
    let world = World::new("");
    world.add(Some("/p"), &QUAY[..1]);
    world.add(Some("/q"), &QUAY[1..2]);
    world.add(None, &QUAY[2..3]);
    world.connect(false);
    assert!(world.links().is_empty());
}

#[test]
fn what_one_number_changes_is_marked() {
    let world = World::new("");
    world.add(
        None,
        &["The staging API listens on port 8080", "The staging API listens on port 8081"],
    );
    world.connect(false);
    assert_eq!(world.links()[0].link.differing, Some(Differing::Number));
}

#[test]
fn a_restored_entry_is_linked_again_without_the_model() {
    let world = World::new("");
    let entries = world.add(Some("/p"), QUAY);
    world.connect(false);
    let id = entries[0].id.clone();
    let set = |from, to| {
        let step = Step::SetState { entry: id.clone(), from, to };
        world.perform(vec![PlannedStep::new(Phase::Age, step, "test")]);
    };
    set(State::Buffered, State::Expired);
    assert_eq!(world.links().len(), 1);
    set(State::Expired, State::Buffered);
    let run = world.connect(false);
    assert_eq!(run.plan.steps[0].reason, "its vector was known");
    assert_eq!(world.links().len(), 3);
}

#[test]
fn a_server_that_is_down_is_said_once_and_counts_against_no_entry() {
    let world = World::new("[embed]\nurl = \"http://127.0.0.1:9\"\n");
    world.add(Some("/p"), QUAY);
    let run = world.connect(false);
    assert!(run.plan.steps.is_empty());
    assert_eq!(run.code as u8, 6);
    assert_eq!(run.report.notes.len(), 1);
    let store = world.store();
    let failures: i64 =
        store.reader().query_row("SELECT count(*) FROM embed_failure", [], |r| r.get(0)).unwrap();
    assert_eq!(failures, 0);
}

const PAIRS: &[&str] = &[
    "The tide table is refreshed by the cron job of the harbour office",
    "The harbour office refreshes the tide table by a cron job",
    "Crane telemetry is sampled twice a second and stored in parquet files",
    "Crane telemetry goes to parquet files and is sampled twice a second",
];

#[test]
fn only_the_components_that_a_run_touched_are_looked_at_again() {
    let world = World::new("");
    world.add(Some("/p"), PAIRS);
    let all = || vec![Phase::Buffer, Phase::Connect, Phase::Consolidate];
    world.run(all(), false);
    assert_eq!(world.links().len(), 2);
    world.add(Some("/p"), &["Visitors sign the paper book at the gate"]);
    world.run(all(), false);
    assert_eq!(world.looked_at(), 0, "a newcomer without a link, and neither of the pairs");
    world.add(Some("/p"), &["The cron job at the harbour office refreshes the tide table"]);
    world.connect(false);
    assert_eq!(world.looked_at(), 3, "the newcomer and the pair that it is linked to");
    assert!(world.run(all(), false).plan.steps.iter().any(|step| step.step.name() == "merge"));
}

#[test]
fn other_settings_of_clusters_look_at_everything() {
    let mut world = World::new("");
    world.add(Some("/p"), PAIRS);
    let all = || vec![Phase::Buffer, Phase::Connect, Phase::Consolidate];
    world.run(all(), false);
    world.add(Some("/p"), &["Visitors sign the paper book at the gate"]);
    world.run(all(), false);
    world.settings.consolidate.min_cluster = 2;
    assert_eq!(world.looked_at(), 4);
    let run = world.run(all(), false);
    assert_eq!(run.plan.steps.iter().filter(|step| step.step.name() == "merge").count(), 2);
}

/// A line of a tool that no shipped rule knows.
const ROLLOUTS: &[&str] = &[
    "kestrel finished rollout of billing-api onto sapphire by mareike",
    "kestrel finished rollout of ledger-sync onto obsidian by tobiasz",
    "kestrel finished rollout of webhooks onto sapphire by ngozi",
    "kestrel finished rollout of imgproxy onto garnet by mareike",
    "kestrel finished rollout of authz onto obsidian by ilse",
    "kestrel finished rollout of geocoder onto garnet by ngozi",
];

#[test]
fn a_template_is_learned_from_its_copies_whether_they_come_at_once_or_one_by_one() {
    let (together, apart) = (World::new(""), World::new(""));
    together.add(Some("/p"), ROLLOUTS);
    together.connect(false);
    for text in ROLLOUTS {
        apart.add(Some("/p"), &[text]);
        apart.connect(false);
    }
    apart.connect(false);
    for world in [together, apart] {
        let store = world.store();
        let templates = store::templates(store.reader()).unwrap();
        assert_eq!(
            templates.texts().collect::<Vec<_>>(),
            ["kestrel finished rollout of * onto * by *"]
        );
        assert_eq!(world.links(), [], "no copy is about the same as another");
        let copies = store::copies(store.reader(), 1).unwrap().unwrap();
        assert_eq!((copies.learned, copies.count, copies.newest), (true, 6, false));
    }
}

#[test]
fn copies_of_a_template_fade_but_for_the_newest_and_all_stay_with_a_protected_one() {
    for protected in [false, true] {
        let world = World::new("[age]\nnewer_entries = 1\n");
        let entries = world.add(Some("/p"), ROLLOUTS);
        if protected {
            let step = Step::Protect { entry: entries[2].id.clone(), from: false, to: true };
            world.perform(vec![PlannedStep::new(Phase::Buffer, step, "test")]);
        }
        world.connect(false);
        world.add(Some("/p"), &["Visitors sign the paper book at the gate"]);
        world.run(vec![Phase::Connect, Phase::Age], false);
        let store = world.store();
        let gone = |entry: &&Entry| {
            let stored = store::entry_by_id(store.reader(), &entry.id).unwrap().unwrap();
            stored.entry.state == State::Expired
        };
        let gone = entries.iter().filter(gone).count();
        assert_eq!(gone, if protected { 0 } else { 5 });
    }
}

#[test]
fn chatter_is_linked_to_nothing() {
    let world = World::new("");
    world.add(
        Some("/p"),
        &[
            "ok, go on",
            "ok, importer done",
            "ok, importer fine",
            "ok, done for now",
            "thanks, go on",
        ],
    );
    world.connect(false);
    assert_eq!(world.links(), []);
}
