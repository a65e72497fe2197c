//! A conversation without the user's words leaves no note.

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use serde_json::json;
use std::fs;

#[test]
fn a_conversation_without_the_users_words_leaves_no_note() {
    let home = Home::new();
    let w = home.path();
    fs::write(w.join("empty.jsonl"), "").unwrap();
    let meta = r#"{"type":"permission-mode","permissionMode":"default","sessionId":"x"}"#;
    let clear = says(&home, 1, "<command-name>/clear</command-name>");
    fs::write(w.join("meta.jsonl"), format!("{meta}\n{clear}")).unwrap();
    for name in ["empty.jsonl", "meta.jsonl", "missing.jsonl"] {
        hook(&home, &end_of(&w.join(name), &home.project()));
    }
    let null = json!({ "session_id": "x", "transcript_path": null, "cwd": w, "hook_event_name": "SessionEnd" });
    for event in [null.to_string().as_str(), "{}", "not json"] {
        hook(&home, event);
    }
    tick(&home);
    assert_eq!(texts(&home), [""; 0]);
    // A file that appears later for the same conversation is taken in then.
    fs::write(w.join("missing.jsonl"), says(&home, 1, "Remember: fog horns are tested at noon"))
        .unwrap();
    tick(&home);
    assert_eq!(texts(&home), ["fog horns are tested at noon"]);
}
