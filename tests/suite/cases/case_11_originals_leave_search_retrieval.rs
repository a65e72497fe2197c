//! After consolidation search does not return the fragments as well.

use crate::support::Home;
use crate::support::standin::{Reply, Standin, Vectors};
use serde_json::{Value, json};

const NOTES: [&str; 3] = [
    "Berth buffer is 25 m",
    "Berth buffer of 25 m applies to tankers too",
    "Berth buffer shrinks to 15 m in winter",
];
const KNOWLEDGE: &str = "The berth buffer is 25 m, tankers included; 15 m in winter.";

fn served(server: &Standin) -> Home {
    let mut vectors = Vectors::default();
    for (words, lean) in [("buffer is 25", 0.1), ("tankers", 0.2), ("winter", 0.15)] {
        vectors = vectors.rule(words, 0, lean);
    }
    server.vectors(vectors.rule("berth buffer", 0, 0.1));
    let reply = json!({"entries": [{"kind": "insight", "sources": ["n1", "n2", "n3"],
        "text": KNOWLEDGE, "title": "Berth buffer"}]});
    server.replies([Reply::text(reply.to_string())]);
    let mut home = Home::new();
    home.set("LIFECYCLE_EMBED__URL", &server.url());
    home.set("LIFECYCLE_EMBED__URL_MODEL", "standin");
    home.set("LIFECYCLE_CONSOLIDATE__MODEL", "m");
    let config = home.path().join("config.toml");
    let url = server.url();
    std::fs::write(
        &config,
        format!("[consolidate.providers.m]\nkind = \"openai-compatible\"\nurl = \"{url}\"\nmodel = \"x\"\n"),
    )
    .unwrap();
    home.set("LIFECYCLE_CONFIG", &config.display().to_string());
    home
}

fn texts(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["text"].as_str().unwrap()).collect()
}

#[test]
fn merged_knowledge_once_and_the_originals_only_on_request() {
    let server = Standin::start();
    let home = served(&server);
    let project = home.project().display().to_string();
    for note in NOTES {
        home.run(&["add", "--project", &project, note]).success();
    }
    home.run(&["run", "--phase", "buffer", "--phase", "connect", "--phase", "consolidate"])
        .success();
    let found = home.json(&["search", "berth buffer"]);
    assert_eq!(texts(&found), [KNOWLEDGE]);
    assert_eq!(found["mode"], "hybrid");
    let proven = found["results"][0]["id"].clone();

    let all = home.json(&["search", "berth buffer", "--all"]);
    let mut shown = texts(&all);
    shown.sort_unstable();
    let mut wanted = [NOTES.as_slice(), &[KNOWLEDGE]].concat();
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
    for hit in all["results"].as_array().unwrap() {
        if hit["text"] == KNOWLEDGE {
            assert_eq!(hit["made_from"].as_array().unwrap().len(), 3);
        } else {
            assert_eq!(hit["lives_on_in"], proven);
        }
    }
    let listed = home.json(&["list", "--all"]);
    let states: Vec<(&str, bool)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["state"].as_str().unwrap(), entry["active"].as_bool().unwrap()))
        .collect();
    assert_eq!(states.iter().filter(|state| **state == ("merged", false)).count(), 3);
    assert_eq!(states.iter().filter(|(_, active)| *active).count(), 1);
}
