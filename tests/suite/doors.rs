//! The door before a hosted model: what leaves, and what the report says of it.
//!
//! The stand-in is asked under the address `0.0.0.0`, which is this machine and no loopback name, so
//! that it counts as a hosted model.

use crate::observe::Talk;
use crate::support::merging::Merging;
use rusqlite::Connection;
use std::fs;

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
const BADGE: &str = "TIDE-471122";
const PATTERN: &str = "[redact.patterns]\ntide = \"TIDE-[0-9]{6}\"\n";

/// A home with a model at the stand-in, on this machine or as if it were elsewhere.
fn asking(hosted: bool) -> Merging {
    let case = Merging::new("openai-compatible");
    if hosted {
        let url = case.server.url();
        let here = format!("kind = \"openai-compatible\"\nurl = \"{url}\"\n");
        let there = here.replace("127.0.0.1", "0.0.0.0") + "hosted = true\n";
        settings(&case, |text| {
            assert!(text.contains(&here));
            text.replace(&here, &there)
                .replace("[consolidate]\n", "[consolidate]\nlocal_only = false\n")
        });
    }
    case
}

fn settings(case: &Merging, change: impl Fn(&str) -> String) {
    let file = case.home.path().join("home/.config/lifecycle/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, change(&text)).unwrap();
}

/// Every request for words, as it came over the wire.
fn bodies(case: &Merging) -> Vec<String> {
    let chats = case.server.chats();
    assert!(!chats.is_empty(), "nothing was asked");
    chats.iter().map(|chat| String::from_utf8_lossy(&chat.body).into_owned()).collect()
}

/// Notes that hold a token (as a store of an earlier rule set may) and a badge, of whose shape the
/// user tells only later.
fn merged(hosted: bool) -> (Merging, String) {
    let case = asking(hosted);
    case.add(&format!(
        "{{\"text\": \"Berth buffer is 25 m for {BADGE} and PLANTED\"}}\n\
         {{\"text\": \"Berth buffer of 25 m applies to tankers too, see {BADGE}\"}}\n\
         {{\"text\": \"Berth buffer shrinks to 15 m in winter\"}}\n"
    ));
    case.connect();
    let planted = Connection::open(case.home.database())
        .unwrap()
        .execute("UPDATE entry SET text = replace(text, 'PLANTED', ?1)", [TOKEN])
        .unwrap();
    assert_eq!(planted, 3);
    settings(&case, |text| format!("{text}{PATTERN}"));
    let run = case.home.run(&["run", "--phase", "consolidate"]);
    let said = run.said();
    (case, said)
}

#[test]
fn what_is_sent_to_a_hosted_model_is_redacted_and_the_report_counts_it() {
    let (case, said) = merged(true);
    for body in bodies(&case) {
        assert!(body.contains("BEGIN NOTES"), "{body}");
        assert!(!body.contains(TOKEN) && !body.contains(BADGE), "{body}");
        assert!(body.contains("[redacted:github-token]"), "{body}");
        assert_eq!(body.matches("[redacted:tide]").count(), 2, "{body}");
    }
    let counted = said.split("redacted before asking a hosted model: ").nth(1);
    let counted = counted.unwrap_or_else(|| panic!("{said}"));
    // Each request is counted, also one that is repeated.
    let asked = bodies(&case).len();
    let wanted = format!("github-token {asked}, tide {}", 2 * asked);
    assert!(counted.starts_with(&wanted), "{wanted}: {counted}");
    let report = case.home.run(&["report"]).success();
    assert!(report.said().contains("redacted before asking a hosted model"), "{}", report.out);
    for text in [report.out, said] {
        assert!(!text.contains(TOKEN) && !text.contains(BADGE), "{text}");
    }
}

#[test]
fn a_model_on_this_machine_is_no_such_door() {
    let (case, said) = merged(false);
    assert!(bodies(&case).iter().all(|body| body.contains(BADGE)));
    assert!(!said.contains("asking a hosted model"), "{said}");
}

#[test]
fn what_the_observer_sends_to_a_hosted_model_is_redacted_and_counted() {
    let mut case = asking(true);
    case.home.set("LIFECYCLE_OBSERVE__ENABLED", "true");
    case.home.set("LIFECYCLE_OBSERVE__PER_TICK", "0");
    Talk::new(&case.home.project(), "s")
        .user(&format!("Open the gate with {BADGE}."))
        .bash(&format!("gate open {BADGE}"), &format!("opened for {BADGE} by {TOKEN}"))
        .edit("src/gate.rs", "fn gate() {}")
        .end(&case.home);
    case.home.run(&["run", "--phase", "buffer"]);
    let database = Connection::open(case.home.database()).unwrap();
    let waiting: String =
        database.query_row("SELECT batch FROM batch", [], |row| row.get(0)).unwrap();
    assert!(waiting.contains(BADGE) && !waiting.contains(TOKEN), "{waiting}");
    settings(&case, |text| format!("{text}{PATTERN}"));
    case.home.set("LIFECYCLE_OBSERVE__PER_TICK", "5");
    let said = case.home.run(&["run", "--phase", "buffer"]).said();
    for body in bodies(&case) {
        assert!(body.contains("BEGIN EVENTS") && body.contains("[redacted:tide]"), "{body}");
        assert!(!body.contains(BADGE) && !body.contains(TOKEN), "{body}");
    }
    let counted = said.split("redacted before asking a hosted model: ").nth(1);
    assert!(counted.is_some_and(|counted| counted.starts_with("tide 3")), "{said}");
}
