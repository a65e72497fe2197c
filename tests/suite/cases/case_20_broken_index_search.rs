//! Search's half of: anything derived can be thrown away and is rebuilt.

use crate::support::Home;
use serde_json::Value;
use std::path::PathBuf;

/// Files beside the database that hold nothing of its own.
fn derived(home: &Home) -> Vec<PathBuf> {
    let name = home.database().file_name().unwrap().to_string_lossy().into_owned();
    walkdir::WalkDir::new(home.store())
        .into_iter()
        .map(|item| item.unwrap().into_path())
        .filter(|path| path.is_file())
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with(&name))
        .filter(|path| !path.starts_with(home.store().join("inbox")))
        .collect()
}

#[test]
fn search_gives_the_same_notes_whatever_happens_to_derived_files() {
    let home = Home::new();
    let project = home.project().display().to_string();
    for n in 0..20 {
        let text = format!("Quay {n} takes ships of up to {} metres", 50 + n * 7);
        home.run(&["add", "--project", &project, &text]).success();
    }
    home.run(&["run", "--phase", "buffer", "--phase", "connect"]).success();
    let search = || -> Value { home.json(&["search", "quay for long ships"])["results"].clone() };
    let before = search();
    assert_eq!(before.as_array().unwrap().len(), 10);
    let junk: Vec<u8> = (0..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for file in derived(&home) {
        let whole = std::fs::read(&file).unwrap();
        for content in [Some(&whole[..whole.len().min(10)]), Some(junk.as_slice()), None] {
            match content {
                Some(bytes) => std::fs::write(&file, bytes).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            assert_eq!(search(), before, "{}", file.display());
            home.run(&["run", "--phase", "connect"]).success();
            assert_eq!(search(), before, "{}", file.display());
        }
    }
}
