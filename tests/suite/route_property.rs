//! A property of the whole: whatever is routed, brought up to date, withdrawn and undone, outside of
//! our lines every byte of a file is the original's, and undoing everything gives the original file.

use crate::support::Home;
use lifecycle::store::{Store, routes};
use lifecycle::targets::{self, Format};
use lifecycle_phases::EntryId;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Act {
    /// The service has the port: the first time a new line, later another value for it.
    Say(usize, u16),
    Forget(usize),
    Undo,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..3usize, 1000..1004u16).prop_map(|(service, port)| Act::Say(service, port)),
        1 => (0..3usize).prop_map(Act::Forget),
        1 => Just(Act::Undo),
    ];
    proptest::collection::vec(act, 2..6)
}

const SERVICES: [&str; 3] = ["crane gateway", "tide importer", "berth planner"];

struct World {
    home: Home,
    path: PathBuf,
    original: String,
    format: Format,
    key: Vec<String>,
    entries: Vec<Vec<EntryId>>,
}

impl World {
    fn new(name: &str, key: &str, original: &str) -> Self {
        let home = Home::new();
        if !key.is_empty() {
            home.name_target(name, key);
        }
        home.put(name, original);
        let path = home.project().join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let key = key.split('.').filter(|part| !part.is_empty()).map(str::to_string).collect();
        let format = Format::of(&path).unwrap();
        let original = original.to_string();
        Self { home, path, original, format, key, entries: vec![Vec::new(); 3] }
    }

    fn perform(&mut self, act: &Act) {
        match act {
            Act::Say(service, port) => {
                let text = format!("The {} listens on port {port}", SERVICES[*service]);
                let project = self.home.project();
                self.entries[*service].push(self.home.prove(Some(&project), &text));
            }
            Act::Forget(service) => {
                if let Some(id) = self.entries[*service].last() {
                    self.home.run(&["forget", id.as_str()]);
                }
            }
            Act::Undo => {
                self.home.run(&["undo"]);
                return;
            }
        }
        self.home.route();
    }

    /// The file without the lines that the store says are ours.
    fn outside(&self) -> String {
        let store = Store::open_file(&self.home.database(), Duration::from_secs(5)).unwrap();
        let ours: Vec<String> =
            routes::written(store.reader()).unwrap().into_iter().map(|row| row.line).collect();
        let bytes = std::fs::read(&self.path).unwrap();
        let rest = targets::strip(self.format, &bytes, &self.key, &ours).unwrap();
        String::from_utf8(rest).unwrap()
    }

    fn undo_all(&self) {
        for _ in 0..40 {
            if self.home.run(&["undo"]).code != 0 {
                return;
            }
        }
        panic!("there is no end of ticks to undo");
    }
}

fn holds(name: &str, key: &str, originals: &'static [&'static str]) {
    let config = Config { cases: 4, failure_persistence: None, ..Config::default() };
    let strategy = (proptest::sample::select(originals), acts());
    let outcome = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
    .run(&strategy, |(original, acts)| {
        let mut world = World::new(name, key, original);
        for act in &acts {
            world.perform(act);
            prop_assert_eq!(world.outside(), world.original.clone(), "after {:?}", act);
        }
        let modified = world.path.metadata().unwrap().modified().unwrap();
        world.home.route();
        prop_assert_eq!(world.path.metadata().unwrap().modified().unwrap(), modified);
        world.undo_all();
        prop_assert_eq!(std::fs::read_to_string(&world.path).unwrap(), world.original);
        let mode = world.path.metadata().unwrap().permissions().mode();
        prop_assert_eq!(mode & 0o777, 0o640);
        prop_assert_eq!(world.home.files().len(), 1);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn in_markdown() {
    holds(
        "CLAUDE.md",
        "",
        &[
            "# p\n\n- Use pnpm\n\n## Services\n\n- The mail service listens on port 2525\n\n```\n# code\n```\n",
            "\u{feff}# p\r\n\r\n## Ports\r\n\r\n- Ports are listed here\r\n- One port a service",
            "---\npaths:\n  - \"src/**\"\n---\n\n@AGENTS.md\n\nServices and their ports.\n",
        ],
    );
}

#[test]
fn in_toml() {
    holds(
        "notes.toml",
        "facts.ports",
        &[
            "# mine\ntitle = 'x'  # a title\n\n[facts]\nports = [\n  \"own\",  # first\n]\n",
            "facts = { a = 1 }\r\n[b]\r\nc = 2",
            "[other]\nx = 1\n",
        ],
    );
}

#[test]
fn in_yaml() {
    holds(
        "notes.yaml",
        "facts.ports",
        &[
            "# mine\nfacts:\n  ports:   # of services\n    - own\n\n  other: {a: 1}\n",
            "a: 1\r\nfacts:\r\n  ports: [own, 'two']\r\n",
            "a: 1",
        ],
    );
}

#[test]
fn in_json() {
    holds(
        "notes.json",
        "facts.ports",
        &[
            "{\n  \"facts\": {\n    \"ports\": [\n      \"own\"\n    ]\n  },\n  \"z\": 1\n}\n",
            "{\"a\": [1, 2]}",
            "{\r\n\t\"facts\": {}\r\n}\r\n",
        ],
    );
}
