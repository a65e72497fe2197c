use crate::support::merging::{BERTH, Merging, berth, text};

#[test]
fn there_is_no_moment_without_the_fact() {
    let case = Merging::new("ollama");
    case.add(BERTH);
    case.connect();
    case.server.replies(text(&berth()));
    case.server.embed_status(500);
    assert_eq!(case.run(), 6);
    case.untouched();
    let found = case.search(&["berth buffer"]);
    assert!(found.iter().any(|text| text.contains("25 m")), "{found:?}");
    case.server.embed_status(200);
    assert_eq!(case.run(), 0);
    let found = case.search(&["berth buffer"]);
    assert!(found[0].starts_with("The berth buffer is 25 m"), "{found:?}");
}
