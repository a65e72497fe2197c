use crate::support::merging::{Merging, text};
use crate::support::standin::Vectors;

#[test]
fn a_model_that_sees_a_conflict_retires_nothing() {
    let case = Merging::new("openai-compatible");
    case.server.vectors(
        Vectors::default()
            .rule("release manager", 0, 0.1)
            .rule("administers", 0, 0.2)
            .rule("audit log", 0, 0.15)
            .rule("on leave", 0, 0.12)
            .rule("Ines Falk", 0, 0.1),
    );
    case.add(
        r#"{"text": "Ines Falk is the release manager of tide-gate"}
{"text": "Ines Falk administers the tide-gate repository"}
{"text": "Ines Falk asked for an audit log in tide-gate"}
{"text": "Ines Falk is on leave in August 2026"}
"#,
    );
    case.server.replies(text(
        r#"{"conflicts":[["n1","n3"]],"entries":[],"reason":"superseded by note 2"}"#,
    ));
    assert_eq!(case.run(), 6);
    let states = case.states();
    assert!(states.iter().all(|(_, state)| state == "buffered"), "{states:?}");
    let found = case.search(&["Ines Falk"]);
    for fact in ["release manager", "administers", "audit log", "on leave"] {
        assert!(found.iter().any(|text| text.contains(fact)), "{fact}: {found:?}");
    }
}
