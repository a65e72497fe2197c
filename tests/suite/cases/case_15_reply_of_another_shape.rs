use crate::support::merging::{BERTH, Merging, berth, text};

#[test]
fn a_wrong_shape_is_a_failed_reply() {
    for reply in [
        r#"["The berth buffer is 25 m."]"#,
        r#"{"entries":[{"title":"Berth","text":25,"sources":["n1","n2","n3"]}]}"#,
        "null",
        r#"{"entries":[{"title":"Berth","text":null,"sources":["n1","n2","n3"]}]}"#,
        r#"{"entries":[{"title":"Berth","text":"null","sources":["n1","n2","n3"]}]}"#,
        r#"{"entries":[{"title":"Berth","sources":["n1","n2","n3"]}]}"#,
        r#"{"entries":null}"#,
        r#"{"text":"The berth buffer is 25 m."}"#,
        r#"{"entries":[{"title":"Berth","text":"","sources":["n1","n2","n3"]}]}"#,
        r#"{"properties":{"entries":{"type":"array"}},"type":"object"}"#,
    ] {
        let case = Merging::new("openai-compatible");
        case.add(BERTH);
        case.server.replies(text(reply));
        assert_eq!(case.run(), 6, "{reply}");
        case.untouched();
    }
}

#[test]
fn an_unknown_extra_field_is_no_fault() {
    let case = Merging::new("openai-compatible");
    case.add(BERTH);
    case.server.replies(text(&berth().replacen('{', "{\"mood\":\"good\",", 1)));
    assert_eq!(case.run(), 0);
    assert_eq!(case.proven().len(), 1);
}
