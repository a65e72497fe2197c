//! Hook, inbox, conversations and notes, end to end.

use crate::support::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The texts of the active entries, sorted.
pub fn texts(home: &Home) -> Vec<String> {
    let mut texts: Vec<String> =
        entries(home).iter().map(|entry| entry["text"].as_str().unwrap().to_string()).collect();
    texts.sort();
    texts
}

/// The active entries as `list --json` prints them.
pub fn entries(home: &Home) -> Vec<Value> {
    let listed = home.run(&["list", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    serde_json::from_str(&listed.out).unwrap()
}

/// Runs the buffer phase, which must succeed.
pub fn tick(home: &Home) {
    let outcome = home.run(&["run", "--phase", "buffer"]);
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
}

/// Tells the hook of an event; it must be silent and succeed.
pub fn hook(home: &Home, event: &str) {
    let outcome = home.run_with(&["hook", "claude-code"], event.as_bytes());
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{}", outcome.err);
}

/// The event by which an assistant says that a conversation ended.
pub fn end_of(transcript: &Path, cwd: &Path) -> String {
    json!({ "session_id": "s", "transcript_path": transcript, "cwd": cwd,
            "hook_event_name": "SessionEnd", "reason": "other" })
    .to_string()
}

/// A line of a conversation in which the user says `text` in the project folder of `home`.
pub fn says(home: &Home, n: u32, text: &str) -> String {
    says_in(&home.project(), "s", n, text)
}

/// A line of the conversation `session` in which the user says `text` in the folder `cwd`.
pub fn says_in(cwd: &Path, session: &str, n: u32, text: &str) -> String {
    json!({ "parentUuid": null, "isSidechain": false, "cwd": cwd, "sessionId": session,
            "type": "user", "message": { "role": "user", "content": text },
            "uuid": format!("{session}-{n}"), "timestamp": format!("2026-06-10T09:{:02}:00.000Z", n % 60) })
    .to_string()
        + "\n"
}

fn inbox(home: &Home) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(home.store().join("inbox")) else { return Vec::new() };
    folder.map(|file| file.unwrap().path()).filter(|path| path.is_file()).collect()
}

#[test]
fn what_a_hook_tells_is_stored_by_the_next_run_once() {
    let home = Home::new();
    let file = home.path().join("t.jsonl");
    fs::write(&file, says(&home, 1, "Remember: tugs are booked a day ahead")).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    hook(&home, &end_of(&file, &home.project()));
    assert_eq!(inbox(&home).len(), 2);
    let dry = home.run(&["run", "--phase", "buffer", "--dry-run"]);
    assert_eq!((dry.code, inbox(&home).len(), entries(&home).len()), (0, 2, 0), "{}", dry.err);
    tick(&home);
    assert_eq!(texts(&home), ["tugs are booked a day ahead"]);
    assert_eq!(inbox(&home).len(), 0);
    let before = fs::read(home.database()).unwrap();
    tick(&home);
    assert_eq!(fs::read(home.database()).unwrap(), before, "nothing new changes no byte");
    let entry = &entries(&home)[0];
    assert_eq!(entry["source"]["conversation"], "s");
    assert_eq!(entry["source"]["channel"], "hook");
    assert_eq!(entry["created"], "2026-06-10T09:01:00Z");
    assert_eq!(entry["recalls"], 0);
}

#[test]
fn a_broken_inbox_record_is_kept_aside_and_reported() {
    let home = Home::new();
    let folder = home.store().join("inbox");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("1.json"), "{").unwrap();
    let outcome = home.run(&["run", "--phase", "buffer"]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.out.contains("inbox/bad"), "{}", outcome.out);
    assert_eq!(fs::read(folder.join("bad/1.json")).unwrap(), b"{");
}

