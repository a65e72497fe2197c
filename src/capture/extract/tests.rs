#![allow(clippy::unwrap_used)]

use super::*;
use crate::capture::transcript::{Cursor, Limits, read};
use crate::config::Layers;
use proptest::prelude::*;
use std::path::Path;

/// Made once: its phrases are one large expression.
fn extractor() -> &'static Extractor {
    static EXTRACTOR: std::sync::LazyLock<Extractor> = std::sync::LazyLock::new(|| {
        let marks = Layers::defaults().settings().unwrap().capture.marks;
        Extractor::new(&marks, Redactor::default()).unwrap()
    });
    &EXTRACTOR
}

fn in_prompt(text: &str) -> Vec<String> {
    extractor().in_prompt(text).into_iter().map(|(text, _)| text).collect()
}

fn from_fixture(name: &str) -> Vec<Find> {
    let path = Path::new("tests/fixtures/transcripts").join(name);
    let extractor = extractor();
    let mut found = Vec::new();
    read(&path, &Cursor::default(), Limits::default(), &mut |messages, echo| {
        found.extend(extractor.finds(
            messages,
            echo,
            &mut Sitting::default(),
            &mut Counts::default(),
        ));
    })
    .unwrap();
    found
}

/// The words of everything found in a fixture.
fn texts(name: &str) -> Vec<String> {
    from_fixture(name).into_iter().map(|find| find.text).collect()
}

#[test]
fn the_samples_give_what_is_worth_keeping() {
    assert_eq!(
        texts("01-ordinary.jsonl"),
        [
            "No, never guess a timezone here. We decided that an ETA without offset must go to the quarantine table, because the port authority fines us for wrong times.",
            "integration tests need `docker compose up -d pg` first, otherwise they hang for two minutes.",
        ]
    );
    assert_eq!(
        texts("02-truncated-last-line.jsonl"),
        [
            "Which crane scheduler do we use in production? The greedy one in `sched/greedy.rs`; the solver build is only for what-if runs.",
            "Keep it that way: the solver is not certified for live cranes.",
        ]
    );
    assert_eq!(
        texts("03-huge-tool-result.jsonl"),
        [
            "Vessel 9004099 is a duplicate of 9004098; line 4101 of the log says so.",
            "Then fix the exporter: an IMO number is unique per call sign, so dedupe on both fields.",
        ]
    );
    assert_eq!(
        texts("04-sidechain-compact-branch.jsonl"),
        [
            "Use the hydrographic office tables, not the old CSV.",
            "Drop the CSV reader completely. One source of truth for tides.",
            "CSV reader removed; `tide/hydro.rs` is the only source.",
            "Spring tide tests must cover the 18.6 year lunar node cycle.",
        ]
    );
    assert_eq!(
        texts("05-unicode-crlf.jsonl"),
        [
            "Fehlermeldungen für Kapitäne immer auf Deutsch UND 日本語 ausgeben. 👩🏽‍✈️⚓️",
            "Screenshot: das Datum steht falsch herum. Richtig ist TT.MM.JJJJ 🚢",
        ]
    );
    assert_eq!(texts("06-no-user-turns.jsonl"), [""; 0]);
    assert_eq!(texts("07-empty.jsonl"), [""; 0]);
    assert_eq!(
        texts("08-recall-echo.jsonl"),
        ["Name every metric with the suffix _total, that is our convention."]
    );
    assert_eq!(
        texts("09-codex-rollout.jsonl"),
        [
            "The lint step is slow; run clippy only on changed crates from now on.",
            "`scripts/lint.sh` now lints only crates touched since main.",
            "Never push to main without the harbour master label.",
        ]
    );
}

#[test]
fn a_find_names_its_place() {
    let find = &from_fixture("02-truncated-last-line.jsonl")[0];
    assert_eq!(find.cwd.as_deref(), Some("/home/robin/work/harbor-api"));
    assert_eq!((find.actor, find.said), (Actor::Assistant, Some(1_780_484_528_074)));
    assert_eq!(find.files, ["sched/greedy.rs"]);
}

