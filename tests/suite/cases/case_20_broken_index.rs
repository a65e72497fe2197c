//! Anything derived can be thrown away and is rebuilt.

use crate::support::Home;
use std::path::{Path, PathBuf};

const NOTES: usize = 20;

fn home() -> Home {
    let home = Home::new();
    let project = home.project();
    let project = project.to_str().unwrap();
    for n in 0..NOTES {
        let subject = ["quay gate", "invoice run", "night build", "tide table"][n % 4];
        let text = format!("The {subject} was changed for the {n}th time because of berth {n}");
        home.run(&["add", "--project", project, &text]).success();
    }
    home.run(&["run", "--phase", "connect"]).success();
    // The second run writes what the first one made.
    home.run(&["add", "--project", project, "Pilots board at the outer buoy"]).success();
    home.run(&["run", "--phase", "connect"]).success();
    home
}

fn derived(home: &Home) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(home.store().join("index")).unwrap();
    listing.map(|item| item.unwrap().path()).collect()
}

fn found(home: &Home) -> Vec<String> {
    let found = home.json(&["search", "quay"]);
    let hits = found.as_array().cloned().unwrap_or_else(|| {
        found["hits"].as_array().or(found["results"].as_array()).cloned().unwrap_or_default()
    });
    hits.iter().map(|hit| hit["id"].as_str().unwrap_or_default().to_string()).collect()
}

fn links(home: &Home) -> usize {
    home.json(&["graph"])["links"].as_array().unwrap().len()
}

fn check(home: &Home, what: &str, damage: impl Fn(&Path)) {
    let project = home.project();
    let (before, linked) = (found(home), links(home));
    assert!(!before.is_empty() && linked > 0);
    for file in derived(home) {
        damage(&file);
        assert_eq!(found(home), before, "search after: {what}");
        home.run(&["run", "--phase", "connect"]).success();
        // Something to connect makes the index be opened.
        let text = format!("The harbour clock was set again after {what}");
        home.run(&["add", "--project", project.to_str().unwrap(), &text]).success();
        home.run(&["run", "--phase", "connect"]).success();
        assert!(links(home) >= linked, "links after: {what}");
    }
}

#[test]
fn case_20_broken_index() {
    let home = home();
    assert!(!derived(&home).is_empty());
    check(&home, "a cut", |file| {
        let bytes = std::fs::read(file).unwrap();
        std::fs::write(file, &bytes[..10.min(bytes.len())]).unwrap();
    });
    check(&home, "junk", |file| std::fs::write(file, [0xa5; 4096]).unwrap());
    check(&home, "a removal", |file| std::fs::remove_file(file).unwrap());
    let store = std::fs::read(home.database()).unwrap();
    derived(&home).iter().for_each(|file| std::fs::write(file, b"x").unwrap());
    home.run(&["run", "--phase", "connect"]).success();
    assert_eq!(
        std::fs::read(home.database()).unwrap(),
        store,
        "nothing new: the store is not touched"
    );
}

#[test]
fn case_20_a_damaged_index_is_said_once_and_written_anew() {
    let home = home();
    derived(&home).iter().for_each(|file| std::fs::write(file, [7; 900]).unwrap());
    for args in [&["doctor", "--no-call"][..], &["doctor", "--repair"], &["status"]] {
        home.run(args).success();
    }
    let project = home.project();
    let project = project.to_str().unwrap();
    home.run(&["add", "--project", project, "The crane at berth 4 is out of order"]).success();
    let outcome = home.run(&["run", "--phase", "connect"]).success();
    assert_eq!(outcome.out.matches("was built anew").count(), 1, "{}", outcome.out);
    home.run(&["add", "--project", project, "The crane at berth 5 is out of order"]).success();
    let outcome = home.run(&["run", "--phase", "connect"]).success();
    assert!(!outcome.out.contains("was built anew"), "{}", outcome.out);
}