#[test]
fn a_secret_never_reaches_the_store_or_the_inbox() {
    let home = Home::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let file = home.path().join("t.jsonl");
    fs::write(&file, says(&home, 1, &format!("Remember: the bot logs in with {secret} for now")))
        .unwrap();
    let event = json!({ "session_id": "s", "transcript_path": file, "hook_event_name": "Stop",
        "last_assistant_message": format!("The cause was {secret} being revoked.") });
    hook(&home, &event.to_string());
    let record = fs::read_to_string(&inbox(&home)[0]).unwrap();
    assert!(!record.contains(secret) && record.contains("github-token"), "{record}");
    assert_eq!(home.run(&["add", &format!("key {secret}")]).code, 0);
    let outcome = home.run(&["run", "--phase", "buffer"]);
    assert!(outcome.out.contains("github-token 1"), "{}", outcome.out);
    assert_eq!(entries(&home).len(), 3);
    for file in fs::read_dir(home.store()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = fs::read(file.path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{:?}", file.path());
    }
}

#[test]
fn the_hook_survives_anything() {
    let home = Home::new();
    for event in [
        "",
        "not json",
        "[]",
        "{",
        "{\"session_id\":3}",
        "\u{0}",
        "{\"transcript_path\":\"\\ud83d\"}",
    ] {
        hook(&home, event);
    }
    for args in [&["hook"][..], &["hook", "--bogus"], &["hook", "codex", "x", "--y=z"]] {
        let outcome = home.run_with(args, b"{}");
        assert_eq!((outcome.code, outcome.out.as_str()), (0, ""));
    }
    // The data folder cannot be made: a file is in its place.
    let mut home = Home::new();
    fs::write(home.path().join("taken"), "").unwrap();
    home.set("LIFECYCLE_HOME", &home.path().join("taken/data").to_string_lossy());
    let outcome = home.run_with(&["hook"], end_of(Path::new("/t"), Path::new("/")).as_bytes());
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.lines().count()), (0, "", 1));
}

#[test]
fn bad_input_to_add_is_one_clear_error() {
    let home = Home::new();
    for args in [
        &["add", ""][..],
        &["add", " \n\t"],
        &["add", "x", "--kind", "nonsense"],
        &["add", "--file", "gone"],
    ] {
        let outcome = home.run(args);
        assert_eq!(outcome.code, 8, "{args:?} {}", outcome.err);
        assert!(outcome.err.starts_with("error: "), "{}", outcome.err);
    }
    let outcome = home.run_with(&["add", "-"], b"caf\xe9");
    assert_eq!(outcome.code, 8);
    assert!(outcome.err.contains("UTF-8"), "{}", outcome.err);
    assert_eq!(entries(&home).len(), 0);
}

#[test]
fn a_bad_line_of_a_notes_file_costs_only_itself() {
    let home = Home::new();
    let file = home.path().join("n.jsonl");
    fs::write(&file, "{\"text\":\"a b\",\"ts\":1780000000,\"tags\":[1]}\nnope\n\n{\"text\":\"c d\",\"kind\":\"decision\",\"created\":\"2026-06-10T09:00:00Z\"}\n{\"text\":\" \"}\n").unwrap();
    let outcome = home.run(&["add", "--project", "p", "--file", "n.jsonl"]);
    assert_eq!(outcome.code, 8);
    assert!(outcome.err.contains(":2:") && outcome.err.contains(":5:"), "{}", outcome.err);
    let found = entries(&home);
    assert_eq!(texts(&home), ["a b", "c d"]);
    assert_eq!(found[0]["created"], "2026-05-28T20:26:40Z");
    assert_eq!(found[1]["kind"], "decision");
    assert_eq!(found[0]["project"], home.project().to_string_lossy().as_ref());
}

#[test]
fn a_whole_file_and_standard_input_become_one_entry() {
    let home = Home::new();
    fs::write(home.path().join("note.md"), "# Tides\n\nTwo lines.\n").unwrap();
    assert_eq!(home.run(&["add", "--file-text", "note.md"]).code, 0);
    let outcome = home.run_with(&["add", "-", "--json"], "from a pipe\n".as_bytes());
    let printed: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(printed["ids"].as_array().unwrap().len(), 1);
    assert_eq!(texts(&home), ["# Tides\n\nTwo lines.", "from a pipe"]);
}

