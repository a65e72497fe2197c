use crate::support::merging::{BERTH, Merging, berth, text};

#[test]
fn the_merge_is_found_once_and_its_originals_only_as_history() {
    let case = Merging::new("ollama");
    case.add(BERTH);
    case.server.replies(text(&berth()));
    assert_eq!(case.run(), 0);
    let found = case.search(&["berth buffer"]);
    assert_eq!(found.len(), 1, "{found:?}");
    let all = case.search(&["berth buffer", "--all"]);
    assert_eq!(all.len(), 4, "{all:?}");
    let status = case.home.json(&["status"]);
    assert_eq!(
        (status["states"]["merged"].as_u64(), status["states"]["proven"].as_u64()),
        (Some(3), Some(1))
    );
}