#[test]
fn tasks_questions_and_talk_are_no_knowledge() {
    for text in [
        "fix it",
        "Run the tests again.",
        "Please find out why the build hangs and fix it.",
        "Can you add a metric for quarantined rows?",
        "Which crane scheduler do we use in production?",
        "ok thanks!",
        "The berth importer drops rows whose ETA has no timezone.",
        "It always crashes when I click the button.",
        "Kannst du bitte die Tests laufen lassen?",
        "Behebe den Fehler im Importer.",
        "Corrige le bug, s'il te plaît.",
        "Never mind.",
        "hmm, that did not work",
        "```\nnever do this\n```",
        "> always quoted",
        "lone surrogate \u{fffd} then text",
        "Do you remember that bug?",
        "what is in src/deep?",
    ] {
        assert_eq!(in_prompt(text), [""; 0], "{text}");
    }
}

#[test]
fn statements_are_knowledge_in_three_languages() {
    for text in [
        "Always run clippy before a commit.",
        "Please always answer in German from now on.",
        "I prefer small commits over large ones.",
        "We decided to keep SQLite because one file is easier to back up.",
        "The cause was a stale lock in the cache folder.",
        "Deploys happen on Tuesdays only.",
        "Port 8081 is for staging.",
        "The staging database is owned by the platform team.",
        "Ab jetzt immer erst die Migrationen laufen lassen.",
        "Wir haben uns für Postgres entschieden, weil die Replikation einfacher ist.",
        "Der Build darf nie ins Netz gehen.",
        "Les dates sont toujours au format JJ/MM/AAAA.",
        "Nous avons décidé de garder SQLite parce que la sauvegarde est simple.",
        "Il faut lancer les migrations avant les tests.",
        "Don't use unwrap outside tests.",
    ] {
        assert_eq!(in_prompt(text), [text], "{text}");
    }
}

#[test]
fn marks_are_taken_at_their_word() {
    let find = |text: &str| extractor().in_prompt(text);
    let one = |text: &str, kind| vec![(text.to_string(), kind)];
    assert_eq!(
        find("Remember: Deploys happen on Tuesdays"),
        one("Deploys happen on Tuesdays", Kind::Insight)
    );
    assert_eq!(find("Merke dir: Kran 7 ist gesperrt"), one("Kran 7 ist gesperrt", Kind::Insight));
    assert_eq!(find("À retenir : le quai 3 est fermé"), one("le quai 3 est fermé", Kind::Insight));
    assert_eq!(find("We take Postgres #decision"), one("We take Postgres", Kind::Decision));
    assert_eq!(find("#Entscheidung: Kein ORM"), one("Kein ORM", Kind::Decision));
    assert_eq!(find("#thought tides as a service"), one("tides as a service", Kind::Thought));
    assert_eq!(
        find("Remember: quay 3 floods. Now fix the importer."),
        one("quay 3 floods.", Kind::Insight)
    );
    let list = [("a b".to_string(), Kind::Insight), ("c d".to_string(), Kind::Insight)];
    assert_eq!(find("Remember:\n- a b\n- c d"), list);
}

#[test]
fn each_of_several_marks_gives_its_own_entry() {
    use Kind::{Decision, Insight, Thought};
    for (text, wanted) in [
        (
            "remember: quay 3 floods at spring tide #decision we berth tankers at quay 5",
            vec![
                ("quay 3 floods at spring tide", Insight),
                ("we berth tankers at quay 5", Decision),
            ],
        ),
        (
            "Remember: quay 3 floods. Remember: crane 7 is locked.",
            vec![("quay 3 floods.", Insight), ("crane 7 is locked.", Insight)],
        ),
        (
            "#decision We take Postgres. #idea tides as a service",
            vec![("We take Postgres.", Decision), ("tides as a service", Thought)],
        ),
        (
            "We take Postgres #decision and crane 7 is locked #remember",
            vec![("We take Postgres", Decision), ("crane 7 is locked", Insight)],
        ),
        (
            "Merke dir: Kran 7 ist gesperrt, #entscheidung Tanker liegen an Kai 5 #gedanke Gezeiten als Dienst",
            vec![
                ("Kran 7 ist gesperrt", Insight),
                ("Tanker liegen an Kai 5", Decision),
                ("Gezeiten als Dienst", Thought),
            ],
        ),
        (
            "À retenir : le quai 3 est fermé ; #décision les pétroliers vont au quai 5",
            vec![("le quai 3 est fermé", Insight), ("les pétroliers vont au quai 5", Decision)],
        ),
        (
            "Retiens: le quai 3 est fermé. À retenir: la grue 7 est bloquée.",
            vec![("le quai 3 est fermé.", Insight), ("la grue 7 est bloquée.", Insight)],
        ),
        ("remember: quay 3 floods #decision", vec![("quay 3 floods", Decision)]),
        ("We take Postgres #decision.", vec![("We take Postgres.", Decision)]),
        (
            "Thanks, that looks good. #decision We use npm, not yarn.",
            vec![("We use npm, not yarn.", Decision)],
        ),
        (
            "remember: a line first\n#decision a line second\nremember: a line third",
            vec![("a line first", Insight), ("a line second", Decision), ("a line third", Insight)],
        ),
        (
            "Never push to main without a label. Remember: crane 7 is locked.",
            vec![("Never push to main without a label.", Insight), ("crane 7 is locked.", Insight)],
        ),
    ] {
        let wanted: Vec<_> =
            wanted.into_iter().map(|(text, kind)| (text.to_string(), kind)).collect();
        assert_eq!(extractor().in_prompt(text), wanted, "{text}");
    }
    let list: String = (0..30).map(|n| format!("- remember: berth {n} is closed\n")).collect();
    assert_eq!(in_prompt(&list).len(), 30, "what is marked is never cut off");
}

