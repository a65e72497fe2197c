//! Nothing to say means no file (the half that a hook leads to).

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use std::fs;

#[test]
fn a_conversation_that_states_nothing_touches_no_file() {
    let home = Home::new();
    for folder in ["src/deep", "node_modules/x", ".git"] {
        fs::create_dir_all(home.project().join(folder)).unwrap();
    }
    let file = home.path().join("read.jsonl");
    let reply = r#"{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"text","text":"Only mod.rs."}]}}"#;
    fs::write(&file, says(&home, 1, "what is in src/deep?") + reply + "\n").unwrap();
    hook(&home, &end_of(&file, &home.project()));
    tick(&home);
    assert_eq!(texts(&home), [""; 0]);
    let files = walkdir::WalkDir::new(home.project()).into_iter().flatten();
    assert_eq!(files.filter(|entry| entry.file_type().is_file()).count(), 0);
}
