//! Adding what is already known never removes it.

use crate::support::Home;

const FACT: &str = "The dog kennel API is versioned by header";

fn finds(home: &Home) -> bool {
    let answer = home.json(&["search", "kennel API version"]);
    answer["results"].as_array().unwrap().iter().any(|hit| hit["text"] == FACT)
}

#[test]
fn adding_again_never_removes_and_brings_an_expired_note_back() {
    let home = Home::new();
    let project = home.project().display().to_string();
    for _ in 0..3 {
        home.run(&["add", "--project", &project, FACT]).success();
        assert!(finds(&home));
        home.run(&["run"]).success();
        assert!(finds(&home));
    }
    assert_eq!(home.texts(&["--all"]).len(), 1);
    let id = home.json(&["list"])[0]["id"].as_str().unwrap().to_string();
    home.run(&["forget", &id]).success();
    assert!(!finds(&home));
    home.run(&["add", "--project", &project, FACT]).success();
    home.run(&["run"]).success();
    assert!(finds(&home));
}
