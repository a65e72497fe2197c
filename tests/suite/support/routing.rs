//! Proven entries and target files for tests of routing.

use super::{Home, Outcome, fixture};
use lifecycle::store::{self, Store};
use lifecycle_phases::{Actor, Channel, Entry, EntryId, Kind, Source, State, Step};
use std::path::Path;
use std::time::Duration;

impl Home {
    /// Puts a proven entry of `project` (resolved) into the store.
    pub fn prove(&self, project: Option<&Path>, text: &str) -> EntryId {
        self.prove_seen(project, text, 0)
    }

    /// The same for one that was met `recalls` times again.
    pub fn prove_seen(&self, project: Option<&Path>, text: &str, recalls: u32) -> EntryId {
        std::fs::create_dir_all(self.store()).unwrap();
        let mut store = Store::open_file(&self.database(), Duration::from_secs(5)).unwrap();
        let project = project.map(|path| path.canonicalize().unwrap().display().to_string());
        let source = Source::new(Channel::Tick, Actor::User);
        let mut entry = Entry::new(text, Kind::Insight, project, 1_780_000_000_000, source);
        entry.state = State::Proven;
        entry.recalls = recalls;
        entry.generated_by = Some("extractive".into());
        let id = entry.id.clone();
        let step = Step::Admit { entry: Box::new(entry) };
        store.write(|tx| store::apply(tx, &step, 1_780_000_000_000, "test")).unwrap();
        id
    }

    /// Runs the route phase.
    pub fn route(&self) -> Outcome {
        self.run(&["route"])
    }

    /// The state of an entry.
    pub fn state(&self, id: &EntryId) -> String {
        self.json(&["show", id.as_str()])["state"].as_str().unwrap().to_string()
    }

    /// Writes a file of the project, folders included.
    pub fn put(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Copies an input of a behaviour case into the project.
    pub fn put_input(&self, case: &str, input: &str, name: &str) -> String {
        let text = std::fs::read_to_string(fixture("cases").join(case).join(input)).unwrap();
        self.put(name, &text);
        text
    }

    /// Reads a file of the project.
    pub fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// Names of all files of the project, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        files_below(&self.project(), &self.project(), &mut found);
        found.sort();
        found
    }

    /// Names a target of the user's own in the settings.
    pub fn name_target(&self, path: &str, key: &str) {
        let config = self.path().join("home/.config/lifecycle");
        std::fs::create_dir_all(&config).unwrap();
        let text = format!(
            "[route.targets.mine]\npaths = [\"{path}\"]\nkey = \"{key}\"\ngeneral = true\n"
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
    }
}

fn files_below(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            files_below(&path, root, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}
