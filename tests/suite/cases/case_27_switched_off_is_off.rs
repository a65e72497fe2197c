//! A project that opts out is not captured (the half of the case about the opt-out).

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use std::fs;

fn no_trace(home: &Home, of: &str) {
    for file in walkdir::WalkDir::new(home.store()).into_iter().flatten() {
        if file.file_type().is_file() {
            let bytes = fs::read(file.path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(of), "{:?}", file.path());
        }
    }
}

#[test]
fn nothing_of_a_project_that_opts_out_is_stored() {
    let home = Home::new();
    fs::write(home.project().join(".lifecycle-ignore"), "").unwrap();
    let file = home.path().join("hush.jsonl");
    fs::write(&file, says(&home, 1, "Remember: the vault is behind the map")).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    tick(&home);
    let refused = home.run(&["add", "--project", "p", "the vault is behind the map"]).code(7);
    assert!(refused.err.contains(".lifecycle-ignore"), "{}", refused.err);
    assert_eq!(texts(&home), [""; 0]);
    no_trace(&home, "vault");
    no_trace(&home, "hush.jsonl");
    // What was said while it was off stays out; what is said later counts.
    fs::remove_file(home.project().join(".lifecycle-ignore")).unwrap();
    let more = says(&home, 2, "Remember: the map hangs upside down");
    fs::write(&file, fs::read_to_string(&file).unwrap() + &more).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    tick(&home);
    assert_eq!(texts(&home), ["the map hangs upside down"]);
}

#[test]
fn an_excluded_project_is_not_captured() {
    let home = Home::new();
    let file = home.path().join("t.jsonl");
    fs::write(&file, says(&home, 1, "Remember: the vault is behind the map")).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    let exclude = format!("capture.exclude=[\"{}\"]", home.project().display());
    home.run(&["--set", &exclude, "run", "--phase", "buffer"]).success();
    assert_eq!(texts(&home), [""; 0]);
}
