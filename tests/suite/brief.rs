//! The briefing: what a session is told, what of it counts, and how the hook stays quick.

use crate::capture::{entries, says_in, tick};
use crate::support::Home;
use serde_json::{Value, json};
use std::fs;

fn project(home: &Home) -> String {
    home.project().display().to_string()
}

/// A repository on a branch.
fn branch(home: &Home, name: &str) {
    let git = home.project().join(".git");
    fs::create_dir_all(&git).unwrap();
    fs::write(git.join("HEAD"), format!("ref: refs/heads/{name}\n")).unwrap();
}

fn add(home: &Home, text: &str) -> String {
    home.run(&["add", "--project", &project(home), text]).success().out[..16].to_string()
}

fn event(home: &Home, name: &str, session: &str, prompt: &str) -> String {
    let outcome = home.run_with(
        &["hook", "claude-code"],
        json!({ "hook_event_name": name, "session_id": session, "cwd": home.project(),
                "source": "startup", "prompt": prompt,
                "transcript_path": home.path().join(format!("{session}.jsonl")) })
        .to_string()
        .as_bytes(),
    );
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
}

fn context(out: &str) -> String {
    let value: Value = serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"));
    value["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_string()
}

fn patient(home: &mut Home) {
    home.set("LIFECYCLE_BRIEF__LIMIT_MS", "5000");
}

#[test]
fn a_session_starts_with_what_is_known_of_its_project_and_branch() {
    let mut home = Home::new();
    patient(&mut home);
    branch(&home, "fix/berth-importer");
    let id = add(&home, "The berth importer keeps rows without offset");
    add(&home, "Deploys happen on Tuesdays");
    let other = home.path().join("q");
    fs::create_dir_all(&other).unwrap();
    home.run(&["add", "--project", other.to_str().unwrap(), "Berth importer of another project"])
        .success();
    let text = context(&event(&home, "SessionStart", "s", ""));
    assert!(text.starts_with("<lifecycle-memory>") && text.ends_with("</lifecycle-memory>"));
    let facts: Vec<&str> = text.lines().filter(|line| line.starts_with("- [")).collect();
    assert_eq!(facts.len(), 2, "{text}");
    assert!(facts[0].contains(&id[..8]) && facts[0].contains("berth importer"), "{text}");
    let by_hand = home.run(&["brief", "--project", &project(&home)]).success();
    assert_eq!(by_hand.out.trim(), text);
    let value = home.json(&["brief", "--project", &project(&home), "--tokens", "125"]);
    assert_eq!((value["entries"].as_u64(), value["left_out"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn three_sessions_that_match_prove_an_entry_and_being_shown_is_not_enough() {
    let mut home = Home::new();
    patient(&mut home);
    branch(&home, "fix/berth-importer");
    add(&home, "The berth importer keeps rows without offset");
    add(&home, "Deploys happen on Tuesdays");
    for session in ["a", "a", "b"] {
        event(&home, "SessionStart", session, "");
    }
    tick(&home);
    let of = |words: &str| {
        let all = entries(&home);
        all.into_iter().find(|entry| entry["text"].as_str().unwrap().contains(words)).unwrap()
    };
    assert_eq!(of("berth")["recalls"], 2, "a session counts once");
    assert_eq!(of("berth")["state"], "buffered");
    event(&home, "SessionStart", "c", "");
    tick(&home);
    assert_eq!(
        (of("berth")["recalls"].clone(), of("berth")["state"].clone()),
        (json!(3), json!("proven"))
    );
    assert_eq!(
        (of("Deploys")["recalls"].clone(), of("Deploys")["state"].clone()),
        (json!(0), json!("buffered"))
    );
}

#[test]
fn a_prompt_is_briefed_only_when_asked_for_and_nothing_twice() {
    let mut home = Home::new();
    patient(&mut home);
    branch(&home, "main");
    add(&home, "Crane 7 needs a spring tide of 4 metres");
    for n in 0..30 {
        add(&home, &format!("Ledger note number {n} about invoices"));
    }
    assert_eq!(event(&home, "UserPromptSubmit", "s", "Why does crane 7 wait for the tide?"), "");
    home.set("LIFECYCLE_BRIEF__ON_PROMPT", "true");
    let text =
        context(&event(&home, "UserPromptSubmit", "s", "Why does crane 7 wait for the tide?"));
    assert!(text.contains("spring tide") && !text.contains("Ledger"), "{text}");
    assert_eq!(
        event(&home, "UserPromptSubmit", "s", "And how long does crane 7 wait for the tide?"),
        ""
    );
    assert_eq!(event(&home, "UserPromptSubmit", "t", "Please rename this variable"), "");
    let shown = home.run(&["init", "--dry-run", "--no-schedule"]);
    assert!(shown.code == 0, "{}", shown.err);
}

#[test]
fn the_hook_on_prompts_is_installed_only_when_asked_for() {
    let mut home = Home::new();
    fs::create_dir_all(home.path().join("home/.claude")).unwrap();
    let settings = || fs::read_to_string(home.path().join("home/.claude/settings.json")).unwrap();
    home.run(&["install-hooks", "--claude-code"]).success();
    assert!(settings().contains("SessionStart") && !settings().contains("UserPromptSubmit"));
    home.set("LIFECYCLE_BRIEF__ON_PROMPT", "true");
    let settings = || fs::read_to_string(home.path().join("home/.claude/settings.json")).unwrap();
    home.run(&["install-hooks", "--claude-code"]).success();
    assert!(settings().contains("UserPromptSubmit"));
    home.run(&["uninstall-hooks", "--claude-code"]).success();
    let left =
        fs::read_to_string(home.path().join("home/.claude/settings.json")).unwrap_or_default();
    assert!(!left.contains("UserPromptSubmit"), "{left}");
}

#[test]
fn a_briefing_is_not_learned_again() {
    let mut home = Home::new();
    patient(&mut home);
    add(&home, "Tugs must always be booked one day ahead.");
    let text = context(&event(&home, "SessionStart", "s", ""));
    let file = home.path().join("s.jsonl");
    let attachment = json!({ "type": "attachment", "uuid": "a", "cwd": home.project(), "sessionId": "s",
        "attachment": { "type": "hook_additional_context", "content": [text] } });
    let reply = json!({ "type": "assistant", "uuid": "r", "cwd": home.project(), "sessionId": "s",
        "message": { "role": "assistant", "content": [{ "type": "text",
            "text": "The note says: tugs must always be booked one day ahead." }] } });
    let asked = says_in(&home.project(), "s", 1, "When are tugs booked?");
    fs::write(&file, format!("{attachment}\n{asked}{reply}\n")).unwrap();
    crate::capture::hook(&home, &crate::capture::end_of(&file, &home.project()));
    tick(&home);
    let all = entries(&home);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0]["recalls"], 0);
}

#[test]
fn whatever_is_wrong_the_hook_is_silent() {
    let home = Home::new();
    add(&home, "The store is there");
    let told = |what: &str, expected_silent: bool| {
        let out = event(&home, "SessionStart", "s", "");
        assert!(!expected_silent || out.is_empty(), "{what}: {out}");
    };
    told("as it should be", false);
    let database = rusqlite::Connection::open(home.database()).unwrap();
    let version: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database.pragma_update(None, "user_version", version + 1).unwrap();
    told("a store of a newer version", true);
    database.pragma_update(None, "user_version", version).unwrap();
    fs::create_dir_all(home.path().join("home/.config/lifecycle")).unwrap();
    let settings = home.path().join("home/.config/lifecycle/config.toml");
    fs::write(&settings, "[brief]\nlimit_ms = 0\n").unwrap();
    told("no time", true);
    fs::write(&settings, "this is no toml [").unwrap();
    told("broken settings", true);
    fs::write(&settings, "[brief]\nsession_start = false\n").unwrap();
    told("switched off", true);
    fs::remove_file(&settings).unwrap();
    fs::write(home.project().join(".lifecycle-ignore"), "").unwrap();
    told("a project that is not captured", true);
    drop(database);
    fs::write(home.database(), b"no database").unwrap();
    told("a broken store", true);
}
