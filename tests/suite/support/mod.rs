//! A home of its own for each test, and the command run in it.

#![allow(dead_code, reason = "each test uses its part")]

pub mod browser;
pub mod merging;
mod routing;
pub mod standin;
pub mod tools;

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A fresh folder with a home, a project folder and a store inside.
pub struct Home {
    folder: tempfile::TempDir,
    /// Further variables for each command.
    pub variables: Vec<(String, String)>,
}

/// What a command printed and how it ended.
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        std::fs::create_dir_all(folder.path().join("p")).unwrap();
        Self { folder, variables: Vec::new() }
    }

    /// The scratch folder (`$W` of the behaviour cases), resolved.
    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The project folder `$W/p`.
    pub fn project(&self) -> PathBuf {
        self.path().join("p")
    }

    /// The folder that holds the store.
    pub fn store(&self) -> PathBuf {
        self.path().join("home/.local/share/lifecycle")
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.store().join("lifecycle.sqlite3")
    }

    /// Sets a variable for each later command.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    /// The command with a clean environment, in the scratch folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lifecycle"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path().join("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", tools::schedulers().display()))
            .env("LIFECYCLE_MODELS", models())
            // A tick that a hook starts would come in the way of those that a test runs.
            .env("LIFECYCLE_SCHEDULE__FROM_HOOKS", "false")
            .current_dir(self.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command with empty standard input.
    pub fn run(&self, args: &[&str]) -> Outcome {
        self.run_with(args, b"")
    }

    /// Runs the command with `input` on standard input.
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> Outcome {
        Outcome::from(self.start(args, input).wait_with_output().unwrap())
    }

    /// Starts the command with `input` on standard input and goes on.
    pub fn start(&self, args: &[&str], input: &[u8]) -> Child {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may end without reading all of it.
        let _ = child.stdin.take().unwrap().write_all(input);
        child
    }

    /// Runs the command, expects success, and reads its JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let outcome = self.run(&all).success();
        serde_json::from_str(&outcome.out)
            .unwrap_or_else(|error| panic!("{error}: {}", outcome.out))
    }

    /// The texts that `list` shows with these further arguments.
    pub fn texts(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["list"];
        all.extend(args);
        let listed = self.json(&all);
        let texts = listed.as_array().unwrap().iter();
        texts.map(|entry| entry["text"].as_str().unwrap().to_string()).collect()
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Outcome {
    /// What was printed with single spaces, however it was wrapped.
    pub fn said(&self) -> String {
        self.out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What went to standard error with single spaces, however it was wrapped.
    pub fn complained(&self) -> String {
        self.err.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What was printed on one line, whatever was broken where.
    pub fn flat(&self) -> String {
        format!("{} {}", self.out, self.err).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Fails the test unless the command ended with 0.
    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    /// Fails the test unless the command ended with `code`.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// The folder with the runtime library and the small embedding model.
pub fn models() -> PathBuf {
    std::env::var_os("LIFECYCLE_MODELS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/models"), PathBuf::from)
}

/// A file of tests/fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
