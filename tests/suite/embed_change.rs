//! From one model to the next, and a scale measured on the user's own entries.

use crate::embed::models_folder;
use crate::embed_server::{StandIn, sound};
use crate::support::Home;
use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Settings};
use lifecycle::embed::{Calibration, Catalog, Measured};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{Context, Mode, serving};

/// A store of its own, and a server with another model than the small one.
struct Place {
    home: Home,
    paths: Paths,
    settings: Settings,
    server: StandIn,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let paths = Paths {
            data: home.store(),
            config_file: home.path().join("home/.config/lifecycle/config.toml"),
            home: home.path().join("home"),
        };
        let mut settings = Layers::defaults().settings().unwrap();
        settings.embed.serve = lifecycle::config::Serve::Off;
        let server =
            StandIn::new(|texts| sound(texts, |text| serde_json::json!(made_up(text.len(), 64))));
        Self { home, paths, settings, server }
    }

    /// Chooses the server's model; returns its identity.
    fn choose_other(&mut self) -> String {
        self.settings.embed.url = self.server.url.clone();
        let embedder = lifecycle::embed::open(&self.settings, &self.paths).unwrap();
        embedder.descriptor().id()
    }

    fn store(&self) -> Store {
        Store::open(&self.paths, &self.settings).unwrap()
    }

    fn context(&self) -> Context<'_> {
        let clock = Clock::Fixed(1_000_000_000_000);
        Context::new(self.store(), &self.settings, &self.paths, clock, Mode::Live, "run")
    }

    /// The identity of the small model.
    fn small(&self) -> String {
        Catalog::load(&self.paths).unwrap().get("all-minilm-l6-v2").unwrap().id()
    }

    fn serving_id(&self) -> String {
        let embedder = serving::open(self.store().reader(), &self.settings, &self.paths).unwrap();
        embedder.descriptor().id()
    }

    /// Entries with a made-up vector under `descriptor`, spread over two projects.
    fn fill(&self, count: usize, descriptor: &str, dimensions: usize) {
        self.store()
            .write(|tx| {
                for n in 0..count {
                    tx.execute(
                        "INSERT INTO entry (id, text, content_hash, kind, project, state,
                             state_at, created, channel, actor)
                         VALUES (?1, ?2, ?1, 'insight', ?3, 'buffered', 0, 0, 'cli', 'user')",
                        (format!("{n:016x}"), made_up_words(n), format!("/p{}", n % 2)),
                    )?;
                    let seq = tx.last_insert_rowid();
                    store::put_vector(tx, seq, descriptor, "hash", &made_up(n, dimensions))?;
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Six words that no other text has, so that nothing takes them for copies of a form.
pub fn made_up_words(n: usize) -> String {
    let hash = blake3::hash(&n.to_le_bytes());
    let syllable = |byte: &u8| {
        let (consonants, vowels) = (b"bdfgklmnprstvwz", b"aeiou");
        let at = usize::from(*byte);
        [consonants[at % 15] as char, vowels[at / 15 % 5] as char].iter().collect::<String>()
    };
    let words = hash.as_bytes()[..24].chunks(4);
    words.map(|word| word.iter().map(syllable).collect()).collect::<Vec<String>>().join(" ")
}

/// A unit vector that shares one direction with all others, and another with its neighbours.
fn made_up(n: usize, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    vector[0] = 0.4;
    vector[1 + n % 40] = 0.9;
    vector[41 + (n * 7) % 20] = 0.3 + (n % 11) as f32 / 40.0;
    lifecycle::embed::unit(vector, dimensions).unwrap()
}

#[test]
fn the_old_model_serves_until_the_new_one_has_every_entry() {
    let mut place = Place::new();
    let small = place.small();
    place.fill(5, &small, 384);
    assert_eq!(place.serving_id(), small);
    let other = place.choose_other();
    place.settings.embed.refill_entries = 3;
    assert_eq!(place.serving_id(), small, "nothing is embedded with the new one yet");

    let mut first = place.context();
    serving::refill(&mut first).unwrap();
    assert!(first.notes[0].text.contains("2 entries are yet to be embedded"), "{:?}", first.notes);
    assert_eq!(place.serving_id(), small, "never a mixture");

    let mut second = place.context();
    serving::refill(&mut second).unwrap();
    assert_eq!(place.serving_id(), other);
    let mut third = place.context();
    serving::refill(&mut third).unwrap();
    assert!(third.notes.is_empty(), "there is nothing left to do: {:?}", third.notes);
}

#[test]
fn a_change_of_mind_needs_no_repair() {
    let mut place = Place::new();
    let small = place.small();
    place.fill(4, &small, 384);
    place.choose_other();
    place.settings.embed.refill_entries = 2;
    serving::refill(&mut place.context()).unwrap();
    place.settings.embed.url.clear();
    assert_eq!(place.serving_id(), small);
}

#[test]
fn an_old_model_that_is_gone_does_not_block_the_new_one() {
    let place = Place::new();
    let small = place.small();
    place.fill(4, "removed@0123456789ab", 64);
    assert_eq!(place.serving_id(), small);
}

/// `model calibrate` with the server's model, whose vectors cost nothing.
fn calibrate(place: &Place, more: &[&str]) -> serde_json::Value {
    let url = format!("embed.url={}", place.server.url);
    let mut args = vec!["model", "calibrate", "--set", &url];
    args.extend(more);
    place.home.json(&args)
}

#[test]
fn a_scale_measured_on_two_projects_is_used_from_then_on() {
    let mut place = Place::new();
    let other = place.choose_other();
    place.fill(240, &other, 64);
    assert_eq!(calibrate(&place, &["--dry-run"])["saved"], false);
    assert_eq!(Measured::load(&place.paths, &other).unwrap(), None);
    let outcome = calibrate(&place, &[]);
    assert_eq!((&outcome["entries"], &outcome["saved"]), (&240.into(), &true.into()));
    assert_eq!(outcome["pairs"], 120 * 120);
    assert_eq!(outcome["check_in_use"]["recall"]["of"], 160);
    let measured = Measured::load(&place.paths, &other).unwrap().unwrap();
    let embedder = serving::open(place.store().reader(), &place.settings, &place.paths).unwrap();
    assert_eq!(embedder.descriptor().calibration, measured.calibration);
    assert_eq!(embedder.descriptor().id(), other, "a scale changes no identity");
}

#[test]
fn few_entries_keep_the_shipped_scale() {
    let mut place = Place::new();
    let other = place.choose_other();
    place.fill(50, &other, 64);
    assert_eq!(calibrate(&place, &[])["measured"], serde_json::Value::Null);
    assert_eq!(Measured::load(&place.paths, &other).unwrap(), None);
}

/// The text of a report without line breaks and without the signs that Markdown and HTML need.
fn flat(text: &str) -> String {
    let plain = text.replace('\\', "").replace("&#64;", "@");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_line_that_no_pair_reaches_is_said_in_every_report() {
    let place = Place::new();
    let small = place.small();
    place.fill(3, &small, 384);
    let calibration = Calibration { mean: 0.1, link: 0.5, cluster: 0.6 };
    let measured = Measured { calibration, highest: 0.2, entries: 300, pairs: 9000, at: 0 };
    measured.save(&place.paths, &small).unwrap();
    let dead = "can never be reached under all-minilm-l6-v2";
    for form in ["text", "markdown", "json", "html"] {
        let shown = flat(&place.home.run(&["run", "--dry-run", "--format", form]).success().out);
        for key in ["connect.link_similarity", "consolidate.cluster_similarity"] {
            assert!(shown.contains(&format!("{key} = 0.")), "{form}: {shown}");
        }
        assert!(shown.contains(dead), "{form}: {shown}");
    }
    // A run with nothing to connect, of another phase alone, says it too.
    place.home.run(&["run"]).success();
    for args in [vec!["run"], vec!["run", "--phase", "age"], vec!["report"]] {
        let shown = flat(&place.home.run(&args).success().out);
        assert!(shown.contains(dead), "{args:?}: {shown}");
    }
    // Words in common lift a pair: this line is low, but not dead.
    Measured { highest: 0.45, ..measured }.save(&place.paths, &small).unwrap();
    let shown = flat(&place.home.run(&["run"]).success().out);
    assert!(!shown.contains("connect.link_similarity ="), "{shown}");
    assert!(shown.contains("consolidate.cluster_similarity = 0.89 can never"), "{shown}");
}

/// Texts of both ends, cosine and similarity of every link.
fn links(home: &Home) -> Vec<(String, String, f32, f32)> {
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let mut query = connection
        .prepare(
            "SELECT x.text, y.text, l.cosine, l.similarity FROM link l
             JOIN entry x ON x.seq = l.a JOIN entry y ON y.seq = l.b WHERE l.active",
        )
        .unwrap();
    let rows = query
        .query_map([], |row| {
            let (x, y): (String, String) = (row.get(0)?, row.get(1)?);
            let (x, y) = if x < y { (x, y) } else { (y, x) };
            Ok((x, y, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    let mut links: Vec<_> = rows.map(Result::unwrap).collect();
    links.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    links
}

const NOTES: [&str; 6] = [
    "The API listens on port 8080 in every environment",
    "Port 8080 is where the API listens",
    "In staging the API uses port 8080 as well",
    "Migrations run in CI only, never from a laptop",
    "Nobody runs a migration by hand; CI does it",
    "The harbour map is drawn with the tiles of last year",
];

fn noted() -> Home {
    let home = Home::new();
    for note in NOTES {
        home.run(&["add", note]).success();
    }
    home
}

fn paths_of(home: &Home) -> Paths {
    Paths {
        data: home.store(),
        config_file: home.path().join("home/.config/lifecycle/config.toml"),
        home: home.path().join("home"),
    }
}

/// A scale for the small model with this link line.
fn scale_with(home: &Home, link: f32) {
    let id = Catalog::shipped().get("all-minilm-l6-v2").unwrap().id();
    let calibration = Calibration { mean: 0.1, link, cluster: link + 0.1 };
    let measured = Measured { calibration, highest: 0.99, entries: 300, pairs: 9000, at: 0 };
    measured.save(&paths_of(home), &id).unwrap();
}

const CONNECT: [&str; 5] = ["run", "--phase", "buffer", "--phase", "connect"];

#[test]
fn links_follow_a_new_scale_as_if_it_had_always_been_there() {
    for link in [0.3, 0.62] {
        let fresh = noted();
        std::fs::create_dir_all(fresh.store()).unwrap();
        scale_with(&fresh, link);
        fresh.run(&CONNECT).success();
        let home = noted();
        home.run(&CONNECT).success();
        let before = links(&home);
        scale_with(&home, link);
        let run = home.run(&CONNECT).success();
        assert!(flat(&run.out).contains("the scale of all-minilm-l6-v2"), "{}", run.out);
        assert_ne!(links(&home), before, "{link}");
        assert_eq!(links(&home), links(&fresh), "{link}");
        let again = home.run(&CONNECT).success();
        assert!(!flat(&again.out).contains("the scale of"), "{}", again.out);
    }
}

#[test]
fn calibrate_brings_the_links_to_the_scale_it_measured() {
    let mut place = Place::new();
    let other = place.choose_other();
    place.fill(240, &other, 64);
    let url = format!("embed.url={}", place.server.url);
    place.home.run(&["run", "--phase", "connect", "--set", &url]).success();
    let before = links(&place.home);
    assert!(!before.is_empty());
    let outcome = calibrate(&place, &[]);
    let scale = Measured::load(&place.paths, &other).unwrap().unwrap().calibration;
    let scale = lifecycle_phases::connect::Scale { mean: scale.mean, link: scale.link };
    let after = links(&place.home);
    let count = |field: &str| outcome["links"][field].as_u64().unwrap() as usize;
    assert_eq!(after.len() + count("dropped"), before.len());
    assert!(count("changed") > 0 || count("dropped") > 0, "{outcome}");
    let profile = lifecycle_phases::connect::Profile::of;
    for (a, b, cosine, similarity) in &after {
        let wanted =
            lifecycle_phases::connect::similarity(scale, *cosine, &profile(a), &profile(b));
        assert!((similarity - wanted).abs() < 1e-6 && wanted >= 0.75, "{similarity} {wanted}");
    }
}

#[test]
fn no_text_is_embedded_twice_under_one_model() {
    let mut place = Place::new();
    place.choose_other();
    let url = format!("embed.url={}", place.server.url);
    for project in ["p", "q"] {
        std::fs::create_dir_all(place.home.path().join(project)).unwrap();
        for note in &NOTES[..2] {
            place.home.run(&["add", note, "--project", project]).success();
        }
    }
    let asked = |place: &Place| -> Vec<String> { place.server.requests().concat() };
    place.home.run(&["run", "--phase", "buffer", "--phase", "connect", "--set", &url]).success();
    let mut first = asked(&place);
    first.sort();
    let mut wanted = NOTES[..2].to_vec();
    wanted.sort();
    assert_eq!(first, wanted, "four entries, two texts");
    // The small model in between, and back: its vectors are still there.
    place.home.run(&["run"]).success();
    place.home.run(&["run", "--set", &url]).success();
    assert_eq!(asked(&place).len(), 2);
}

/// A home with both models, the notes connected under the small one, and the tiny one chosen.
fn changing() -> Home {
    let home = crate::embed_pull::home(None);
    let small = models_folder().join("all-minilm-l6-v2");
    std::os::unix::fs::symlink(small, home.path().join("models/all-minilm-l6-v2")).unwrap();
    home.run(&["model", "pull", "tiny", "--from", crate::embed_pull::TINY]).success();
    for note in NOTES {
        home.run(&["add", note]).success();
    }
    home.run(&CONNECT).success();
    home.run(&["model", "use", "tiny"]).success();
    // For this process, whose own models folder has no such description.
    let beside = home.path().join("home/.config/lifecycle/models");
    std::fs::create_dir_all(&beside).unwrap();
    std::fs::copy(home.path().join("models/tiny.toml"), beside.join("tiny.toml")).unwrap();
    home
}

/// Entries with a vector of the tiny model, and the name of the model that serves.
fn progress(home: &Home) -> (usize, String) {
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let sql = "SELECT count(*) FROM vector WHERE descriptor LIKE 'tiny@%'";
    let done: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let paths = paths_of(home);
    let mut settings = Layers::defaults().settings().unwrap();
    settings.embed.model = "tiny".into();
    settings.embed.serve = lifecycle::config::Serve::Off;
    let store = Store::open(&paths, &settings).unwrap();
    let serving = serving::open(store.reader(), &settings, &paths).unwrap();
    (done as usize, serving.descriptor().name.clone())
}

const REFILL: [&str; 7] =
    ["run", "--phase", "buffer", "--phase", "connect", "--set", "embed.refill_entries=1"];

#[test]
fn a_change_of_model_goes_on_after_every_kill_and_never_mixes() {
    let home = changing();
    let (mut kills, mut most) = (0, 0);
    for at in (1..=3).cycle().take(60) {
        let fault = format!("kill@{at}");
        let run = home.command(&REFILL).env("LIFECYCLE_FAULT", fault).output().unwrap();
        kills += usize::from(!run.status.success());
        let (done, serving) = progress(&home);
        assert!(done >= most, "what was embedded stays");
        most = done;
        let wanted = if done < NOTES.len() { "all-minilm-l6-v2" } else { "tiny" };
        assert_eq!(serving, wanted, "after {done} entries");
        if done == NOTES.len() {
            break;
        }
    }
    assert!(kills > 3 && most == NOTES.len(), "{kills} kills, {most} entries");
    let undisturbed = changing();
    for _ in 0..8 {
        undisturbed.run(&REFILL).success();
        home.run(&REFILL).success();
    }
    assert_eq!(links(&home), links(&undisturbed));
    assert_eq!(progress(&undisturbed), (NOTES.len(), "tiny".into()));
}
