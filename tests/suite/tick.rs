//! A tick as a whole, with the real embedding model: read before, applied as read, undone, resumed.

use crate::support::Home;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Notes with one cluster on the test database, two loners and some chatter.
const NOTES: &[&str] = &[
    "Integration tests need `docker compose up -d pg` before `cargo test`, else connection refused.",
    "The integration tests fail with connection refused unless postgres runs: `docker compose up -d pg`.",
    "Run `docker compose up -d pg` first: the integration tests need postgres on port 5433.",
    "Exports are deduplicated on IMO number, because call signs are reused.",
    "Metrics end in _total for counters.",
    "Pushed the branch.",
];

const PAGE: &str = "# p\n\nBackend.\n\n## Tests\n\n- `cargo test` runs the unit tests.\n\n## Import\n\n- One module a feed.\n";

fn filled() -> Home {
    let mut home = Home::new();
    home.set("LIFECYCLE_NOW", "2026-06-10T00:00:00Z");
    std::fs::write(home.project().join("CLAUDE.md"), PAGE).unwrap();
    let project = home.project().display().to_string();
    for (day, note) in (1..).zip(NOTES) {
        let then = format!("2026-06-0{day}T00:00:00Z");
        home.run(&["--now", &then, "add", "--project", &project, note]).success();
    }
    home
}

/// Every file below `folder` with its bytes; the log tells of each run and is left out.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| entry.path().extension().is_none_or(|end| end != "log"))
        .map(|entry| (entry.path().to_path_buf(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

fn steps(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let steps = report["steps"].as_array().unwrap().iter();
    steps.map(|step| (text(&step["step"]), text(&step["entry"]), text(&step["summary"]))).collect()
}

/// Id and state of every entry, without the folder of the test.
fn entries(home: &Home) -> Vec<(String, String)> {
    let listed = home.json(&["list", "--all"]);
    let mut all: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (entry["text"].as_str().unwrap().into(), entry["state"].as_str().unwrap().into())
        })
        .collect();
    all.sort();
    all
}

fn page(home: &Home) -> String {
    std::fs::read_to_string(home.project().join("CLAUDE.md")).unwrap()
}

#[test]
fn a_dry_run_writes_nothing_and_says_what_the_run_does() {
    let home = filled();
    let before = (bytes_of(&home.store()), page(&home));
    let dry = home.json(&["run", "--dry-run"]);
    assert_eq!((bytes_of(&home.store()), page(&home)), before);
    let live = home.json(&["run"]);
    assert_eq!(steps(&dry), steps(&live));
    assert!(page(&home).contains("docker compose up -d pg"));
}

#[test]
fn a_dry_run_where_no_store_exists_creates_none() {
    let home = Home::new();
    home.run(&["run", "--dry-run"]).success();
    assert!(!home.database().exists());
}

#[test]
fn a_second_run_with_nothing_new_changes_no_byte() {
    let home = filled();
    home.run(&["run"]).success();
    let before = (bytes_of(&home.store()), page(&home));
    let again = home.json(&["run"]);
    assert_eq!(steps(&again), []);
    let after = (bytes_of(&home.store()), page(&home));
    let changed: Vec<_> =
        after.0.iter().filter(|(path, bytes)| before.0.get(*path) != Some(bytes)).collect();
    assert!(changed.is_empty(), "{:?}", changed.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(after.1, before.1);
}

#[test]
fn a_plan_is_applied_as_read_and_once() {
    let home = filled();
    let plan = home.path().join("plan.json").display().to_string();
    let dry = home.json(&["run", "--dry-run", "--plan", &plan]);
    assert_eq!(steps(&dry), steps(&home.json(&["apply", &plan])));
    let after = page(&home);
    home.run(&["apply", &plan]).success();
    assert_eq!(page(&home), after);
}

#[test]
fn what_needs_a_skipped_step_is_left_out_with_it() {
    let home = filled();
    let plan = home.path().join("plan.json").display().to_string();
    let dry = home.json(&["run", "--dry-run", "--plan", &plan]);
    let merge = dry["steps"].as_array().unwrap().iter().find(|step| step["step"] == "merge");
    let n = merge.unwrap()["n"].to_string();
    home.run(&["apply", &plan, "--skip", &n]).success();
    assert_eq!(page(&home), PAGE);
    assert!(entries(&home).iter().all(|(_, state)| state == "buffered"));
    home.run(&["apply", &plan, "--skip", "9999"]).code(8);
}

#[test]
fn an_undone_merge_stays_undone_and_nothing_is_lost() {
    let home = filled();
    home.run(&["run"]).success();
    home.run(&["undo"]).success();
    assert_eq!(page(&home), PAGE);
    assert_eq!(home.texts(&[]).len(), NOTES.len());
    home.run(&["run"]).success();
    assert_eq!(page(&home), PAGE, "the merge was not made again");
    assert_eq!(home.texts(&[]).len(), NOTES.len());
}

#[test]
fn what_came_in_from_a_conversation_survives_an_undo() {
    let home = filled();
    let file = home.path().join("home/.claude/projects/-p/a.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, crate::capture::says(&home, 1, "Remember: lanterns are lit at dusk"))
        .unwrap();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(hour_ago).unwrap();
    home.run(&["run"]).success();
    home.run(&["undo"]).success();
    home.run(&["run"]).success();
    assert!(home.texts(&[]).contains(&"lanterns are lit at dusk".to_string()));
}

/// The runtime library would keep a device id and a queue of usage events there.
#[test]
fn the_runtime_library_leaves_nothing_in_the_home() {
    let home = filled();
    home.run(&["run"]).success();
    assert!(home.database().exists());
    assert!(!home.path().join("home/.cache").exists());
}

#[test]
fn a_text_beyond_all_measure_is_refused_with_the_limit() {
    let home = Home::new();
    let outcome = home.run_with(&["add", "-"], "word ".repeat(60_000).as_bytes()).code(8);
    assert!(outcome.err.contains("262144") && outcome.err.contains("add-file"), "{}", outcome.err);
    assert!(home.texts(&[]).is_empty());
}

#[test]
fn a_protected_entry_is_not_forgotten() {
    let home = filled();
    let listed = home.json(&["list"]);
    let id = listed[0]["id"].as_str().unwrap();
    home.run(&["protect", id]).success();
    home.run(&["forget", id]).code(7);
    home.run(&["protect", "--off", id]).success();
    home.run(&["forget", id]).success();
}

/// Killed at every point of a whole tick, the next run ends where an undisturbed one does.
#[test]
fn a_tick_killed_anywhere_is_completed_by_the_next() {
    let calm = filled();
    calm.run(&["run"]).success();
    let (wanted, wanted_page) = (entries(&calm), page(&calm));
    for at in 1..=60 {
        let home = filled();
        let fault = format!("kill@{at}");
        let killed = home.command(&["run"]).env("LIFECYCLE_FAULT", &fault).output().unwrap();
        home.run(&["run"]).success();
        assert_eq!(entries(&home), wanted, "killed at {at}");
        assert_eq!(page(&home), wanted_page, "killed at {at}");
        if killed.status.success() {
            return;
        }
    }
    panic!("the run has more points than were tried");
}
