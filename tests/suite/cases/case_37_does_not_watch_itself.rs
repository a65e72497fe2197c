//! Conversations that the product caused are not taken in.

use crate::capture::{end_of, hook, says, says_in, texts, tick};
use crate::support::Home;
use std::fs;

#[test]
fn conversations_that_the_product_caused_are_not_taken_in() {
    let mut home = Home::new();
    let projects = home.path().join("home/.claude/projects/-w-p");
    fs::create_dir_all(&projects).unwrap();
    let write = |name: &str, text: String| {
        let file = projects.join(name);
        fs::write(&file, text).unwrap();
        let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::options().write(true).open(&file).unwrap().set_modified(hour_ago).unwrap();
        file
    };
    let fact = "Remember: this must not be learned";
    // Held in the engine's own folder: by the event's word, or by the lines' own.
    let told = write("told.jsonl", says(&home, 1, fact));
    write("inside.jsonl", says_in(&home.store().join("work"), "i", 1, fact));
    // Begins with the engine's own prompt.
    write(
        "prompt.jsonl",
        says(&home, 1, "<lifecycle-prompt>\nMerge these.") + &says(&home, 2, fact),
    );
    hook(&home, &end_of(&told, &home.store()));
    home.set("LIFECYCLE_INTERNAL", "1");
    hook(&home, &end_of(&home.path().join("internal.jsonl"), &home.project()));
    assert_eq!(fs::read_dir(home.store().join("inbox")).unwrap().count(), 1);
    home.variables.clear();
    for _ in 0..3 {
        tick(&home);
        assert_eq!(texts(&home), [""; 0]);
    }
    for _ in 0..2 {
        home.run(&["run"]).success();
        assert_eq!(home.texts(&["--all"]), [""; 0]);
    }
    let status = home.json(&["status"]);
    assert_eq!(status["calls"].as_array().unwrap().len(), 0, "no model is asked: {status}");
    assert_eq!(fs::read_dir(&projects).unwrap().count(), 3);
}
