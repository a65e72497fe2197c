//! An undo is itself undone: what a tick made of entries and files stands again, and the next run
//! finds nothing to do about it.

use crate::support::Home;

const NOTES: [&str; 3] = [
    "Integration tests need docker compose up -d pg first",
    "The integration tests fail unless docker compose up -d pg ran before",
    "Before the integration tests: docker compose up -d pg, or no connection",
];
const LATER: &str =
    "The integration tests need docker compose up -d pg redis since the cache tests came";

/// A home whose newest tick replaced a line of an earlier one.
fn replaced() -> Home {
    let mut home = Home::new();
    home.put("CLAUDE.md", "# P\n\n## Testing\n\n- run make test\n");
    for (n, note) in NOTES.iter().enumerate() {
        home.set("LIFECYCLE_NOW", &format!("2026-06-01T08:0{n}:00Z"));
        add(&home, note);
    }
    home.set("LIFECYCLE_NOW", "2026-06-01T09:00:00Z");
    run(&home);
    home.set("LIFECYCLE_NOW", "2026-06-02T08:00:00Z");
    add(&home, LATER);
    home.set("LIFECYCLE_NOW", "2026-06-02T09:00:00Z");
    run(&home);
    home
}

fn add(home: &Home, note: &str) {
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, note]).success();
}

fn run(home: &Home) {
    home.run(&["run"]).success();
}

fn newest(home: &Home) -> String {
    let history = home.json(&["history"]);
    history
        .as_array()
        .unwrap()
        .iter()
        .map(|tick| tick["id"].as_i64().unwrap())
        .max()
        .unwrap()
        .to_string()
}

/// Id and state of each active entry.
fn entries(home: &Home) -> Vec<String> {
    let list = home.json(&["list"]);
    let one = |entry: &serde_json::Value| format!("{} {}", entry["id"], entry["state"]);
    let mut all: Vec<String> = list.as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

#[test]
fn a_redone_merge_stands_with_its_line() {
    let mut home = replaced();
    let (file, before) = (home.get("CLAUDE.md"), entries(&home));
    home.set("LIFECYCLE_NOW", "2026-06-02T10:00:00Z");
    home.run(&["undo"]).success();
    let (undone_file, undone) = (home.get("CLAUDE.md"), entries(&home));
    assert_ne!(undone_file, file);
    home.run(&["undo", &newest(&home)]).success();
    assert_eq!(home.get("CLAUDE.md"), file);
    assert_eq!(entries(&home), before);
    home.run(&["undo", &newest(&home)]).success();
    assert_eq!(home.get("CLAUDE.md"), undone_file);
    assert_eq!(entries(&home), undone);
    home.run(&["undo", &newest(&home)]).success();
    home.set("LIFECYCLE_NOW", "2026-06-03T09:00:00Z");
    run(&home);
    assert_eq!(home.get("CLAUDE.md"), file, "the next run leaves it");
    assert_eq!(entries(&home), before);
}
