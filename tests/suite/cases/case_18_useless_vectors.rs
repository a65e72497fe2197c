use super::embedding::{home_at, run};
use crate::support::Home;
use crate::support::standin::{Standin, Vectors};

/// What the server answers for texts without a rule of their own.
fn useless() -> [Vectors; 4] {
    let with = |fallback: &str| Vectors { fallback: fallback.into(), ..Vectors::default() };
    [with("zero"), with("nan"), with("empty"), Vectors { dims: 32, ..Vectors::default() }]
}

fn waiting(home: &Home) -> serde_json::Value {
    home.json(&["status"])["unconnected"].clone()
}

#[test]
fn they_link_with_nothing_and_are_embedded_again_once_the_server_is_sound() {
    let server = Standin::start();
    let home = home_at(&server.url());
    let project = home.project().display().to_string();
    let add = |text: &str| _ = home.run(&["add", "--project", &project, text]).success();
    add("A first quay with a sound vector of 64 numbers");
    run(&home).success();
    let notes = ["Alpha quay is dredged in May", "Bravo quay has no crane"];
    let more = ["Charlie quay floods at spring tide", "Delta quay is leased"];
    for (at, (vectors, note)) in
        useless().into_iter().zip(notes.into_iter().chain(more)).enumerate()
    {
        server.vectors(vectors);
        add(note);
        run(&home).code(6);
        assert_eq!(waiting(&home), at + 1, "reported as without a vector");
        let status = home.json(&["status"]);
        assert_eq!(status["links"], 0, "{status}");
        assert_eq!(status["parked"].as_array().unwrap().len(), 0, "no text is to blame: {status}");
        assert_eq!(status["clusters"].as_array().unwrap().len(), 0, "{status}");
        let order = || home.json(&["search", "quay"])["results"].to_string();
        assert_eq!(order(), order(), "the order is stable");
        home.run(&["search", "quay", "--json"]).success();
    }
    server.vectors(Vectors::default());
    run(&home).success();
    assert_eq!(waiting(&home), 0);
    let found = home.json(&["search", "spring tide"]).to_string();
    assert!(found.contains(more[0]), "{found}");
}
