//! Sub-agent chatter, rewound branches and machine summaries are not the user's words.

use crate::capture::{end_of, hook, texts, tick};
use crate::support::{Home, fixture};
use std::fs;
use std::path::Path;

#[test]
fn only_what_was_said_is_kept() {
    let home = Home::new();
    for name in ["03-huge-tool-result.jsonl", "04-sidechain-compact-branch.jsonl"] {
        let file = fixture("transcripts").join(name);
        hook(&home, &end_of(&file, Path::new("/home/robin/work/harbor-api")));
    }
    tick(&home);
    let found = texts(&home).join("\n");
    for kept in
        ["dedupe on both fields", "Drop the CSV reader", "18.6 year", "hydrographic office tables"]
    {
        assert_eq!(found.matches(kept).count(), 1, "{kept}: {found}");
    }
    for absent in [
        "CSV forever",
        "Default stays CSV",
        "Total cost",
        "fallback",
        "SUBAGENT",
        "ran out of context",
    ] {
        assert!(!found.contains(absent), "{absent}: {found}");
    }
    for file in walkdir::WalkDir::new(home.store()).into_iter().flatten() {
        if file.file_type().is_file() {
            let bytes = fs::read(file.path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("EXAMPLE-NOT-A-REAL-TOKEN") && !text.contains("203.0.113.9"));
        }
    }
}
