//! What needs a real terminal: the review, and progress. tmux gives the screen and presses the keys.

use crate::support::Home;
use crate::support::tools::tool;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A terminal of its own, with a server of its own that ends with it.
struct Screen {
    tmux: PathBuf,
    socket: PathBuf,
}

impl Screen {
    fn open(tmux: PathBuf, home: &Home, args: &[&str]) -> Self {
        let socket = home.path().join("tmux");
        let command = home.command(args);
        let mut start = Command::new(&tmux);
        start.arg("-S").arg(&socket).args(["-f", "/dev/null", "new-session", "-d", "-s", "t"]);
        start.args(["-x", "100", "-y", "30", "--", "env", "-i", "LANG=C.UTF-8", "TERM=screen"]);
        for (name, value) in command.get_envs() {
            let value = value.unwrap().to_string_lossy();
            start.arg(format!("{}={value}", name.to_string_lossy()));
        }
        // The screen stays after the program ended, so that its last words can be read.
        start.args(["sh", "-c", "\"$0\" \"$@\"; echo ended with $?; exec sleep 60"]);
        start.arg(command.get_program()).args(command.get_args()).current_dir(home.path());
        start.env("LANG", "C.UTF-8");
        let output = start.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { tmux, socket }
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new(&self.tmux).arg("-S").arg(&self.socket).args(args).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "t"], keys].concat());
    }

    /// The screen, once it shows `part`.
    fn wait_for(&self, part: &str) -> String {
        self.wait_for_all(&[part])
    }

    /// The screen, once it shows all of `parts`.
    fn wait_for_all(&self, parts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let shown = self.tmux(&["capture-pane", "-p", "-t", "t"]);
            if parts.iter().all(|part| shown.contains(part)) {
                return shown;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "waited for {parts:?}: {shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// A project with three notes of one fact and two loners.
fn home() -> Home {
    let mut home = Home::new();
    home.set("LIFECYCLE_AGE__NEWER_ENTRIES", "1");
    let project = home.project();
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::write(project.join("CLAUDE.md"), "# Harbor\n\n## Commands\n\n- run make\n").unwrap();
    for text in [
        "Integration tests need docker compose up -d pg first",
        "The integration tests fail unless docker compose up -d pg ran before",
        "Before the integration tests: docker compose up -d pg, or they cannot connect",
        "good morning",
        "ok, thanks",
    ] {
        home.run(&["add", text, "--project", project.to_str().unwrap()]).success();
    }
    home.run(&["run", "--phase", "connect"]).success();
    home
}

#[test]
fn a_merge_is_reworded_and_applied_by_keys() {
    let Some(tmux) = tool(&["tmux"], "the review on a terminal") else { return };
    let home = home();
    let screen = Screen::open(tmux, &home, &["review"]);
    let first = screen.wait_for("q quit");
    assert!(first.contains("merge") && first.contains("from: "), "{first}");
    assert!(first.contains("consolidate › merge"), "{first}");
    screen.press(&["e"]);
    screen.wait_for("new words");
    screen.press(&["C-u"]);
    screen.press(&["-l", "Start pg before the integration tests: docker compose up -d pg"]);
    screen.wait_for("Start pg before");
    screen.press(&["Enter"]);
    screen.wait_for("(your words)");
    screen.press(&["Enter"]);
    screen.wait_for("apply ");
    screen.press(&["y"]);
    let last = screen.wait_for("ended with 0");
    assert!(last.contains("merge"), "{last}");
    let proven = home.json(&["list", "--state", "routed"]);
    assert_eq!(proven[0]["text"], "Start pg before the integration tests: docker compose up -d pg");
    assert_eq!(proven[0]["generated_by"], "review");
    let file = std::fs::read_to_string(home.project().join("CLAUDE.md")).unwrap();
    assert!(file.contains("Start pg before the integration tests"), "{file}");
    // It is found by its own meaning, and the next tick links it and has nothing to mend.
    let found = home.json(&["search", "--only", "meaning", "start pg", "--k", "1"]);
    assert!(found.to_string().contains("Start pg before"), "{found}");
    home.run(&["run"]).success();
}

#[test]
fn leaving_restores_the_terminal_and_applies_nothing() {
    let Some(tmux) = tool(&["tmux"], "the review on a terminal") else { return };
    let home = home();
    let before = home.json(&["list", "--all"]);
    let screen = Screen::open(tmux, &home, &["review"]);
    screen.wait_for("q quit");
    screen.press(&["n", "q"]);
    let last = screen.wait_for("ended with 0");
    assert!(last.contains("nothing was applied") && !last.contains("q quit"), "{last}");
    assert_eq!(home.json(&["list", "--all"]), before);
}

#[test]
fn long_work_shows_its_progress_and_clears_it_away() {
    let Some(tmux) = tool(&["tmux"], "progress on a terminal") else { return };
    let home = Home::new();
    let words = ["berth", "tide", "crane", "pilot", "quay", "buoy", "ledger", "sluice", "mast"];
    let notes: String = (0..500)
        .map(|n| {
            let (a, b) = (words[n % 9], words[n / 9 % 9]);
            let text = format!("note {n}: the {a} of basin {n} follows the {b} of dock {}", n * 7);
            format!("{}\n", serde_json::json!({ "text": text }))
        })
        .collect();
    std::fs::write(home.path().join("notes.jsonl"), notes).unwrap();
    home.run(&["add", "--file", "notes.jsonl", "--quiet"]).success();
    let screen = Screen::open(tmux, &home, &["run", "--phase", "connect"]);
    screen.wait_for_all(&["tick: connect", "embedding, linking", "/500"]);
    let after = screen.wait_for("ended with 0");
    assert!(!after.contains("embedding, linking"), "{after}");
}
