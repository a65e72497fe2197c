use crate::support::merging::{BERTH, Merging, berth, text};
use crate::support::standin::Reply;

#[test]
fn the_answer_is_what_follows_the_reasoning() {
    let case = Merging::new("openai-compatible");
    case.add(BERTH);
    let wrong = berth().replace("25", "99");
    case.server.replies(text(&format!("<think>\nMaybe {wrong}? No.\n</think>\n{}", berth())));
    assert_eq!(case.run(), 0);
    assert!(case.proven()[0].contains("25 m"));
    nothing_of_it(&case);
}

/// No word of the reasoning is in any file of the store or of the project.
fn nothing_of_it(case: &Merging) {
    for folder in [case.home.store(), case.home.project()] {
        for file in walkdir::WalkDir::new(folder).into_iter().flatten() {
            if file.file_type().is_file() {
                let bytes = std::fs::read(file.path()).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("<think>") && !text.contains("99 m"), "{:?}", file.path());
            }
        }
    }
}

#[test]
fn reasoning_alone_is_no_answer() {
    let wrong = berth().replace("25", "99");
    let raw = serde_json::json!({"model": "standin", "message": {"role": "assistant", "content": "", "thinking": wrong}, "done": true});
    for reply in [
        Reply::text(format!("<think>\nThe notes say {wrong}")),
        Reply::json(200, &raw),
        Reply::text(""),
    ] {
        let case = Merging::new("ollama");
        case.add(BERTH);
        case.server.replies([reply]);
        assert_eq!(case.run(), 6);
        case.untouched();
        nothing_of_it(&case);
        assert!(case.home.files().is_empty(), "nothing is written");
        let status = case.home.run(&["status"]).success().out;
        assert!(status.contains("reply") || status.contains("reasoning"), "{status}");
    }
}
