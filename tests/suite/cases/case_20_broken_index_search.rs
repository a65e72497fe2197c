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

/// Every broken file at once: what looks and what rebuilds can be started all the same.
#[test]
fn doctor_and_reindex_start_over_broken_files_and_leave_the_store_alone() {
    let home = Home::new();
    let project = home.project().display().to_string();
    for n in 0..8 {
        let text = format!("Quay {n} takes ships of up to {} metres", 50 + n * 7);
        home.run(&["add", "--project", &project, &text]).success();
    }
    home.run(&["run", "--phase", "buffer", "--phase", "connect"]).success();
    // The second run writes what the first one made.
    home.run(&["add", "--project", &project, "Pilots board at the outer buoy"]).success();
    home.run(&["run", "--phase", "connect"]).success();
    let found = || home.json(&["search", "quay for long ships"])["results"].clone();
    let (before, entries) = (found(), home.json(&["list", "--all"]));
    let index = || -> Vec<PathBuf> {
        let folder = home.store().join("index");
        derived(&home).into_iter().filter(|path| path.starts_with(&folder)).collect()
    };
    assert!(!index().is_empty());
    for args in [&["doctor", "--no-call"][..], &["doctor", "--repair"], &["reindex"]] {
        index().into_iter().for_each(|file| std::fs::write(file, [0xa5; 700]).unwrap());
        home.run(args).success();
        assert_eq!(found(), before, "{args:?}");
        assert_eq!(home.json(&["list", "--all"]), entries, "{args:?}");
    }
}
