//! Many at once on a store that does not exist yet: hooks, notes, searches, servers, ticks.
//!
//! `LIFECYCLE_TEST_ROUNDS` sets how many rounds (2 by default); `scripts/crowd-test` runs 20.

use crate::capture::{end_of, says_in};
use crate::support::standin::{Standin, Vectors};
use crate::support::{Home, Outcome};
use rusqlite::Connection;
use serde_json::json;
use std::process::Child;
use std::time::Duration;

const HOOKS: usize = 50;
const NOTES: usize = 8;
const SEARCHES: usize = 4;

fn asked_by_protocol() -> String {
    let call = |id: u32, name: &str, arguments: serde_json::Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}})
    };
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "crowd", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "search", json!({"query": "quay"})),
        call(3, "status", json!({})),
    ];
    messages.iter().map(|message| message.to_string() + "\n").collect()
}

/// Runs `round` and fails on anything lost, doubled, locked out or left running.
fn round(round: usize) {
    let server = Standin::start();
    server.vectors(Vectors::default());
    let mut home = Home::new();
    home.set("LIFECYCLE_EMBED__URL", &server.url());
    home.set("LIFECYCLE_EMBED__URL_MODEL", "standin");
    home.set("LIFECYCLE_STORE__BUSY_TIMEOUT_MS", "60000");
    let events: Vec<String> = (0..HOOKS)
        .map(|n| {
            let file = home.path().join(format!("t{n}.jsonl"));
            let said = format!("Remember: hawser {n} is stored in locker {}", n * 7 + round);
            std::fs::write(&file, says_in(&home.project(), &format!("s{n}"), 1, &said)).unwrap();
            end_of(&file, &home.project())
        })
        .collect();
    let mut started: Vec<(&str, Child)> = Vec::new();
    for (n, event) in events.iter().enumerate() {
        started.push(("hook", home.start(&["hook", "claude-code"], event.as_bytes())));
        if n % 25 == 3 {
            started.push(("run", home.start(&["run"], b"")));
            started.push(("mcp", home.start(&["mcp"], asked_by_protocol().as_bytes())));
        }
        if n % 6 == 1 && n / 6 < NOTES {
            let note = format!("Quay {} was dredged to {} m", n / 6, 9 + n);
            started.push(("add", home.start(&["add", "--project", "p", &note], b"")));
        }
        if n % 12 == 5 {
            started.push(("search", home.start(&["search", "quay hawser", "--json"], b"")));
        }
    }
    let count = |what: &str| started.iter().filter(|(name, _)| *name == what).count();
    assert_eq!(
        (count("hook"), count("add"), count("search"), count("mcp"), count("run")),
        (HOOKS, NOTES, SEARCHES, 2, 2)
    );
    for (name, child) in started {
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        let said = format!("round {round}, {name}: {}\n{}", outcome.out, outcome.err);
        assert!(!said.contains("locked") && !said.contains("panicked"), "{said}");
        match name {
            "hook" => assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{said}"),
            // The second of two ticks is told so.
            "run" => assert!(matches!(outcome.code, 0 | 5), "{said}"),
            "mcp" => {
                assert_eq!(outcome.code, 0, "{said}");
                assert_eq!(outcome.out.lines().count(), 3, "every call is answered: {said}");
                assert!(!outcome.out.contains("\"isError\":true"), "{said}");
            }
            _ => assert_eq!(outcome.code, 0, "{said}"),
        }
    }
    home.run(&["run"]).success();
    let texts = home.texts(&[]);
    let (hawsers, quays): (Vec<_>, Vec<_>) =
        texts.iter().partition(|text| text.starts_with("hawser"));
    assert_eq!((hawsers.len(), quays.len()), (HOOKS, NOTES), "round {round}: {texts:#?}");
    one_tick_at_a_time(&home);
    assert_eq!(still_running(&home), [""; 0], "round {round}");
}

fn one_tick_at_a_time(home: &Home) {
    let connection = Connection::open(home.database()).unwrap();
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let overlapping: i64 = connection
        .query_row(
            "SELECT count(*) FROM tick a JOIN tick b ON a.id < b.id
             WHERE a.trigger = 'run' AND b.trigger = 'run' AND b.started < a.finished",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(overlapping, 0);
}

/// Command lines of processes of ours that use this home, where the system tells.
pub fn still_running(home: &Home) -> Vec<String> {
    let mark = home.path().join("home").display().to_string();
    let left = || -> Vec<String> {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
            .filter(|entry| {
                let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains(&mark)
            })
            .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
            .collect()
    };
    // What was waited for may take a moment to leave the table of processes.
    for _ in 0..20 {
        if left().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    left()
}

#[test]
fn nothing_is_lost_in_a_crowd() {
    let rounds = std::env::var("LIFECYCLE_TEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(2);
    (0..rounds).for_each(round);
    println!("{rounds} rounds of 66 processes");
}
