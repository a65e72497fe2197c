//! Values that change with time, and what an extract leaves out.

use super::*;

fn extracted(texts: &[&str]) -> (String, String) {
    extracted_on(&texts.iter().zip(1..).map(|(text, day)| (*text, day)).collect::<Vec<_>>())
}

#[track_caller]
fn extracted_on(texts: &[(&str, i64)]) -> (String, String) {
    let members = texts.iter().map(|(text, day)| entry(text, day * 86_400_000)).collect();
    let prepared = prepare(&Cluster { members, ..Cluster::default() });
    let decision =
        decide_extractive(&prepared, &Vectors::new(), &Limits::default(), &BTreeSet::new());
    let draft = decision.drafts.first().unwrap_or_else(|| panic!("{decision:?}"));
    (draft.entry.title.clone().unwrap_or_default(), draft.entry.text.clone())
}

const WORDINGS: [&str; 3] = [
    "AIS feed requests time out after",
    "The AIS feed timeout is",
    "Timeout of the AIS feed is now",
];

#[test]
fn only_the_newest_of_three_values_is_required() {
    for (values, newest) in [
        (&[30, 45, 45, 60][..], 60),
        (&[30, 30, 30, 60], 60),
        (&[30, 45, 60], 60),
        (&[30, 45, 30], 30),
        (&[30, 45, 60, 45], 45),
    ] {
        let texts: Vec<String> = values
            .iter()
            .zip(WORDINGS.iter().cycle())
            .map(|(value, words)| format!("{words} {value} seconds"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (title, text) = extracted(&texts);
        for value in values {
            let stated = text.contains(&value.to_string()) || title.contains(&value.to_string());
            assert_eq!(stated, *value == newest, "{values:?}: {title} | {text}");
        }
    }
}

#[test]
fn the_question_asks_for_the_newest_value_only() {
    let question = prepare(&cluster(&[
        "The AIS feed timeout is 30 s",
        "The AIS feed timeout is 45 s",
        "The AIS feed timeout is 60 s",
    ]))
    .question(RULES);
    assert!(question.data.contains("Newer: n2 replaces \"30\" of n1.\n"), "{}", question.data);
    assert!(question.data.contains("of n2. State what n3 says."), "{}", question.data);
}

#[test]
fn values_of_one_day_are_settled_by_a_later_one() {
    let day = |n: i64, value: i64| (format!("Timeout of the AIS feed is {value} seconds"), n);
    let texts = [day(1, 30), day(1, 45), day(2, 60)];
    let texts: Vec<(&str, i64)> = texts.iter().map(|(text, day)| (text.as_str(), *day)).collect();
    assert_eq!(extracted_on(&texts).1, "Timeout of the AIS feed is 60 seconds");
    let members = texts.iter().map(|(text, _)| entry(text, 1)).collect();
    assert!(!prepare(&Cluster { members, ..Cluster::default() }).conflicts.is_empty());
}

#[test]
fn a_value_said_otherwise_replaces_the_older_one() {
    for (texts, newest, stale) in [
        (
            [
                "API server port is 8080 in development",
                "The API dev server listens on port 9090",
                "The API dev server reloads on changes",
            ],
            "9090",
            "8080",
        ),
        (
            [
                "AIS feed requests time out after 45 s",
                "Timeout of the AIS feed is 60 seconds since the December upgrade",
                "The AIS feed is polled by the collector",
            ],
            "60",
            "45",
        ),
    ] {
        let (title, text) = extracted(&texts);
        assert!(text.starts_with(texts[1]), "{text}");
        assert!(text.contains(newest) && !text.contains(stale), "{text}");
        assert!(!title.contains(stale), "{title}");
    }
    let (title, text) = extracted(&[
        "In development the API server runs on port 8080",
        "The API dev server listens on port 9090 now, no longer 8080",
        "The API dev server reloads on changes",
    ]);
    assert!(text.starts_with("The API dev server listens on port 9090 now"), "{text}");
    assert!(!text.contains("port 8080") && !title.contains("port 8080"), "{title} | {text}");
}

#[test]
fn an_update_in_other_words_is_found() {
    for texts in [
        ["AIS feed requests time out after 45 s", "The feed from AIS now times out after 60 s"],
        ["We use Node 18 in CI", "CI runs on Node 20 now"],
        ["Log retention is 14 days", "Logs are kept for 30 days now, no longer 14"],
        ["Upload limit is 10 MB", "The limit for uploads is 25 MB since March"],
        ["The session token expires after 30 minutes", "Session tokens expire after 60 minutes"],
    ] {
        assert_eq!(prepare(&cluster(&texts)).found.superseded.len(), 1, "{texts:?}");
    }
}

#[test]
fn values_of_two_things_replace_nothing() {
    for texts in [
        ["The API server listens on port 8080", "The admin server listens on port 9090"],
        ["The API dev server listens on port 8080", "The API production server listens on port 80"],
        ["The pool holds at least 5 connections", "The pool holds at most 20 connections"],
        ["The importer retries 3 times", "The importer waits 60 s between retries"],
        ["The AIS feed timeout is 45 s", "The weather feed timeout is 60 s"],
        ["Access tokens expire after 15 minutes", "Refresh tokens expire after 60 minutes"],
        ["The API container gets 512 MB of memory", "The API container gets 20 MB of swap"],
        ["Redis listens on port 6379", "Postgres listens on port 5432"],
        ["Jobs start after 30 s", "Jobs stop after 60 s"],
    ] {
        assert_eq!(prepare(&cluster(&texts)).found.superseded, [], "{texts:?}");
    }
}

#[test]
fn a_sentence_without_a_fact_of_its_own_is_left_out() {
    for (texts, needed) in [
        (
            [
                "Production deploys need approval from Dana in the release channel",
                "A production release waits for Dana's approval",
                "Production deploys need approval from Dana",
            ],
            "release channel",
        ),
        (
            [
                "AIS feed requests time out after 45 seconds",
                "Timeout of the AIS feed is 45 s",
                "AIS feed timeout: 45 seconds",
            ],
            "45",
        ),
    ] {
        let (_, text) = extracted(&texts);
        assert!(text.contains(needed), "{text}");
        assert_eq!(super::sentences::sentences(&text).len(), 1, "{text}");
    }
}
