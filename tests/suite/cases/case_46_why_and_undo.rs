use crate::support::merging::{BERTH, Merging, berth, text};

#[test]
fn a_merge_is_explained_and_taken_back() {
    let case = Merging::new("ollama");
    case.add(BERTH);
    case.server.replies(text(&berth()));
    case.run();
    let listed = case.home.json(&["list", "--state", "proven"]);
    let id = listed[0]["id"].as_str().unwrap().to_string();
    let why = case.home.run(&["why", &id]).success().out;
    for part in ["Berth buffer is 25 m", "applies to tankers", "15 m in winter", "standin"] {
        assert!(why.contains(part), "{part} in {why}");
    }
    case.home.run(&["undo"]).success();
    assert!(case.states().iter().all(|(_, state)| state == "buffered"), "{:?}", case.states());
}
