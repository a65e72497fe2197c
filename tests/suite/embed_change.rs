//! From one model to the next, and a scale measured on the user's own entries.

use crate::embed::models_folder;
use crate::support::Home;
use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Settings};
use lifecycle::embed::{Calibration, Catalog, Embedder, Measured};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{Context, Mode, serving};
use std::path::PathBuf;

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3-tiny");

/// A store of its own with the small model and the tiny one.
struct Place {
    home: Home,
    paths: Paths,
    settings: Settings,
}

impl Place {
    fn new() -> Self {
        let mut home = Home::new();
        let models = home.store().join("models");
        std::fs::create_dir_all(models.join("tiny")).unwrap();
        for part in ["onnxruntime", "all-minilm-l6-v2"] {
            std::os::unix::fs::symlink(models_folder().join(part), models.join(part)).unwrap();
        }
        let mut files = String::new();
        for name in ["model.onnx", "tokenizer.json"] {
            let from = PathBuf::from(TINY).join(name);
            let bytes = std::fs::copy(&from, models.join("tiny").join(name)).unwrap();
            files += &format!(
                "[[files]]\nname = '{name}'\nbytes = {bytes}\nsha256 = '{}'\n\
                 [files.origin]\nmade = 'by hand'\n",
                "0".repeat(64)
            );
        }
        let text = format!(
            "name = 'tiny'\nlicence = 'MIT'\ndtype = 'f32'\ndimensions = 64\nmax_tokens = 256\n\
             pooling = 'last-token'\npadding = 'none'\nbatch_invariant = false\n{files}"
        );
        std::fs::write(models.join("tiny.toml"), text).unwrap();
        home.set("LIFECYCLE_MODELS", models.to_str().unwrap());
        let paths = Paths {
            data: home.store(),
            config_file: home.path().join("home/.config/lifecycle/config.toml"),
            home: home.path().join("home"),
        };
        let mut settings = Layers::defaults().settings().unwrap();
        settings.embed.serve = lifecycle::config::Serve::Off;
        settings.embed.onnxruntime =
            lifecycle::embed::runtime::installed_library(&models_folder()).display().to_string();
        Self { home, paths, settings }
    }

    fn store(&self) -> Store {
        Store::open(&self.paths, &self.settings).unwrap()
    }

    fn context(&self) -> Context<'_> {
        let clock = Clock::Fixed(1_000_000_000_000);
        Context::new(self.store(), &self.settings, &self.paths, clock, Mode::Live, "run")
    }

    /// The identity of the small model, and of the tiny one.
    fn ids(&self) -> (String, String) {
        let catalog = Catalog::load(&self.paths).unwrap();
        (catalog.get("all-minilm-l6-v2").unwrap().id(), catalog.get("tiny").unwrap().id())
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
    let (small, tiny) = place.ids();
    place.fill(5, &small, 384);
    assert_eq!(place.serving_id(), small);
    place.settings.embed.model = "tiny".into();
    place.settings.embed.refill_entries = 3;
    assert_eq!(place.serving_id(), small, "nothing is embedded with the new one yet");

    let mut first = place.context();
    serving::refill(&mut first).unwrap();
    assert!(first.notes[0].text.contains("2 entries are yet to be embedded"), "{:?}", first.notes);
    assert_eq!(place.serving_id(), small, "never a mixture");

    let mut second = place.context();
    serving::refill(&mut second).unwrap();
    assert_eq!(place.serving_id(), tiny);
    let mut third = place.context();
    serving::refill(&mut third).unwrap();
    assert!(third.notes.is_empty(), "there is nothing left to do: {:?}", third.notes);
}

#[test]
fn a_change_of_mind_needs_no_repair() {
    let mut place = Place::new();
    let (small, _) = place.ids();
    place.fill(4, &small, 384);
    place.settings.embed.model = "tiny".into();
    place.settings.embed.refill_entries = 2;
    serving::refill(&mut place.context()).unwrap();
    place.settings.embed.model = "all-minilm-l6-v2".into();
    assert_eq!(place.serving_id(), small);
}

#[test]
fn an_old_model_that_is_gone_does_not_block_the_new_one() {
    let place = Place::new();
    let (small, _) = place.ids();
    place.fill(4, "removed@0123456789ab", 8);
    assert_eq!(place.serving_id(), small);
}

#[test]
fn a_scale_measured_on_two_projects_is_used_from_then_on() {
    let place = Place::new();
    let (small, _) = place.ids();
    place.fill(240, &small, 384);
    let shown = place.home.json(&["model", "calibrate", "--dry-run"]);
    assert_eq!(shown["saved"], false);
    assert_eq!(Measured::load(&place.paths, &small).unwrap(), None);
    let outcome = place.home.json(&["model", "calibrate"]);
    assert_eq!((&outcome["entries"], &outcome["saved"]), (&240.into(), &true.into()));
    assert_eq!(outcome["pairs"], 120 * 120);
    assert!(outcome["check_in_use"]["precision"]["hits"].as_u64().unwrap() > 50);
    let measured = Measured::load(&place.paths, &small).unwrap().unwrap();
    let embedder = serving::open(place.store().reader(), &place.settings, &place.paths).unwrap();
    assert_eq!(embedder.descriptor().calibration, measured.calibration);
    assert_eq!(embedder.descriptor().id(), small, "a scale changes no identity");
}

#[test]
fn few_entries_keep_the_shipped_scale() {
    let place = Place::new();
    let (small, _) = place.ids();
    place.fill(50, &small, 384);
    let outcome = place.home.run(&["model", "calibrate"]).success();
    assert!(outcome.out.contains("nothing was measured"), "{}", outcome.out);
    assert_eq!(Measured::load(&place.paths, &small).unwrap(), None);
}

#[test]
fn a_line_that_no_pair_reaches_is_said_in_every_report() {
    let place = Place::new();
    let (small, _) = place.ids();
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
