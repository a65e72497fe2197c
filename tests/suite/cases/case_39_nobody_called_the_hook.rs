//! Conversations without a hook call are found.

use crate::capture::{entries, says_in, texts, tick};
use crate::support::Home;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

const DAY: u64 = 86_400;

fn write(path: &Path, text: &str, seconds_ago: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let time = SystemTime::now() - Duration::from_secs(seconds_ago);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = files.filter(|file| file.file_type().is_file());
    files.map(|f| (f.path().display().to_string(), fs::read(f.path()).unwrap())).collect()
}

#[test]
fn conversations_without_a_hook_call_are_found() {
    let mut home = Home::new();
    let config = home.path().join("other config");
    home.set("CLAUDE_CONFIG_DIR", &config.to_string_lossy());
    let folder = config.join("projects/-not-the-project");
    let said = |session: &str, text: &str| says_in(Path::new("/w/p"), session, 1, text);
    write(&folder.join("a.jsonl"), &said("a", "Remember: gangways are inspected on Mondays"), 3600);
    write(&folder.join("b.jsonl"), &said("b", "Remember: night shifts log in UTC"), 600);
    write(
        &folder.join("old.jsonl"),
        &said("c", "Remember: the tide gauge is calibrated in March"),
        29 * DAY,
    );
    write(&folder.join("now.jsonl"), &said("d", "Remember: this is being written"), 0);
    let before = contents(&config);
    tick(&home);
    let three = [
        "gangways are inspected on Mondays",
        "night shifts log in UTC",
        "the tide gauge is calibrated in March",
    ];
    assert_eq!(texts(&home), three);
    write(&folder.join("now.jsonl"), &said("d", "Remember: this is being written"), 120);
    tick(&home);
    assert_eq!(texts(&home), [three[0], three[1], three[2], "this is being written"]);
    for entry in entries(&home) {
        assert_eq!((&entry["project"], &entry["recalls"]), (&"/w/p".into(), &0.into()));
        assert_eq!(entry["source"]["channel"], "scan");
    }
    assert_eq!(contents(&config), before, "nothing is written into the assistant's folders");
}

#[test]
fn codex_rollouts_are_found_too() {
    let home = Home::new();
    let folder = home.path().join("home/.codex/sessions/2026/06/08");
    let rollout =
        fs::read_to_string(crate::support::fixture("transcripts/09-codex-rollout.jsonl")).unwrap();
    write(&folder.join("rollout-2026-06-08T14-00-00-0197c0de.jsonl"), &rollout, 600);
    tick(&home);
    assert_eq!(
        texts(&home),
        [
            "Never push to main without the harbour master label.",
            "The lint step is slow; run clippy only on changed crates from now on.",
            "`scripts/lint.sh` now lints only crates touched since main.",
        ]
    );
}