#[test]
fn a_short_statement_takes_its_context_along() {
    let text = "The port changed its API. It must be called with a key now.";
    assert_eq!(in_prompt(text), [text]);
}

#[test]
fn only_an_explicit_decision_is_protected() {
    let kinds = |text: &str| extractor().in_prompt(text).pop().map(|(_, kind)| kind);
    assert_eq!(kinds("We decided to drop the cache."), Some(Kind::Decision));
    assert_eq!(kinds("Never drop the cache."), Some(Kind::Insight));
}

#[test]
fn what_the_assistant_announces_is_no_conclusion() {
    let conclusions = |text: &str| extractor().in_last_message(text, &Echo::default()).len();
    assert_eq!(conclusions("I will run the tests because you asked. Noted: always use UTC."), 0);
    assert_eq!(
        conclusions("Let me know if it must be faster. Would you like me to always do this?"),
        0
    );
    assert_eq!(conclusions("Done. The root cause was a missing index on `berth_id`."), 1);
    assert_eq!(
        conclusions("- a is because of b\n- c is because of d\n- e is because of f\n- g because h"),
        3
    );
}

#[test]
fn a_pasted_document_is_not_kept_whole() {
    let text = "One must never do this thing here.\n\n".repeat(500);
    assert_eq!(in_prompt(&text).len(), MOST_FROM_PROMPT);
    let long = format!("We must never do {}", "this and that ".repeat(500));
    assert!(in_prompt(&long)[0].len() <= LONGEST);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_survived(text in any::<String>(), lines in "(remember:|- |never |\n|#decision|\\?|é|👩🏽‍✈️|```| ){0,30}") {
        let extractor = extractor();
        for text in [text, lines] {
            for (found, _) in extractor.in_prompt(&text).into_iter().chain(extractor.in_last_message(&text, &Echo::default())) {
                prop_assert!(found.len() <= LONGEST_MARKED);
            }
        }
    }
}

/// How many of the statements in a file of labelled sentences are kept, how many there are, and
/// how many other sentences are kept. Prints what is judged otherwise.
fn judge(name: &str) -> (usize, usize, usize) {
    let text = std::fs::read_to_string(format!("tests/fixtures/capture/{name}.jsonl")).unwrap();
    let extractor = extractor();
    let (mut right, mut worth, mut noise) = (0, 0, 0);
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (wanted, sentence) = (line["keep"] == true, line["text"].as_str().unwrap());
        let found = !extractor.in_prompt(sentence).is_empty();
        worth += usize::from(wanted);
        right += usize::from(found && wanted);
        noise += usize::from(found && !wanted);
        if found != wanted {
            println!("{} {sentence}", if wanted { "lost: " } else { "noise:" });
        }
    }
    println!("{name}: kept {right} of {worth} statements, and {noise} others");
    (right, worth, noise)
}

/// The phrases were tuned on `labelled` and `labelled-2` (before: 62 % and 38 % kept), and not on
/// `unseen`.
#[test]
fn labelled_sentences_are_judged_as_people_would() {
    for name in ["labelled", "labelled-2"] {
        let (right, worth, noise) = judge(name);
        assert!(right * 100 >= worth * 95 && noise <= 1, "{name}");
    }
    let (right, worth, noise) = judge("unseen");
    assert!(right * 100 >= worth * 60 && noise <= 5);
}

