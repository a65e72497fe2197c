use crate::support::merging::{Merging, merge, text};
use crate::support::standin::{Reply, Vectors};

const NOTES: &str = r#"{"text": "Install packages with npm", "created_at": "2026-03-01T10:00:00Z"}
{"text": "npm ci is what the pipeline runs", "created_at": "2026-03-02T10:00:00Z"}
{"text": "We moved from npm to pnpm; npm is no longer used", "created_at": "2026-05-20T10:00:00Z"}
"#;

fn home() -> Merging {
    let case = Merging::new("openai-compatible");
    case.server.vectors(
        Vectors::default()
            .rule("Install packages with npm", 0, 0.1)
            .rule("npm ci is what", 0, 0.2)
            .rule("We moved from npm", 0, 0.15)
            .rule("ackage", 0, 0.1),
    );
    case.add(NOTES);
    case
}

#[test]
fn the_new_fact_is_what_is_found_and_written() {
    let case = home();
    std::fs::write(case.home.project().join("CLAUDE.md"), "# p\n\n- Write tests.\n").unwrap();
    let good = merge(
        "Package manager",
        "Packages are installed with pnpm (npm was given up in May 2026).",
    );
    case.server.replies(text(&good));
    case.home.run(&["run"]);
    let found = case.search(&["which package manager"]);
    assert!(found[0].contains("pnpm"), "{found:?}");
    let old: Vec<_> =
        case.states().into_iter().filter(|(text, _)| !text.contains("pnpm")).collect();
    assert!(old.iter().all(|(_, state)| state == "merged"), "{old:?}");
    let history = case.home.json(&["search", "which package manager", "--all"]);
    let hits = history["results"].as_array().unwrap();
    let replaced = hits.iter().filter(|hit| hit["state"] == "merged").collect::<Vec<_>>();
    assert!(!replaced.is_empty(), "{history}");
    let new = case.home.json(&["list", "--all"]);
    let new = new.as_array().unwrap().iter().find(|entry| entry["text"] == found[0]).unwrap();
    assert!(replaced.iter().all(|hit| hit["lives_on_in"] == new["id"]), "{history}");
    let written = std::fs::read_to_string(case.home.project().join("CLAUDE.md")).unwrap();
    assert!(written.contains("pnpm"), "{written}");
    assert!(!written.contains("with npm\n") && !written.contains("npm ci"), "{written}");
}

#[test]
fn a_reply_that_only_deletes_deletes_nothing() {
    let case = home();
    case.server.replies([Reply::text(r#"{"delete":["n1","n2"]}"#)]);
    assert_eq!(case.run(), 6);
    let states = case.states();
    assert_eq!(states.len(), 3);
    assert!(states.iter().all(|(_, state)| state == "buffered"), "{states:?}");
}