#[test]
fn a_busy_store_leaves_the_note_in_the_inbox() {
    let home = Home::new();
    assert_eq!(home.run(&["add", "first note"]).code, 0);
    let locked = rusqlite::Connection::open(home.database()).unwrap();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcome = home.run(&["--set", "store.busy_timeout_ms=50", "add", "second note"]);
    assert_eq!(outcome.code, 5, "{}", outcome.err);
    assert!(outcome.err.contains("inbox"), "{}", outcome.err);
    locked.execute_batch("ROLLBACK").unwrap();
    tick(&home);
    assert_eq!(texts(&home), ["first note", "second note"]);
}

#[test]
fn fifty_hooks_at_once_each_leave_their_record() {
    let home = Home::new();
    let event = end_of(&home.path().join("t.jsonl"), &home.project());
    let one = |_| {
        let started = std::time::Instant::now();
        hook(&home, &event);
        started.elapsed()
    };
    let mut times: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..50).map(|n| scope.spawn(move || one(n))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    times.sort();
    println!("50 at once: p50 {:?}, p99 {:?}", times[24], times[49]);
    assert_eq!(inbox(&home).len(), 50);
    assert!(times[49].as_secs() < 5, "{:?}", times[49]);
}

#[test]
fn a_conversation_that_changed_files_leaves_one_record_at_its_end() {
    let home = Home::new();
    let file = home.path().join("t.jsonl");
    let sample =
        fs::read_to_string(crate::support::fixture("transcripts/01-ordinary.jsonl")).unwrap();
    fs::write(&file, &sample).unwrap();
    let stop = json!({ "session_id": "s", "transcript_path": file, "hook_event_name": "Stop" })
        .to_string();
    hook(&home, &stop);
    tick(&home);
    assert!(texts(&home).iter().all(|text| !text.starts_with("Asked:")), "it goes on");
    for _ in 0..2 {
        hook(&home, &end_of(&file, Path::new("/home/robin/work/harbor-api")));
        tick(&home);
    }
    let sessions: Vec<_> = entries(&home).into_iter().filter(|e| e["kind"] == "session").collect();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["source"]["files"], json!(["src/import/rows.rs"]));
    assert_eq!(sessions[0]["project"], "/home/robin/work/harbor-api");
}

#[test]
fn a_forked_conversation_strengthens_nothing() {
    let home = Home::new();
    let said = |session: &str| {
        says_in(&home.project(), session, 1, "Remember: buoys are green to starboard")
    };
    for session in ["first", "fork"] {
        let file = home.path().join(format!("{session}.jsonl"));
        fs::write(&file, said(session)).unwrap();
        hook(&home, &end_of(&file, &home.project()));
    }
    tick(&home);
    assert_eq!((entries(&home).len(), &entries(&home)[0]["recalls"]), (1, &json!(0)));
}

#[test]
fn a_codex_hook_without_a_path_leads_to_the_rollout_of_its_id() {
    let home = Home::new();
    let folder = home.path().join("home/.codex/sessions/2026/06/08");
    fs::create_dir_all(&folder).unwrap();
    let rollout = crate::support::fixture("transcripts/09-codex-rollout.jsonl");
    let id = "0197c0de-7b1a-7c33-9d55-5a5a5a5a5a01";
    fs::copy(rollout, folder.join(format!("rollout-2026-06-08T14-00-00-{id}.jsonl"))).unwrap();
    let event = json!({ "session_id": id, "transcript_path": null, "cwd": home.project(), "turn_id": "t1",
        "hook_event_name": "Stop", "model": "m", "permission_mode": "default", "last_assistant_message": null });
    let outcome = home.run_with(&["hook", "codex"], event.to_string().as_bytes());
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""));
    tick(&home);
    let found = texts(&home).join("\n");
    assert!(found.contains("clippy only on changed crates"), "{found}");
    assert!(found.contains("harbour master label"), "{found}");
    assert_eq!(entries(&home)[0]["source"]["conversation"], id);
}

#[test]
fn a_pattern_of_the_users_own_is_redacted_too() {
    let home = Home::new();
    let pattern = "redact.patterns.badge='badge (?P<v>[0-9]{6})'";
    home.run(&["--set", pattern, "add", "--project", "p", "the gate opens with badge 123456"])
        .success();
    assert_eq!(texts(&home), ["the gate opens with badge [redacted:badge]"]);
}
