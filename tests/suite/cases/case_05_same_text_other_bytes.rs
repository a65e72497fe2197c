//! Spacing and Unicode form do not make a new note.

use crate::capture::texts;
use crate::support::Home;
use std::fs;

#[test]
fn spacing_and_unicode_form_do_not_make_a_new_note() {
    let home = Home::new();
    let variants = [
        "Das Caf\u{e9} nutzt Port 8080",
        "Das  Caf\u{e9} nutzt Port 8080",
        "Das Caf\u{e9} nutzt Port 8080\\n",
        "Das Caf\u{e9} nutzt Port 8080\\r\\n",
        "Das Cafe\u{301} nutzt Port 8080",
        " Das Caf\u{e9}\u{a0}nutzt Port 8080 ",
        "Das Caf\u{e9} nutzt Port 8081",
        "   ",
        "",
        "🚢",
        "⚓️",
    ];
    let lines: String = variants.iter().map(|text| format!("{{\"text\": \"{text}\"}}\n")).collect();
    fs::write(home.path().join("variants.jsonl"), lines).unwrap();
    let outcome = home.run(&["add", "--project", "p", "--file", "variants.jsonl"]).code(8);
    assert!(outcome.err.contains(":8:") && outcome.err.contains(":9:"), "{}", outcome.err);
    let found = texts(&home);
    let wanted = ["Das Café nutzt Port 8080", "Das Café nutzt Port 8081", "⚓️", "🚢"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
    for blank in ["", " \n "] {
        assert!(home.run(&["add", "--project", "p", blank]).code(8).err.contains("empty"));
    }
}
