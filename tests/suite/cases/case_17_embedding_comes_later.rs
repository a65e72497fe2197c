//! A note stored without its embedding is found and repaired.

use crate::support::Home;
use crate::support::standin::{Standin, Vectors};

#[test]
fn words_find_it_while_the_server_is_down_and_meaning_later() {
    let server = Standin::start();
    server.vectors(Vectors::default().rule("outer buoy", 0, 0.1).rule("where do pilots", 0, 0.2));
    server.embed_status(500);
    let mut home = Home::new();
    home.set("LIFECYCLE_EMBED__URL", &server.url());
    home.set("LIFECYCLE_EMBED__URL_MODEL", "standin");
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, "Pilots board at the outer buoy"]).success();
    assert_eq!(home.json(&["status"])["inbox"].as_u64().unwrap_or(0), 0);
    assert_eq!(home.json(&["status"])["unconnected"], 1, "status counts it");
    let down = home.json(&["search", "where do pilots board"]);
    assert_eq!(down["results"][0]["text"], "Pilots board at the outer buoy");
    assert_eq!(down["mode"], "lexical");
    assert!(down["notes"][0].as_str().unwrap().contains("words only"));
    assert_eq!(down["not_embedded"], 1);

    server.embed_status(200);
    home.run(&["run", "--phase", "buffer", "--phase", "connect"]).success();
    let up = home.json(&["search", "where do pilots board", "--explain"]);
    assert_eq!(up["mode"], "hybrid");
    assert_eq!(up["not_embedded"], 0);
    assert_eq!(home.json(&["status"])["unconnected"], 0, "after the run the count is zero");
    assert!(up["results"][0]["explanation"]["dense"]["raw"].as_f64().unwrap() > 0.9);

    // A search while it is down again says so and still finds it; no other model steps in.
    server.embed_status(500);
    let again = home.json(&["search", "where do pilots board"]);
    assert_eq!(again["mode"], "lexical");
    assert_eq!(again["results"].as_array().unwrap().len(), 1);
}
