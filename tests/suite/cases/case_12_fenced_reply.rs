use crate::support::merging::{BERTH, Merging, berth, text};

#[test]
fn words_around_the_object_are_understood() {
    let good = berth();
    for reply in [
        format!(
            "Here is the JSON you asked for:\n```json\n{good}\n```\nLet me know if you need more."
        ),
        format!("```\n{good}\n```"),
        format!("\u{feff}{good}"),
        format!("Sure! {good} Hope that helps {{:)}}"),
    ] {
        let case = Merging::new("openai-compatible");
        case.add(BERTH);
        case.server.replies(text(&reply));
        assert_eq!(case.run(), 0, "{reply}");
        assert_eq!(case.proven(), ["The berth buffer is 25 m, tankers included; 15 m in winter."]);
    }
}

#[test]
fn two_objects_or_none_are_a_failed_reply() {
    let good = berth();
    for reply in [
        format!("{good}\n{}\n", good.replace("25", "52")),
        "The set {25, 15} describes the buffer; no JSON today.".to_string(),
    ] {
        let case = Merging::new("openai-compatible");
        case.add(BERTH);
        case.server.replies(text(&reply));
        assert_eq!(case.run(), 6, "{reply}");
        case.untouched();
    }
}
