use super::embedding::{home_at, run};
use crate::support::standin::{Standin, Vectors};

const NOTES: &str = include_str!("../../fixtures/cases/03-poison-note/notes.txt");
const VECTORS: &str = include_str!("../../fixtures/cases/03-poison-note/vectors.json");

#[test]
fn it_is_tried_a_bounded_number_of_times_and_costs_the_others_nothing() {
    let server = Standin::start();
    server.vectors(Vectors::parse(VECTORS)).max_embed_chars(400);
    let home = home_at(&server.url());
    let project = home.project().display().to_string();
    for note in NOTES.lines() {
        home.run(&["add", "--project", &project, note]).success();
    }
    let poison = NOTES.lines().max_by_key(|note| note.len()).unwrap();

    let first = run(&home);
    assert_eq!(first.code, 6, "an unfinished run does not look like a clean one: {}", first.out);
    let status = home.json(&["status"]);
    assert_eq!(status["links"], 3, "the short notes are embedded and linked: {status}");
    (1..6).for_each(|_| _ = run(&home));

    let status = home.json(&["status"]);
    let parked = status["parked"].as_array().unwrap();
    assert_eq!(parked.len(), 1, "{status}");
    assert_eq!((&parked[0]["parked"], &parked[0]["attempts"]), (&true.into(), &3.into()));
    assert!(parked[0]["reason"].as_str().unwrap().contains("400"), "{status}");
    let listed = home.json(&["list"]);
    let kept = listed.as_array().unwrap().iter().find(|entry| entry["id"] == parked[0]["entry"]);
    assert_eq!(kept.unwrap()["text"], poison, "its text is complete");

    // Nobody has looked whether something connects to it, so it does not age.
    home.run(&["--set", "age.newer_entries=0", "run", "--phase", "age", "--yes"]);
    let after = home.json(&["list"]);
    let stays = after.as_array().unwrap().iter().any(|entry| entry["id"] == parked[0]["entry"]);
    assert!(stays, "{after}");

    let asked = |text: &str| {
        let texts = server.embeds();
        texts.iter().filter(|request| request.json()["input"].to_string().contains(text)).count()
    };
    let before = asked(poison);
    run(&home);
    assert_eq!(asked(poison), before, "what is parked is not sent again");
    assert!(before <= 12, "sent {before} times in three attempts");
}
