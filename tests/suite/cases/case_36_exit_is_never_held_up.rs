//! The hook returns at once whatever is broken behind it.

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn the_hook_returns_at_once_whatever_is_broken() {
    let home = Home::new();
    home.run(&["add", "--project", "p", "the store is there"]).success();
    let locked = rusqlite::Connection::open(home.database()).unwrap();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let file = home.path().join("t.jsonl");
    fs::write(&file, says(&home, 1, "Remember: fenders are replaced yearly")).unwrap();
    for _ in 0..5 {
        let started = Instant::now();
        hook(&home, &end_of(&file, &home.project()));
        assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    }
    locked.execute_batch("ROLLBACK").unwrap();
    drop(locked);
    tick(&home);
    assert_eq!(texts(&home), ["fenders are replaced yearly", "the store is there"]);
}

#[test]
fn an_open_pipe_does_not_hold_it_up() {
    let home = Home::new();
    let file = home.path().join("t.jsonl");
    for (input, records) in [(end_of(&file, &home.project()), 1), ("{\"half\":".to_string(), 1)] {
        let mut child =
            home.command(&["hook"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input.as_bytes()).unwrap();
        pipe.flush().unwrap();
        let started = Instant::now();
        let output = child.wait_with_output().unwrap();
        // The pipe is still open: 0.8 s of patience, and room for a busy machine.
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        assert_eq!(fs::read_dir(home.store().join("inbox")).unwrap().count(), records);
        drop(pipe);
    }
}

/// Whatever the event and whatever is broken: exit 0, nothing on standard output, one short line on
/// standard error at most, and no process of ours stays.
#[test]
fn no_event_is_an_order_whatever_is_broken() {
    let events = [
        "SessionStart",
        "SessionEnd",
        "Stop",
        "StopFailure",
        "PreCompact",
        "PostCompact",
        "Interrupt",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStop",
        "MoonRise",
    ];
    type Break = fn(&Home);
    let broken: [(&str, Break); 5] = [
        ("nothing", |_| {}),
        ("the store", |home| fs::write(home.database(), b"no database").unwrap()),
        ("the settings", |home| {
            let folder = home.path().join("home/.config/lifecycle");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.toml"), "[age\n").unwrap();
        }),
        ("the inbox", |home| {
            for folder in ["inbox", "inbox-spare"] {
                fs::write(home.store().join(folder), "in the way").unwrap();
            }
        }),
        ("the folder", |home| {
            fs::remove_dir_all(home.store()).unwrap();
            fs::write(home.store(), "in the way").unwrap();
        }),
    ];
    for (what, make) in broken {
        let home = Home::new();
        home.run(&["add", "--project", "p", "the store is there"]).success();
        make(&home);
        for event in events {
            let told = serde_json::json!({ "session_id": "s", "hook_event_name": event,
                "transcript_path": home.path().join("t.jsonl"), "cwd": home.path(), "prompt": "x" });
            for args in
                [&["hook", "claude-code"][..], &["hook", "codex"], &["hook", "nobody", "-x"]]
            {
                let outcome = home.run_with(args, told.to_string().as_bytes());
                assert_eq!(outcome.code, 0, "{what}, {event}, {args:?}: {}", outcome.err);
                assert_eq!(outcome.out, "", "{what}, {event}, {args:?}");
                assert!(outcome.err.lines().count() <= 1, "{what}, {event}: {}", outcome.err);
                assert!(outcome.err.len() < 400, "{what}, {event}: {}", outcome.err);
            }
        }
        let left = crate::crowd::still_running(&home);
        assert!(left.is_empty(), "{what}: {left:?}");
    }
}
