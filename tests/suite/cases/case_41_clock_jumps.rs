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
