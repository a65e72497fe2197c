//! Shortened text never breaks a character.

use crate::capture::texts;
use crate::support::Home;
use serde_json::json;
use std::fs;

#[test]
fn shortened_text_never_breaks_a_character() {
    let home = Home::new();
    let mut notes = Vec::new();
    for n in [80usize, 100, 160, 200, 256, 500, 1000, 25_000] {
        for character in ["é", "固", "👩🏽‍✈️", "e\u{301}"] {
            for offset in 0..4 {
                notes.push("x".repeat(n - 1 - offset) + &character.repeat(40));
            }
        }
    }
    let lines: String =
        notes.iter().map(|text| json!({ "text": text }).to_string() + "\n").collect();
    fs::write(home.path().join("notes.jsonl"), lines).unwrap();
    let added = home.run(&["add", "--project", "p", "--file", "notes.jsonl"]).success();
    assert!(!added.out.contains('\u{fffd}'));
    let found = texts(&home);
    // é in its two forms is the same text.
    assert_eq!(found.len(), notes.len() * 3 / 4);
    assert!(found.iter().all(|text| notes.contains(text)), "stored whole");
    let listed = home.run(&["list"]).success();
    assert!(!listed.out.contains('\u{fffd}'));
    home.run(&["run", "--phase", "buffer"]).success();
    home.run(&["status"]).success();
    let routed = home.run(&["route", "--dry-run"]).success();
    assert!(!routed.out.contains('\u{fffd}'));
}
