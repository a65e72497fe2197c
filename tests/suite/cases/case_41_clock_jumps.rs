//! A clock that jumps neither expires nor strengthens anything.

use crate::support::{Home, fixture};

#[test]
fn forward_and_back_every_note_stays() {
    let home = Home::new();
    let notes = fixture("cases/41-clock-jumps/notes.jsonl").display().to_string();
    home.run(&["add", "--file", &notes]).success();
    for (now, dry) in [
        ("2031-01-01T00:00:00Z", true),
        ("2031-01-01T00:00:00Z", false),
        ("2026-06-10T00:00:00Z", false),
        ("2026-06-09T00:00:00Z", false),
    ] {
        let mut args = vec!["run", "--now", now];
        args.extend(dry.then_some("--dry-run"));
        home.run(&args).success();
        assert_eq!(home.texts(&[]).len(), 4, "{now}");
    }
    let listed = home.json(&["list"]);
    assert!(listed.as_array().unwrap().iter().all(|entry| entry["recalls"] == 0));
}

#[test]
fn a_schedule_missed_for_days_is_one_run() {
    let home = Home::new();
    home.run(&["--now", "2026-06-01T12:00:00Z", "add", "a note"]).success();
    home.run(&["--now", "2026-06-01T12:00:00Z", "run", "--phase", "buffer"]).success();
    let mut ran = 0;
    for (minute, note) in ["one", "two", "three"].iter().enumerate() {
        let now = format!("2026-06-10T12:0{minute}:00Z");
        home.run(&["--now", &now, "add", &format!("note {note}")]).success();
        let args = ["--now", &now, "run", "--if-due", "--phase", "connect", "--json"];
        ran += usize::from(home.run(&args).success().out.contains("embed"));
    }
    assert_eq!(ran, 1);
}

#[test]
fn entries_of_the_future_are_as_strong_as_new_ones() {
    let home = Home::new();
    let project = home.project().display().to_string();
    home.run(&[
        "--now",
        "2036-01-01T00:00:00Z",
        "add",
        "--project",
        &project,
        "ok, lamp done for now",
    ])
    .success();
    home.run(&[
        "--now",
        "2026-01-01T00:00:00Z",
        "add",
        "--project",
        &project,
        "ok, rope done for now",
    ])
    .success();
    let settings = ["--set", "age.newer_entries=1", "--set", "connect.max_links=0"];
    home.run(&[&settings[..], &["--now", "2026-06-01T00:00:00Z", "run"]].concat()).success();
    // What came after counts, not what the clock said: the first of the two fades.
    assert_eq!(home.texts(&["--state", "expired"]), ["ok, lamp done for now"]);
}

/// After a run in the future the next scheduled time of the clock that was put back counts again.
#[test]
fn after_the_clock_went_back_the_job_still_runs() {
    let home = Home::new();
    let at = |now: &str, note: &str| {
        home.run(&["--now", now, "add", note]).success();
        let args = ["--now", now, "run", "--if-due", "--phase", "connect", "--json"];
        home.run(&args).success().out.contains("embed")
    };
    assert!(at("2031-01-01T12:00:00Z", "A note of the future"));
    // The first call sees a run that is yet to come, and sets that right.
    at("2026-06-10T12:00:00Z", "A note of today");
    assert!(at("2026-06-12T12:00:00Z", "A note of the day after"), "the job runs again");
}
