//! Hooks as processes: many at once, broken surroundings, and the tick they start.

use crate::capture::{end_of, entries, hook, says_in, texts, tick};
use crate::support::{Home, fixture};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Starts the hook and hands it the event; it runs on.
fn start(home: &Home, event: &str) -> Child {
    home.start(&["hook", "claude-code"], event.as_bytes())
}

fn silent(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn fifty_conversations_that_end_at_once_lose_nothing() {
    let home = Home::new();
    let children: Vec<Child> = (0..50)
        .map(|n| {
            let session = format!("s{n}");
            let file = home.path().join(format!("{session}.jsonl"));
            let said = says_in(&home.project(), &session, n, &format!("Remember: berth {n} takes ships of {n} metres"));
            fs::write(&file, said).unwrap();
            let last = format!("The root cause was a missing index on table_{n}.");
            let event = json!({ "session_id": session, "transcript_path": file, "cwd": home.project(),
                "hook_event_name": if n % 2 == 0 { "Stop" } else { "SessionEnd" },
                "stop_hook_active": false, "last_assistant_message": last });
            start(&home, &event.to_string())
        })
        .collect();
    children.into_iter().for_each(silent);
    tick(&home);
    let found = texts(&home);
    for n in 0..50 {
        let said = format!("berth {n} takes ships of {n} metres");
        let last = format!("The root cause was a missing index on table_{n}.");
        assert!(found.contains(&said) && found.contains(&last), "{n}");
    }
    assert_eq!(found.len(), 100);
}

#[test]
fn a_hook_says_nothing_where_it_cannot_write() {
    let mut home = Home::new();
    let file = home.path().join("no-folder");
    fs::write(&file, "x").unwrap();
    let event = end_of(&home.path().join("t.jsonl"), &home.project());
    for place in [file.join("below"), "/proc/nowhere".into(), "/dev/null".into()] {
        home.variables.retain(|(name, _)| name != "LIFECYCLE_HOME");
        home.set("LIFECYCLE_HOME", place.to_str().unwrap());
        let outcome = home.run_with(&["hook", "claude-code"], event.as_bytes());
        assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{}", place.display());
        assert!(outcome.err.lines().count() <= 1, "{}", outcome.err);
    }
    let mut bare = home.command(&["hook", "claude-code"]);
    bare.env_remove("HOME").env_remove("LIFECYCLE_HOME").env("LIFECYCLE_HOME", "");
    let bare = bare.env("XDG_DATA_HOME", "/proc/nowhere").stdin(Stdio::null()).output().unwrap();
    assert_eq!((bare.status.code(), bare.stdout.len()), (Some(0), 0));
}

/// Numbers of the ticks that hooks started.
fn hook_ticks(home: &Home) -> i64 {
    if !home.database().exists() {
        return 0;
    }
    let database = rusqlite::Connection::open(home.database()).unwrap();
    let count = database
        .query_row("SELECT count(*) FROM tick WHERE trigger = 'hook'", [], |row| row.get(0));
    count.unwrap_or(0)
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn options_before_the_word_hook_cost_no_record() {
    for (n, before) in
        [vec!["-q"], vec!["--set", "schedule.from_hooks=false"], vec!["--json"]].iter().enumerate()
    {
        let home = Home::new();
        let file = home.path().join("s.jsonl");
        fs::write(&file, says_in(&home.project(), "s", 1, "Remember: fenders are replaced yearly"))
            .unwrap();
        let mut args = before.clone();
        args.extend(["hook", "claude-code"]);
        let event = end_of(&file, &home.project());
        let outcome = home.run_with(&args, event.as_bytes()).success();
        assert_eq!(outcome.out, "", "{n}");
        assert_eq!(fs::read_dir(home.store().join("inbox")).unwrap().count(), 1, "{before:?}");
    }
}

#[test]
fn the_end_of_a_session_starts_one_tick_that_is_due_and_never_a_second() {
    let mut home = Home::new();
    home.set("LIFECYCLE_SCHEDULE__FROM_HOOKS", "true");
    home.set("LIFECYCLE_SCHEDULE__HOOK_DELAY_SECONDS", "2");
    home.set("LIFECYCLE_SCHEDULE__CRON", "0 0 1 1 *");
    let file = home.path().join("s.jsonl");
    fs::write(&file, says_in(&home.project(), "s", 1, "Remember: fenders are replaced yearly"))
        .unwrap();
    let started = Instant::now();
    let children: Vec<Child> =
        (0..20).map(|_| start(&home, &end_of(&file, &home.project()))).collect();
    children.into_iter().for_each(silent);
    assert!(started.elapsed() < Duration::from_secs(20), "nobody waits for the tick");
    wait_for("the tick", || hook_ticks(&home) == 1 && !texts(&home).is_empty());
    assert_eq!(texts(&home), ["fenders are replaced yearly"]);
    // The tick has just run, so none is due; nor is one that the settings forbid.
    wait_for("its end", || {
        let single = fs::File::open(home.store().join("tick.detached")).unwrap();
        single.try_lock().is_ok()
    });
    hook(&home, &end_of(&file, &home.project()));
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(hook_ticks(&home), 1);
}

#[test]
fn a_run_by_hand_comes_before_the_one_a_hook_started() {
    let mut home = Home::new();
    home.set("LIFECYCLE_SCHEDULE__FROM_HOOKS", "true");
    home.set("LIFECYCLE_SCHEDULE__HOOK_DELAY_SECONDS", "3");
    let file = home.path().join("s.jsonl");
    fs::write(&file, says_in(&home.project(), "s", 1, "Remember: pilots need a radio")).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    home.run(&["run", "--phase", "buffer"]).success();
    assert_eq!(texts(&home), ["pilots need a radio"]);
    wait_for("the end of the process", || {
        fs::File::open(home.store().join("tick.detached")).is_ok_and(|file| file.try_lock().is_ok())
    });
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(hook_ticks(&home), 0, "what was due was done by hand");
}

/// Words of each sample that must be kept, beside those that `expected.json` forbids.
const KEPT: &[(&str, &[&str])] = &[
    ("01-ordinary.jsonl", &["quarantine table", "docker compose up -d pg"]),
    ("02-truncated-last-line.jsonl", &["not certified for live cranes", "greedy"]),
    ("03-huge-tool-result.jsonl", &["dedupe on both fields"]),
    ("04-sidechain-compact-branch.jsonl", &["hydro", "18.6 year"]),
    ("05-unicode-crlf.jsonl", &["日本語", "TT.MM.JJJJ"]),
    ("06-no-user-turns.jsonl", &[]),
    ("07-empty.jsonl", &[]),
    ("08-recall-echo.jsonl", &["_total"]),
    ("09-codex-rollout.jsonl", &["clippy only on changed crates", "harbour master label"]),
];

#[test]
fn every_sample_gives_what_is_expected_of_it() {
    let expected: Value =
        serde_json::from_slice(&fs::read(fixture("transcripts/expected.json")).unwrap()).unwrap();
    assert_eq!(expected.as_object().unwrap().len(), KEPT.len());
    for (name, kept) in KEPT {
        let home = Home::new();
        let word = if name.contains("codex") { "codex" } else { "claude-code" };
        let event =
            end_of(&fixture("transcripts").join(name), Path::new("/home/robin/work/harbor-api"));
        assert_eq!(home.run_with(&["hook", word], event.as_bytes()).code, 0);
        tick(&home);
        let found: Vec<String> = entries(&home)
            .iter()
            .map(|entry| entry["text"].as_str().unwrap().to_string())
            .collect();
        let all = found.join("\n");
        for words in *kept {
            assert!(all.contains(words), "{name}: {words}: {found:#?}");
        }
        for list in ["must_not_be_kept", "must_not_be_kept_again"] {
            for words in expected[name][list].as_array().into_iter().flatten() {
                assert!(!all.contains(words.as_str().unwrap()), "{name}: {words}: {found:#?}");
            }
        }
        if let Some(count) = expected[name]["notes_expected"].as_u64() {
            assert_eq!(found.len() as u64, count, "{name}: {found:#?}");
        }
    }
}

#[test]
fn a_plan_that_is_applied_takes_its_conversations_in_for_good() {
    let home = Home::new();
    let say = |session: &str, n: u32| {
        let file = home.path().join(format!("{session}.jsonl"));
        fs::write(
            &file,
            says_in(&home.project(), session, n, "Remember: tugs are booked a day ahead"),
        )
        .unwrap();
        let event = end_of(&file, &home.project()).replace("\"s\"", &format!("\"{session}\""));
        hook(&home, &event);
    };
    say("a", 1);
    tick(&home);
    say("b", 2);
    home.run(&["add", "--project", home.project().to_str().unwrap(), "Remember"]).success();
    let plan = home.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    home.run(&["run", "--phase", "buffer", "--dry-run", "--plan", plan]).success();
    home.run(&["apply", plan]).success();
    let recalls =
        || entries(&home).iter().map(|entry| entry["recalls"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(recalls(), 1);
    let left = fs::read_dir(home.store().join("inbox")).unwrap().count();
    assert_eq!(left, 0, "the record of what was applied is gone");
    let before = fs::read(home.database()).unwrap();
    tick(&home);
    assert_eq!(recalls(), 1, "a second reading counts nothing");
    assert_eq!(fs::read(home.database()).unwrap(), before, "and changes nothing");
}

#[test]
fn a_step_that_was_left_out_is_offered_again() {
    let home = Home::new();
    let file = home.path().join("s.jsonl");
    let lines = ["Remember: quay 3 floods", "Remember: quay 4 does not"];
    let text: String =
        lines.iter().zip(1..).map(|(text, n)| says_in(&home.project(), "s", n, text)).collect();
    fs::write(&file, text).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    let plan = home.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    home.run(&["run", "--phase", "buffer", "--dry-run", "--plan", plan]).success();
    home.run(&["apply", plan, "--skip", "1"]).success();
    assert_eq!(texts(&home), ["quay 4 does not"]);
    tick(&home);
    assert_eq!(texts(&home), ["quay 3 floods", "quay 4 does not"]);
    assert_eq!(
        entries(&home).iter().map(|entry| entry["recalls"].as_u64().unwrap()).sum::<u64>(),
        0
    );
}

#[test]
fn adding_says_what_is_known_and_which_folder_is_not_there() {
    let home = Home::new();
    let project = home.project().display().to_string();
    let first = home.run(&["add", "--project", &project, "Quay 3 floods"]).success();
    assert!(!first.out.contains("known") && first.err.is_empty(), "{}{}", first.out, first.err);
    let again = home.run(&["add", "--project", &project, "Quay  3 floods"]).success();
    assert!(again.out.contains("(known already)"), "{}", again.out);
    let nowhere = home.run(&["add", "--project", "/nonexistent/harbor", "Quay 3 floods"]).success();
    assert!(nowhere.err.contains("/nonexistent/harbor does not exist"), "{}", nowhere.err);
    let json = home.json(&["add", "--project", &project, "Quay 3 floods"]);
    assert_eq!(json["known"], json["ids"]);
}
