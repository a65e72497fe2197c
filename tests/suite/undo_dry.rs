//! `undo --dry-run`: what an undo would change, and nothing is changed.

use crate::support::Home;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NOTES: &str = "# harbor-api\n\n## Database\n\n- Postgres 16\n";
const FACT: &str = "Each Postgres table of the database has a `created_at` column in UTC";

/// Every file below a folder with its bytes.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        // What SQLite keeps beside a database for whoever reads it.
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with("-shm"))
        .map(|entry| (entry.path().to_path_buf(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// The steps of a report without how they stand.
fn steps(report: &Value) -> Vec<(Value, Value)> {
    let steps = report["steps"].as_array().unwrap().iter();
    steps.map(|step| (step["n"].clone(), step["step"].clone())).collect()
}

#[test]
fn it_shows_the_steps_and_diffs_of_the_undo_and_writes_nothing() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let id = home.prove(Some(&home.project()), FACT);
    home.route().success();
    let routed = home.get("CLAUDE.md");
    let before = (bytes_of(&home.store()), bytes_of(&home.project()));
    let dry = home.run(&["undo", "--dry-run"]).success();
    assert!(dry.out.contains(&format!("-- {FACT}")), "the diff: {}", dry.out);
    assert!(dry.said().contains("dry run"), "{}", dry.out);
    let planned = home.json(&["undo", "--dry-run"]);
    assert_eq!(planned["dry_run"], true);
    assert_eq!(planned["files"].as_array().unwrap().len(), 1);
    assert_eq!((bytes_of(&home.store()), bytes_of(&home.project())), before, "nothing changed");
    assert_eq!(home.state(&id), "routed");

    let done = home.json(&["undo"]);
    assert_eq!(steps(&planned), steps(&done), "it is done as it was shown");
    assert_eq!(home.get("CLAUDE.md"), NOTES);

    // The undo of the undo likewise.
    let newest = home.json(&["history"])[0]["id"].to_string();
    let planned = home.json(&["undo", &newest, "--dry-run"]);
    assert_eq!(home.get("CLAUDE.md"), NOTES);
    let redone = home.json(&["undo", &newest]);
    assert_eq!(steps(&planned), steps(&redone));
    assert_eq!(home.get("CLAUDE.md"), routed);
}

#[test]
fn entries_and_what_somebody_changed_since_are_shown() {
    let home = Home::new();
    for n in 0..4 {
        let note = format!("ok, lamp {n} done for now");
        home.run(&["add", "--project", "p", &note]).success();
    }
    let settings = ["--set", "age.newer_entries=0", "--set", "connect.max_links=0"];
    home.run(&[&settings[..], &["run", "--yes"]].concat()).success();
    let expired = home.texts(&["--state", "expired"]).len();
    assert!(expired > 0);
    let planned = home.json(&["undo", "--dry-run"]);
    let back = planned["counts"].as_object().unwrap().values().filter_map(Value::as_u64);
    assert!(back.sum::<u64>() >= expired as u64, "{planned}");
    assert_eq!(home.texts(&["--state", "expired"]).len(), expired);

    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    home.route().success();
    let edited = home.get("CLAUDE.md").replace("created_at", "made_at");
    home.put("CLAUDE.md", &edited);
    let dry = home.run(&["undo", "--dry-run"]);
    assert!(dry.said().contains("was edited since"), "{}", dry.out);
    assert_eq!(home.get("CLAUDE.md"), edited);
}

#[test]
fn what_cannot_be_undone_is_refused_alike() {
    let home = Home::new();
    home.run(&["undo", "--dry-run"]).code(7);
    assert!(!home.database().exists());
    home.run(&["add", "--project", "p", "A note"]).success();
    home.run(&["undo", "77", "--dry-run"]).code(8);
    home.run(&["undo", "1"]).success();
    home.run(&["undo", "1", "--dry-run"]).code(7);
}
