use crate::support::merging::{Merging, merge, text};
use crate::support::standin::Vectors;

#[test]
fn odd_characters_of_a_reply_are_dropped() {
    let case = Merging::new("openai-compatible");
    case.server.vectors(Vectors::default().rule("hip list", 0, 0.1));
    case.add(
        r#"{"text": "Ship lists are sorted by name"}
{"text": "Each ship list shows the flag"}
{"text": "The ship list is printed at dawn"}
"#,
    );
    let good = merge(
        "Ship lists",
        "Ship lists @@are sorted by name, show the flag and are printed at dawn.",
    );
    case.server.replies(text(&good.replace("@@", "\\ud83d\\u0000\\u202e")));
    std::fs::write(case.home.project().join("CLAUDE.md"), "# p\n\n- Ships have flags.\n").unwrap();
    case.home.run(&["run"]);
    let written = std::fs::read_to_string(case.home.project().join("CLAUDE.md")).unwrap();
    assert!(written.contains("printed at dawn"), "{written}");
    assert!(!written.contains(['\0', '\u{202e}', '\u{fffd}']), "{written:?}");
    for (entry, _) in case.states() {
        assert!(!entry.contains(['\0', '\u{202e}', '\u{fffd}']), "{entry:?}");
    }
    assert_eq!(
        case.home.texts(&["--state", "routed"]),
        ["Ship lists are sorted by name, show the flag and are printed at dawn."]
    );
}
