//! Plan, apply, undo: a plan says the same twice, apply does what it says, undo leaves things as they
//! were before. Over stores whose notes are drawn at random.
//!
//! `LIFECYCLE_TEST_STORES` sets how many (3 by default).

use crate::support::Home;
use crate::support::standin::{Standin, Vectors};
use serde_json::Value;
use std::collections::BTreeMap;

const SUBJECTS: [&str; 5] = ["berth buffer", "crane hoist", "mail relay", "pilot boat", "fog horn"];
const SAYS: [&str; 4] = ["is", "was raised to", "must stay at", "never falls below"];
const CHATTER: [&str; 4] =
    ["ok, done for now", "pushed the branch", "thanks, looks fine", "see you tomorrow"];

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

fn notes(seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    (0..8 + dice.roll(10))
        .map(|n| match dice.roll(5) {
            0 => format!("{} ({n})", CHATTER[dice.roll(4)]),
            _ => format!(
                "The {} {} {} m in yard {}",
                SUBJECTS[dice.roll(5)],
                SAYS[dice.roll(4)],
                5 + dice.roll(3),
                dice.roll(4)
            ),
        })
        .collect()
}

/// Id to text, state, reprieves and recalls.
fn entries(home: &Home) -> BTreeMap<String, String> {
    let listed = home.json(&["list", "--all"]);
    let word = |entry: &Value, key: &str| entry[key].to_string();
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let keys = ["text", "state", "reprieves", "recalls", "protected"];
            (word(entry, "id"), keys.map(|key| word(entry, key)).join(" | "))
        })
        .collect()
}

fn round(seed: u64) {
    let server = Standin::start();
    let mut vectors = Vectors::default();
    for (axis, subject) in SUBJECTS.iter().enumerate() {
        vectors = vectors.rule(subject, axis, 0.1);
    }
    server.vectors(vectors);
    let mut home = Home::new();
    for (name, value) in [
        ("EMBED__URL", server.url().as_str()),
        ("EMBED__URL_MODEL", "standin"),
        ("AGE__NEWER_ENTRIES", "3"),
        ("AGE__MAX_EXPIRE_FREE", "100"),
        ("NOW", "2026-06-10T00:00:00Z"),
    ] {
        home.set(&format!("LIFECYCLE_{name}"), value);
    }
    let page = "# p\n\n## Yard\n\n- Yards are numbered.\n";
    home.put("CLAUDE.md", page);
    for note in notes(seed) {
        home.run(&["add", "--project", "p", &note]).success();
    }
    let before = (entries(&home), home.files());
    let plan = |name: &str| {
        home.run(&["run", "--dry-run", "--plan", name]);
        std::fs::read_to_string(home.path().join(name)).unwrap()
    };
    let (one, two) = (plan("one.json"), plan("two.json"));
    assert_eq!(one, two, "seed {seed}: a plan is the same twice");
    assert_eq!((entries(&home), home.files()), before, "seed {seed}: planning changes nothing");

    let planned: Value = serde_json::from_str(&one).unwrap();
    let applied = home.run(&["apply", "one.json", "--json"]);
    let report: Value = serde_json::from_str(&applied.out).unwrap();
    let steps = |value: &Value| -> Vec<(Value, Value)> {
        let steps = value["steps"].as_array().unwrap().iter();
        steps.map(|step| (step["n"].clone(), step["step"].clone())).collect()
    };
    assert_eq!(steps(&report), steps(&planned), "seed {seed}: what is planned is done");
    let after = entries(&home);
    for id in before.0.keys() {
        assert!(after.contains_key(id), "seed {seed}: {id} is lost");
    }
    if steps(&planned).is_empty() {
        return;
    }
    home.run(&["undo"]).success();
    assert_eq!(entries(&home), before.0, "seed {seed}: undone");
    assert_eq!((home.get("CLAUDE.md").as_str(), home.files()), (page, before.1), "seed {seed}");
}

#[test]
fn plan_apply_undo_is_nothing() {
    let stores = std::env::var("LIFECYCLE_TEST_STORES").ok().and_then(|text| text.parse().ok());
    let stores: u64 = stores.unwrap_or(3);
    (0..stores).for_each(|n| round(n * 7919 + 1));
    println!("{stores} stores");
}
