//! A home whose embeddings and merges come from the stand-in.

use super::Home;
use super::standin::{Reply, Standin, Vectors};
use serde_json::{Value, json};

/// The notes of case 10.
pub const BERTH: &str = r#"{"text": "Berth buffer is 25 m"}
{"text": "Berth buffer of 25 m applies to tankers too"}
{"text": "Berth buffer shrinks to 15 m in winter"}
"#;

/// A home and its stand-in.
pub struct Merging {
    pub home: Home,
    pub server: Standin,
}

impl Merging {
    /// Settings for a model at the stand-in, spoken to as `kind`.
    pub fn new(kind: &str) -> Self {
        let home = Home::new();
        let server = Standin::start();
        server.vectors(
            Vectors::default()
                .rule("Berth buffer is 25", 0, 0.1)
                .rule("applies to tankers", 0, 0.2)
                .rule("shrinks to 15", 0, 0.15)
                .rule("erth buffer", 0, 0.1),
        );
        let url = server.url();
        let settings = format!(
            "[embed]\nurl = \"{url}\"\nurl_model = \"standin\"\n[consolidate]\nmodel = \"m\"\n\
             retry_minutes = 0\n[consolidate.call]\nbackoff_seconds = 0.0\ntimeout_seconds = 1.0\n\
             [consolidate.providers.m]\nkind = \"{kind}\"\nurl = \"{url}\"\nmodel = \"standin\"\n"
        );
        let folder = home.path().join("home/.config/lifecycle");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), settings).unwrap();
        Self { home, server }
    }

    /// Adds notes to the project `p`.
    pub fn add(&self, notes: &str) {
        let path = self.home.path().join("notes.jsonl");
        std::fs::write(&path, notes).unwrap();
        let project = self.home.project();
        let args =
            ["add", "--project", project.to_str().unwrap(), "--file", path.to_str().unwrap()];
        self.home.run(&args).success();
    }

    /// Runs the phases up to consolidation and returns the exit code.
    pub fn run(&self) -> i32 {
        let phases = ["run", "--phase", "buffer", "--phase", "connect", "--phase", "consolidate"];
        self.home.run(&phases).code
    }

    pub fn connect(&self) {
        self.home.run(&["run", "--phase", "buffer", "--phase", "connect"]).success();
    }

    /// Texts with their states, all of them.
    pub fn states(&self) -> Vec<(String, String)> {
        let listed = self.home.json(&["list", "--all"]);
        let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("").to_string();
        let entries = listed.as_array().unwrap().iter();
        entries.map(|entry| (word(entry, "text"), word(entry, "state"))).collect()
    }

    /// The texts of proven entries.
    pub fn proven(&self) -> Vec<String> {
        self.home.texts(&["--state", "proven"])
    }

    /// All three notes of case 10 active, no proven entry.
    #[track_caller]
    pub fn untouched(&self) {
        let states = self.states();
        assert_eq!(states.len(), 3, "{states:?}");
        assert!(states.iter().all(|(_, state)| state == "buffered"), "{states:?}");
    }

    /// Texts that a search finds.
    pub fn search(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["search"];
        all.extend(args);
        let found = self.home.json(&all);
        let items = found["results"].as_array().or(found.as_array()).cloned().unwrap_or_default();
        items.iter().map(|item| item["text"].as_str().unwrap_or("").to_string()).collect()
    }
}

/// A reply in the shape that is asked for.
pub fn merge(title: &str, text: &str) -> String {
    json!({"entries": [{"kind": "insight", "sources": ["n1", "n2", "n3"], "text": text, "title": title}]})
        .to_string()
}

/// A merge of the notes of case 10 that passes.
pub fn berth() -> String {
    merge("Berth buffer", "The berth buffer is 25 m, tankers included; 15 m in winter.")
}

/// Message text as a scripted reply.
pub fn text(text: &str) -> [Reply; 1] {
    [Reply::text(text)]
}
