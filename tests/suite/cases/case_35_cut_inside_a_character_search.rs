//! Search's half of: shortened text never breaks a character.

use crate::support::Home;
use unicode_segmentation::UnicodeSegmentation;

#[test]
fn every_excerpt_ends_at_a_whole_grapheme() {
    let home = Home::new();
    let units = ["固", "é", "👩‍👩‍👧‍👦", "e\u{301}", "🇩🇪"];
    let mut texts = Vec::new();
    for unit in units {
        for bytes in [80usize, 100, 160, 200, 256, 500, 1000, 25_000] {
            let text = "x".repeat(bytes % 7) + &unit.repeat(bytes.div_ceil(unit.len()) + 40);
            texts.push(text);
        }
    }
    let lines: String =
        texts.iter().map(|text| serde_json::json!({"text": text}).to_string() + "\n").collect();
    let file = home.path().join("notes.jsonl");
    std::fs::write(&file, lines).unwrap();
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, "--file", &file.display().to_string()]).success();
    let answer = home.json(&["search", "固固", "-k", "100"]);
    let found = answer["results"].as_array().unwrap();
    assert!(!found.is_empty());
    for hit in found.iter().filter(|hit| hit["truncated"] == true) {
        let shown = hit["text"].as_str().unwrap().trim_matches('…');
        for grapheme in shown.graphemes(true) {
            assert!(grapheme == "x" || units.contains(&grapheme), "{grapheme:?}");
        }
    }
    home.run(&["search", "固固"]).success();
}
