//! One run does not throw away most of the store.

use crate::support::{Home, fixture};

#[test]
fn the_protected_stay_and_the_rest_is_not_swept_away() {
    let home = Home::new();
    let notes = fixture("cases/45-mass-expiry-brake/notes.jsonl").display().to_string();
    home.run(&["add", "--file", &notes]).success();
    let run = home.run(&["run", "--now", "2027-06-01T00:00:00Z"]);
    assert!(run.said().contains("records that a running number tells apart"), "{}", run.out);
    let active = home.texts(&[]);
    assert!(active.len() >= 45, "only {} of 60 are left", active.len());
    for protected in ["Observation 07: rope", "Observation 21: valve", "Observation 40: hatch"] {
        assert!(active.iter().any(|text| text == protected), "{protected}");
    }
    assert_eq!(home.texts(&["--all"]).len(), 60);
}

#[test]
fn many_expiries_are_a_question_and_can_be_taken_back() {
    let home = Home::new();
    let project = home.project().display().to_string();
    for n in 0..40 {
        let words = ["lamp", "rope", "crate", "valve", "hatch"][n % 5];
        home.run(&["add", "--project", &project, &format!("ok, {words} {n} done for now")])
            .success();
    }
    let asked = home.run(&["--set", "connect.max_links=0", "run"]).code(7);
    assert!(asked.said().contains("--yes"), "{}", asked.out);
    assert!(asked.said().contains(" of 40 "), "it says how many: {}", asked.out);
    assert_eq!(home.texts(&[]).len(), 40);
    let allowed = home.json(&["--set", "connect.max_links=0", "run", "--yes"]);
    let expired = allowed["counts"]["expire"].as_u64().unwrap();
    assert!(expired > 10, "{expired}");
    let gone = home.json(&["list", "--state", "expired"]);
    let first = &gone[0];
    assert!(first["state_reason"].as_str().unwrap().contains("isolated"));
    assert!(first["state_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{first}");
    home.run(&["restore", first["id"].as_str().unwrap()]).success();
    assert!(home.texts(&[]).iter().any(|text| first["text"] == text.as_str()), "it is active");
    home.run(&["undo"]).success();
}