/// Requests of the moment and standing rules in `requests.jsonl` that belong to `half`: how many of
/// the requests leave nothing, and how many of the rules are kept. Prints what is judged otherwise.
fn requests(half: &str) -> [(usize, usize); 2] {
    let text = std::fs::read_to_string("tests/fixtures/capture/requests.jsonl").unwrap();
    let mut judged = [(0, 0); 2];
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["half"] != half {
            continue;
        }
        let (is_rule, sentence) = (line["keep"] == true, line["text"].as_str().unwrap());
        let is_kept = !in_prompt(sentence).is_empty();
        let (right, all) = &mut judged[usize::from(is_rule)];
        *right += usize::from(is_kept == is_rule);
        *all += 1;
        if is_kept != is_rule {
            println!("{half} {} {sentence}", if is_rule { "lost: " } else { "noise:" });
        }
    }
    println!("{half}: [requests left out, rules kept] = {judged:?}");
    judged
}

/// A request for this moment is no preference. The phrases were chosen with the half `work` in
/// sight; `check` was written before and not looked at.
#[test]
fn requests_of_the_moment_leave_nothing_and_standing_rules_are_kept() {
    for (half, least) in [("work", 95), ("check", 80)] {
        for (right, all) in requests(half) {
            assert!(right * 100 >= all * least, "{half}: {right} of {all}");
        }
    }
}

/// What came of the invented endings of conversations in `endings.jsonl` that belong to `half`.
#[derive(Debug, Default)]
struct Judged {
    /// Statements worth keeping, and how many of them were kept.
    worth: usize,
    kept: usize,
    /// Endings that say nothing, and how many of them left nothing.
    silent: usize,
    left_nothing: usize,
    /// Finds that hold no statement worth keeping.
    noise: usize,
}

/// What a conversation of one question, one reply and perhaps a last word leaves.
fn ending(line: &serde_json::Value) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = |kind: &str, text: &str| {
        let content = serde_json::json!([{ "type": "text", "text": text }]);
        serde_json::json!({ "type": kind, "cwd": "/p", "message": { "content": content } })
    };
    let parts = [("user", "ask"), ("assistant", "reply"), ("user", "close")];
    let lines = parts.iter().map(|(kind, field)| (kind, line[*field].as_str().unwrap()));
    let text: String = lines
        .filter(|(_, text)| !text.is_empty())
        .map(|(kind, text)| format!("{}\n", said(kind, text)))
        .collect();
    std::fs::write(file.path(), text).unwrap();
    let extractor = extractor();
    let mut found = Vec::new();
    read(file.path(), &Cursor::default(), Limits::default(), &mut |messages, echo| {
        let (mut sitting, mut counts) = (Sitting::default(), Counts::default());
        found.extend(extractor.finds(messages, echo, &mut sitting, &mut counts));
    })
    .unwrap();
    found.into_iter().map(|find| find.text).collect()
}

fn endings(half: &str) -> Judged {
    let text = std::fs::read_to_string("tests/fixtures/capture/endings.jsonl").unwrap();
    let mut judged = Judged::default();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["half"] != half {
            continue;
        }
        let found = ending(&line);
        let keep: Vec<&str> =
            line["keep"].as_array().unwrap().iter().map(|words| words.as_str().unwrap()).collect();
        judged.worth += keep.len();
        for words in &keep {
            let is_kept = found.iter().any(|text| text.contains(words));
            judged.kept += usize::from(is_kept);
            if !is_kept {
                println!("lost:  {words}");
            }
        }
        if keep.is_empty() {
            judged.silent += 1;
            judged.left_nothing += usize::from(found.is_empty());
        }
        for text in found.iter().filter(|text| !keep.iter().any(|words| text.contains(words))) {
            judged.noise += 1;
            println!("noise: {text}");
        }
    }
    println!("{half}: {judged:?}");
    judged
}

/// One half was looked at while the phrases were chosen, the other was not.
#[test]
fn endings_leave_what_was_found_out_and_chatter_leaves_nothing() {
    let (work, check) = (endings("work"), endings("check"));
    assert!(work.kept * 100 >= work.worth * 80 && work.noise <= 2, "{work:?}");
    assert!(check.kept * 100 >= check.worth * 70 && check.noise <= 4, "{check:?}");
    for half in [work, check] {
        assert_eq!(half.left_nothing, half.silent);
    }
}
