//! The same text many times is one note.

use crate::capture::{end_of, entries, hook, says_in, tick};
use crate::support::Home;
use std::fs;

const TEXT: &str = "Deploys happen on Tuesdays";

#[test]
fn the_same_text_many_times_is_one_note() {
    let home = Home::new();
    for _ in 0..4 {
        home.run(&["add", "--project", "p", TEXT]).success();
    }
    let batch = format!("{{\"text\": \"{TEXT}\"}}\n").repeat(4);
    fs::write(home.path().join("batch.jsonl"), batch).unwrap();
    home.run(&["add", "--project", "p", "--file", "batch.jsonl"]).success();
    for session in ["a", "b"] {
        let file = home.path().join(format!("{session}.jsonl"));
        let said = says_in(&home.project(), session, 1, &format!("Remember: {TEXT}"));
        fs::write(&file, said).unwrap();
        hook(&home, &end_of(&file, &home.project()));
    }
    tick(&home);
    let found = entries(&home);
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0]["text"], &found[0]["state"]), (&TEXT.into(), &"buffered".into()));
    // Three further adds, one notes file, two conversations.
    assert_eq!(found[0]["recalls"], 6);
    // Nor does saying it again make a cluster of it.
    home.run(&["run"]).success();
    let all = home.json(&["list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!((&all[0]["text"], &all[0]["state"]), (&TEXT.into(), &"buffered".into()));
    assert_eq!(home.json(&["graph"])["links"].as_array().unwrap().len(), 0);
}
