//! Odd characters in a transcript cost one line at most.

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use std::fs;

#[test]
fn odd_characters_in_a_transcript_cost_one_item_at_most() {
    let home = Home::new();
    let file = home.path().join("odd.jsonl");
    let odd = r#"{"type":"user","message":{"role":"user","content":"lone \ud83d here"},"uuid":"x","parentUuid":null}"#;
    let marked = r#"{"type":"user","message":{"content":"Remember: berth \ud83d seven\u0000 is \u202egnol\u202c"},"uuid":"y"}"#;
    let text = says(&home, 1, "Remember: ship lists are sorted by name")
        + odd
        + "\n"
        + marked
        + "\n"
        + &says(&home, 2, "Remember: ship lists show the flag");
    fs::write(&file, text).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    tick(&home);
    let wanted = [
        "berth \u{fffd} seven is gnol",
        "ship lists are sorted by name",
        "ship lists show the flag",
    ];
    assert_eq!(texts(&home), wanted);
}
