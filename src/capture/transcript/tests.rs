#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use std::io::Write;

const FIXTURES: &str = "tests/fixtures/transcripts";

fn read_all(path: &Path, cursor: &Cursor) -> (Reading, Vec<Message>) {
    let mut messages = Vec::new();
    let reading =
        read(path, cursor, Limits::default(), &mut |part, _| messages.extend_from_slice(part));
    (reading.unwrap(), messages)
}

fn prompts(messages: &[Message]) -> Vec<&str> {
    let prompt = |message| match message {
        &Message { content: Content::Prompt(ref text), .. } => Some(text.as_str()),
        _ => None,
    };
    messages.iter().filter_map(prompt).collect()
}

#[test]
fn the_samples_give_the_counts_that_are_expected() {
    let text = std::fs::read_to_string(format!("{FIXTURES}/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, wanted) in expected.as_object().unwrap() {
        let (reading, messages) = read_all(&Path::new(FIXTURES).join(name), &Cursor::default());
        let field = |name: &str| wanted[name].as_u64();
        let count = prompts(&messages).len() as u64;
        assert_eq!(reading.prompts, count, "{name}");
        if name.starts_with("02") {
            // The second prompt is in the third line; the fourth is left for the next read.
            assert_eq!((reading.unparsable, count), (0, 2));
        } else if let Some(unparsable) = field("unparsable_lines") {
            assert_eq!(reading.unparsable, unparsable, "{name}");
        }
        let wanted = field("genuine_user_prompts_without_abandoned_branch")
            .or(field("genuine_user_prompts"));
        assert!(wanted.is_none_or(|wanted| wanted == count), "{name}: {count}");
        assert!(
            field("genuine_user_prompts_at_least").is_none_or(|least| count >= least),
            "{name}"
        );
        assert!(field("genuine_user_prompts_at_most").is_none_or(|most| count <= most), "{name}");
    }
}

#[test]
fn a_rewound_branch_and_side_talk_are_left_out() {
    let path = Path::new(FIXTURES).join("04-sidechain-compact-branch.jsonl");
    let (_, messages) = read_all(&path, &Cursor::default());
    let text = format!("{messages:?}");
    for absent in [
        "keep the CSV as a fallback",
        "SIDECHAIN",
        "Default stays",
        "Total cost",
        "being continued",
    ] {
        assert!(!text.contains(absent), "{absent}");
    }
}

fn line(n: u32, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{n}","parentUuid":null,"sessionId":"s","message":{{"content":"{text}"}}}}"#
    ) + "\n"
}

fn temporary() -> tempfile::NamedTempFile {
    tempfile::NamedTempFile::new().unwrap()
}

#[test]
fn a_growing_file_is_read_once_wholly() {
    let mut file = temporary();
    let second = line(2, "pilots need größe L");
    let cut = second.find('ö').unwrap() + 1;
    file.write_all(line(1, "tugs").as_bytes()).unwrap();
    file.write_all(&second.as_bytes()[..cut]).unwrap();
    let (first, messages) = read_all(file.path(), &Cursor::default());
    assert_eq!(prompts(&messages), ["tugs"]);
    file.write_all(&second.as_bytes()[cut..]).unwrap();
    let (reading, messages) = read_all(file.path(), &first.cursor);
    assert_eq!((prompts(&messages), reading.restarted), (vec!["pilots need größe L"], false));
    let (reading, messages) = read_all(file.path(), &reading.cursor);
    assert_eq!((messages.len(), reading.read), (0, 0));
}

#[test]
fn a_replaced_file_is_read_from_the_start() {
    let file = temporary();
    std::fs::write(file.path(), line(1, "tugs") + &line(2, "gloves")).unwrap();
    let (reading, _) = read_all(file.path(), &Cursor::default());
    for content in [line(1, "tugs"), line(3, "another") + &line(4, "and more of it all")] {
        std::fs::write(file.path(), &content).unwrap();
        let (again, messages) = read_all(file.path(), &reading.cursor);
        assert!(again.restarted);
        assert_eq!(messages.len(), content.lines().count());
    }
}

#[test]
fn a_long_line_costs_only_itself() {
    let file = temporary();
    let text = line(1, "before") + &line(2, &"A".repeat(5000)) + &line(3, "after");
    std::fs::write(file.path(), text).unwrap();
    let limits = Limits { line: 1000, ..Limits::default() };
    let mut found = Vec::new();
    let reading =
        read(file.path(), &Cursor::default(), limits, &mut |part, _| found.extend_from_slice(part))
            .unwrap();
    assert_eq!((prompts(&found), reading.too_long), (vec!["before", "after"], 1));
}

#[test]
fn parts_are_bounded() {
    let file = temporary();
    let text: String = (0..100).map(|n| line(n, &format!("{n} {}", "x".repeat(100)))).collect();
    std::fs::write(file.path(), text).unwrap();
    let limits = Limits { part: 1000, ..Limits::default() };
    let mut sizes = Vec::new();
    read(file.path(), &Cursor::default(), limits, &mut |part, _| sizes.push(part.len())).unwrap();
    assert_eq!(sizes.iter().sum::<usize>(), 100);
    assert!(sizes.iter().all(|size| *size <= 11));
}

#[test]
fn codex_sub_agents_and_taken_back_turns_are_left_out() {
    let file = temporary();
    let event = |kind: &str, rest: &str| {
        format!(
            r#"{{"timestamp":"2026-06-08T14:00:00Z","type":"event_msg","payload":{{"type":"{kind}",{rest}}}}}"#
        ) + "\n"
    };
    let head = |source: &str| {
        format!(r#"{{"type":"session_meta","payload":{{"id":"x","cwd":"/p","source":{source}}}}}"#)
            + "\n"
    };
    let talk = event("user_message", r#""message":"one""#)
        + &event("user_message", r#""message":"two""#)
        + &event("thread_rolled_back", r#""num_turns":1"#)
        + &event("user_message", r#""message":"three""#);
    std::fs::write(file.path(), head("\"cli\"") + &talk).unwrap();
    let (reading, messages) = read_all(file.path(), &Cursor::default());
    assert_eq!(prompts(&messages), ["one", "three"]);
    assert_eq!((reading.session.as_deref(), reading.cwd.as_deref()), (Some("x"), Some("/p")));
    std::fs::write(file.path(), head(r#"{"subagent":"review"}"#) + &talk).unwrap();
    let (reading, messages) = read_all(file.path(), &Cursor::default());
    assert!(reading.sub_agent && messages.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_survived_and_reading_in_steps_reads_the_same(
        lines in prop::collection::vec(prop_oneof![
            any::<Vec<u8>>(),
            "[a-z]{0,8}".prop_map(|text| line(text.len() as u32 * 31, &text).into_bytes()),
            Just(b"{\"type\":\"user\",\"message\":{\"content\":[1,{}]},\"uuid\":3}\n".to_vec()),
        ], 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes: Vec<u8> = lines.concat();
        let file = temporary();
        std::fs::write(file.path(), &bytes).unwrap();
        let (whole, _) = read_all(file.path(), &Cursor::default());
        std::fs::write(file.path(), &bytes[..cut.index(bytes.len() + 1)]).unwrap();
        let (part, _) = read_all(file.path(), &Cursor::default());
        std::fs::write(file.path(), &bytes).unwrap();
        let (rest, _) = read_all(file.path(), &part.cursor);
        prop_assert_eq!(&rest.cursor, &whole.cursor);
        prop_assert_eq!(part.read + rest.read, whole.read);
        prop_assert!(!rest.restarted);
    }
}
