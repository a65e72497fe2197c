//! From one model to the next, and a scale measured on the user's own entries.

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
                        (format!("{n:016x}"), format!("note {n}"), format!("/p{}", n % 2)),
                    )?;
                    let seq = tx.last_insert_rowid();
                    store::put_vector(tx, seq, descriptor, "hash", &made_up(n, dimensions))?;
                }
                Ok(())
            })
            .unwrap();
    }
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

#[test]
fn a_line_that_no_pair_reaches_is_said_in_every_report() {
    let place = Place::new();
    let small = place.small();
    place.fill(3, &small, 384);
    let calibration = Calibration { mean: 0.1, link: 0.5, cluster: 0.6 };
    let measured = Measured { calibration, highest: 0.45, entries: 300, pairs: 9000, at: 0 };
    measured.save(&place.paths, &small).unwrap();
    for _ in 0..2 {
        let mut ctx = place.context();
        serving::refill(&mut ctx).unwrap();
        let text = &ctx.notes[0].text;
        assert!(text.contains("cosine 0.500") && text.contains("0.450 at most"), "{text}");
    }
}
