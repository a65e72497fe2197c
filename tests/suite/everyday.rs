//! Setting up, taking back, and the schedule.

use crate::support::Home;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Every file below the folder with its bytes.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// A home with Claude Code and Codex in it, and a stand-in for the system's scheduler that writes
/// down how it is called.
fn furnished() -> Home {
    let mut home = Home::new();
    let tools = home.path().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(
        tools.join("systemctl"),
        format!("#!/bin/sh\necho \"$@\" >>'{}'\n", home.path().join("systemctl.log").display()),
    )
    .unwrap();
    std::fs::set_permissions(tools.join("systemctl"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    home.set("PATH", tools.to_str().unwrap());
    let claude = home.path().join("home/.claude");
    std::fs::create_dir_all(&claude).unwrap();
    std::fs::write(claude.join("settings.json"), "{\"model\": \"opus\"}").unwrap();
    std::fs::create_dir_all(home.path().join("home/.codex")).unwrap();
    home
}

#[test]
fn init_shows_then_writes_once_and_undo_gives_every_byte_back() {
    let home = furnished();
    let root = home.path().join("home");
    let before = snapshot(&root);

    let shown = home.run(&["init", "--dry-run"]).success();
    for part in ["settings.json", "hooks.json", "lifecycle.timer", "config.toml", "enable --now"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert_eq!(snapshot(&root), before, "a dry run writes nothing");
    home.run(&["init"]).code(7);
    assert_eq!(snapshot(&root), before, "without a terminal nothing is written unasked");

    home.run(&["init", "--yes"]).success();
    let once = snapshot(&root);
    assert!(once.len() > before.len());
    let again = home.run(&["init", "--yes"]).success();
    assert!(again.out.contains("nothing to change"), "{}", again.out);
    assert_eq!(snapshot(&root), once);

    home.run(&["init", "--undo"]).success();
    assert_eq!(snapshot(&root), before);
    assert!(!root.join(".config").exists(), "folders that were made are gone");
    let calls = std::fs::read_to_string(home.path().join("systemctl.log")).unwrap();
    assert!(calls.contains("--user enable --now lifecycle.timer"), "{calls}");
    assert!(calls.contains("--user disable --now lifecycle.timer"), "{calls}");
}

#[test]
fn undo_after_work_leaves_the_store() {
    let home = furnished();
    home.run(&["init", "--yes"]).success();
    home.run(&["status"]).success();
    home.run(&["init", "--undo"]).success();
    assert!(home.database().exists());
    assert!(!home.store().join("install.json").exists());
}

#[test]
fn the_next_times_are_those_of_the_zone() {
    let mut home = Home::new();
    home.set("TZ", "Europe/Berlin");
    home.set("LIFECYCLE_SCHEDULE__CRON", "30 2 * * *");
    let next = home.json(&["schedule", "next", "--now", "2026-03-28T12:00:00Z"]);
    assert_eq!(next["zone"], "Europe/Berlin");
    assert_eq!(next["next"][0], "2026-03-29T01:00:00Z");
    assert_eq!(next["next"][1], "2026-03-30T00:30:00Z");
    assert_eq!(next["next"].as_array().unwrap().len(), 5);
    home.set("LIFECYCLE_SCHEDULE__CRON", "0 30 2 * * *");
    let refused = home.run(&["schedule", "next"]).code(3);
    assert!(refused.err.contains("6 fields"), "{}", refused.err);
}

/// Days asleep lead to one run; being called again does nothing; a clock put back does no harm.
#[test]
fn the_job_decides_itself_whether_it_is_due() {
    let mut home = Home::new();
    home.set("TZ", "UTC");
    let run = |now: &str| home.run(&["run", "--if-due", "--now", now]).success().out;
    let last = || home.json(&["schedule", "status"])["last_run"].as_str().unwrap().to_string();
    assert!(!run("2026-06-01T12:00:00Z").is_empty(), "never ran");
    assert_eq!(last(), "2026-06-01T12:00:00Z");
    assert!(run("2026-06-01T13:00:00Z").is_empty());
    assert!(!run("2026-06-05T07:00:00Z").is_empty(), "missed for days");
    assert!(run("2026-06-05T07:01:00Z").is_empty(), "made up once");
    assert!(run("2026-05-01T00:00:00Z").is_empty(), "the clock was put back");
    assert_eq!(last(), "2026-05-01T00:00:00Z");
    assert!(!run("2026-05-01T03:30:00Z").is_empty(), "and the next time counts again");
}
