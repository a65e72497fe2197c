use crate::support::merging::{BERTH, Merging, berth, text};

const PAGE: &str = "# p\n\n## Berths\n\n- Berths are numbered from the east.\n";

#[test]
fn a_merge_is_explained_and_taken_back() {
    let mut case = Merging::new("ollama");
    case.home.set("LIFECYCLE_NOW", "2026-06-10T03:30:00Z");
    std::fs::write(case.home.project().join("CLAUDE.md"), PAGE).unwrap();
    case.add(BERTH);
    case.server.replies(text(&berth()));
    case.home.run(&["run"]).success();
    let page = || std::fs::read_to_string(case.home.project().join("CLAUDE.md")).unwrap();
    assert!(page().contains("tankers included"), "{}", page());
    let listed = case.home.json(&["list", "--state", "routed"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let id = listed[0]["id"].as_str().unwrap().to_string();
    let why = case.home.run(&["why", &id]).success().out;
    for part in [
        "Berth buffer is 25 m",
        "Berth buffer of 25 m applies to tankers too",
        "Berth buffer shrinks to 15 m in winter",
        "standin",
        "CLAUDE.md",
        "2026-06-10 03:30:00",
    ] {
        assert!(why.contains(part), "{part} in {why}");
    }
    // The very line that was written, with its number, leads back to the entry.
    let number = page().lines().position(|line| line.contains("tankers included")).unwrap() + 1;
    let file = case.home.project().join("CLAUDE.md");
    let line = case.home.json(&["why", &format!("{}:{number}", file.display())]);
    assert_eq!(line["id"], id.as_str(), "{line}");
    assert_eq!(line["line"]["number"], number, "{line}");
    let merged = line["history"].as_array().unwrap();
    assert!(merged.iter().all(|step| step["tick"].is_i64()), "{line}");
    // The run, with its number, in the history; the reply in the account of calls.
    let history = case.home.json(&["history"]);
    assert_eq!(history[0]["started"], "2026-06-10T03:30:00Z", "{history}");
    let connection = rusqlite::Connection::open(case.home.database()).unwrap();
    let reply: String = connection
        .query_row("SELECT reply FROM call WHERE purpose <> 'canary'", [], |row| row.get(0))
        .unwrap();
    assert!(reply.contains("tankers included"), "{reply}");
    case.home.run(&["undo"]).success();
    assert!(case.states().iter().all(|(_, state)| state == "buffered"), "{:?}", case.states());
    assert_eq!(page(), PAGE);
}
