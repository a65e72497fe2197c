//! One rule: what makes any command fail as damage is found by `doctor`, mended by
//! `doctor --repair`, and named by every command that meets it, with one exit code and one next step.

use crate::support::{Home, Outcome};
use rusqlite::Connection;

/// A store with a history: entries, a proven one in a file, ticks with steps of every kind.
fn lived_in() -> Home {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n\n## Database\n\n- Postgres 16\n");
    home.prove(
        Some(&home.project()),
        "Each Postgres table of the database has a `created_at` column in UTC",
    );
    let notes: String = (0..12)
        .map(|n| format!("{{\"text\": \"Lamp {n} of the harbor is lit at dusk, row {n}\"}}\n"))
        .collect();
    std::fs::write(home.path().join("notes.jsonl"), notes).unwrap();
    home.run(&["add", "--project", "p", "--file", "notes.jsonl"]).success();
    home.run(&["run"]).success();
    assert!(home.get("CLAUDE.md").contains("created_at"));
    home.run(&["add", "--project", "p", "Pilots board at the outer buoy"]).success();
    let connection = Connection::open(home.database()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    home
}

/// Exit code 4 with the one next step, or no trouble at all.
#[track_caller]
fn is_told_or_unharmed(what: &str, args: &[&str], outcome: &Outcome) -> bool {
    let said = format!("{what}, {args:?}: {}: {}{}", outcome.code, outcome.out, outcome.err);
    assert!(!said.contains("panicked"), "{said}");
    if outcome.code != 4 {
        assert!(matches!(outcome.code, 0 | 6 | 7), "{said}");
        return false;
    }
    let complained = outcome.complained();
    assert!(complained.contains("the store is damaged"), "{said}");
    assert!(complained.contains("`lifecycle doctor --repair`"), "{said}");
    true
}

const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["list", "--all"],
    &["report"],
    &["history"],
    &["search", "lamp"],
    &["brief", "--project", "p"],
    &["export", "-"],
    &["run", "--dry-run"],
    &["undo", "--dry-run"],
    &["add", "--project", "p", "One note more"],
    &["run"],
    &["undo"],
];

/// The doctor finds it, the repair mends it, and every command works again.
fn found_and_mended(what: &str, home: &Home, commands: &[&[&str]]) {
    let doctor = home.run(&["doctor", "--no-call"]);
    assert_eq!(doctor.code, 4, "{what}: {}{}", doctor.out, doctor.err);
    assert!(doctor.complained().contains("`lifecycle doctor --repair`"), "{what}: {}", doctor.err);
    let dry = home.run(&["doctor", "--repair", "--dry-run"]).code(6);
    assert!(dry.said().contains("the store is damaged"), "{what}: {}", dry.out);
    let done = home.run(&["doctor", "--repair"]);
    assert!(matches!(done.code, 0 | 6), "{what}: {}{}", done.out, done.err);
    assert!(done.said().contains("kept as"), "{what}: {}", done.out);
    for args in commands {
        let outcome = home.run(args);
        // The journal may be what was lost.
        let is_lost = outcome.err.contains("no tick has run yet");
        assert!(is_lost || matches!(outcome.code, 0 | 6 | 7), "{what}: {args:?}: {}", outcome.err);
    }
    let again = home.run(&["doctor", "--repair", "--dry-run"]);
    assert!(!again.said().contains("the store is damaged"), "{what}: {}", again.out);
}

/// The few commands that between them read every table.
const FEW: &[&[&str]] = &[&["list", "--all"], &["report"], &["run"], &["undo", "--dry-run"]];

/// Puts a database file in the place of the store's.
fn replace(home: &Home, bytes: &[u8]) {
    for end in ["-wal", "-shm"] {
        let beside = format!("{}{end}", home.database().display());
        let _ = std::fs::remove_file(beside);
    }
    std::fs::write(home.database(), bytes).unwrap();
}

#[test]
fn a_file_without_its_end_is_found_mended_and_told_by_every_command() {
    let home = lived_in();
    let whole = std::fs::read(home.database()).unwrap();
    for (cut, commands) in [(100, COMMANDS), (1, FEW), (4096, FEW), (4096 * 3 + 17, FEW)] {
        let what = format!("cut by {cut}");
        let rest = &whole[..whole.len() - cut];
        replace(&home, rest);
        for args in commands {
            assert!(is_told_or_unharmed(&what, args, &home.run(args)), "{what}: {args:?}");
        }
        assert_eq!(std::fs::read(home.database()).unwrap(), rest, "nothing was written into it");
        found_and_mended(&what, &home, commands);
        assert!(home.texts(&["--all"]).len() >= 12, "{what}: the entries are had back");
    }
}

#[test]
fn zeros_in_the_place_of_the_end_are_found_in_the_rows() {
    // What SQLite reads, and writes back, where the last bytes of a page are missing.
    let home = lived_in();
    let whole = std::fs::read(home.database()).unwrap();
    let (mut found, mut told) = (0, 0);
    for page in (1..whole.len() / 4096).rev() {
        let (at, what) = (page * 4096, format!("zeros at the end of page {page}"));
        if whole[at + 3996..at + 4096].iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[at + 3996..at + 4096].fill(0);
        replace(&home, &bytes);
        let doctor = home.run(&["doctor", "--no-call"]);
        let met =
            ["report", "list"].map(|verb| is_told_or_unharmed(&what, &[verb], &home.run(&[verb])));
        told += usize::from(met.contains(&true));
        if doctor.code == 4 {
            found += 1;
            if found <= 2 {
                found_and_mended(&what, &home, FEW);
            }
        }
        assert!(doctor.code == 4 || !met.contains(&true), "{what}: the doctor found nothing");
        if found >= 8 && told >= 1 {
            return;
        }
    }
    assert!(found >= 3, "{found} of the pages");
}

#[test]
fn a_row_that_cannot_be_read_is_found_mended_and_told() {
    let damages = [
        ("a step", "UPDATE step SET data = substr(data, 1, 20)"),
        ("zeros in a step", "UPDATE step SET data = replace(data, '{', char(0))"),
        ("a state", "UPDATE entry SET state = 'bufgered' WHERE seq = 3"),
        ("a kind", "UPDATE entry SET kind = 'inright' WHERE seq = 4"),
        ("a channel", "UPDATE entry SET channel = 'c|i' WHERE seq = 4"),
        ("a text that is none", "UPDATE entry SET text = CAST(x'c328ff' AS TEXT) WHERE seq = 5"),
        ("a count", "UPDATE entry SET recalls = -4611686018427387904 WHERE seq = 6"),
        ("notes of a tick", "UPDATE tick SET notes = '[{' WHERE id = 1"),
        (
            "members of a cluster",
            "INSERT INTO cluster VALUES ('k', '[\"a', 'kept', '', 1, NULL, 0, '')",
        ),
        ("what a file held", "UPDATE file_write SET before = x'00' WHERE before IS NOT NULL"),
        ("a vector", "UPDATE vector SET data = zeroblob(length(data))"),
        ("a table", "DROP TABLE sighting"),
        ("a column", "ALTER TABLE batch RENAME COLUMN reason TO reaspn"),
    ];
    let home = lived_in();
    let whole = std::fs::read(home.database()).unwrap();
    for (what, sql) in damages {
        replace(&home, &whole);
        let connection = Connection::open(home.database()).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0 || sql.starts_with(['D', 'A']), "{what}");
        drop(connection);
        for args in FEW {
            is_told_or_unharmed(what, args, &home.run(args));
        }
        found_and_mended(what, &home, FEW);
        let entries = home.texts(&["--all"]).len();
        assert!(entries >= 14, "{what}: {entries} entries");
    }
}

#[test]
fn an_entry_keeps_its_words_where_only_a_word_about_it_was_hit() {
    let home = lived_in();
    let texts = home.texts(&["--all"]);
    let connection = Connection::open(home.database()).unwrap();
    connection.execute("UPDATE entry SET state = 'x', kind = 'y', actor = 'z'", []).unwrap();
    drop(connection);
    home.run(&["list", "--all"]).code(4);
    home.run(&["doctor", "--repair"]).success();
    let mut now = home.texts(&["--all"]);
    let mut before = texts;
    now.sort();
    before.sort();
    assert_eq!(now, before);
}

/// A store in use has a log, and its file may be shorter than it will be.
#[test]
fn a_store_in_use_is_not_taken_for_damaged() {
    let home = lived_in();
    let connection = Connection::open(home.database()).unwrap();
    connection.execute("UPDATE meta SET value = value", []).unwrap();
    connection.execute("CREATE TABLE more AS SELECT zeroblob(200000) AS x", []).unwrap();
    connection.execute("DROP TABLE more", []).unwrap();
    home.run(&["status"]).success();
    home.run(&["add", "--project", "p", "Beside another process"]).success();
    let doctor = home.run(&["doctor", "--repair", "--dry-run"]);
    assert!(!doctor.said().contains("damaged"), "{}", doctor.out);
}

/// Where hooks leave what they were told: a file has its name, or it takes nothing.
#[test]
fn what_a_hook_says_is_kept_while_the_inbox_takes_nothing() {
    use std::os::unix::fs::PermissionsExt;
    for kind in ["a file", "closed"] {
        let home = Home::new();
        home.run(&["add", "--project", "p", "The first note"]).success();
        let inbox = home.store().join("inbox");
        let _ = std::fs::remove_dir_all(&inbox);
        if kind == "a file" {
            std::fs::write(&inbox, "in the way").unwrap();
        } else {
            std::fs::create_dir_all(&inbox).unwrap();
            std::fs::set_permissions(&inbox, PermissionsExt::from_mode(0o555)).unwrap();
        }
        let said = home.path().join("t.jsonl");
        std::fs::write(&said, crate::capture::says(&home, 1, "Remember: lamp 1 is red")).unwrap();
        crate::capture::hook(&home, &crate::capture::end_of(&said, &home.project()));
        let status = home.run(&["status"]).success();
        assert!(status.said().contains("1 records wait"), "{kind}: {}", status.out);
        assert!(status.said().contains("`lifecycle doctor --repair`"), "{kind}: {}", status.out);
        assert_eq!(home.json(&["status"])["inbox"], 1);
        let run = home.run(&["run", "--phase", "buffer"]);
        assert_eq!(run.code, 6, "{kind}: {}", run.out);
        assert!(run.said().contains("inbox"), "{kind}: {}", run.out);
        assert!(crate::capture::texts(&home).contains(&"lamp 1 is red".to_string()), "{kind}");
        let found = home.run(&["doctor", "--no-call"]).code(6);
        assert!(found.said().contains("inbox"), "{kind}: {}", found.out);
        home.run(&["doctor", "--repair"]).success();
        assert!(inbox.is_dir(), "{kind}");
        std::fs::write(&said, crate::capture::says(&home, 2, "Remember: lamp 2 is green")).unwrap();
        crate::capture::hook(&home, &crate::capture::end_of(&said, &home.project()));
        let records = std::fs::read_dir(&inbox).unwrap().count();
        assert_eq!(records, 1, "{kind}: the inbox is in use again");
        home.run(&["run", "--phase", "buffer"]).success();
        assert!(crate::capture::texts(&home).contains(&"lamp 2 is green".to_string()), "{kind}");
        if kind == "a file" {
            let kept = std::fs::read_dir(home.store()).unwrap().flatten();
            let kept = kept.map(|entry| entry.file_name().to_string_lossy().into_owned());
            assert!(kept.into_iter().any(|name| name.starts_with("inbox.damaged-")));
        }
    }
}

/// Where nothing at all can be left, the hook is still silent to the assistant and ends with 0.
#[test]
fn a_hook_that_can_leave_nothing_says_so_and_disturbs_nobody() {
    let home = Home::new();
    std::fs::create_dir_all(home.store()).unwrap();
    for folder in ["inbox", "inbox-spare"] {
        std::fs::write(home.store().join(folder), "in the way").unwrap();
    }
    let event = crate::capture::end_of(&home.path().join("t.jsonl"), &home.project());
    let outcome = home.run_with(&["hook", "claude-code"], event.as_bytes()).success();
    assert_eq!(outcome.out, "");
    assert!(outcome.err.contains("inbox"), "{}", outcome.err);
    let log = std::fs::read_to_string(home.store().join("log/lifecycle.log")).unwrap();
    assert!(log.contains("left to the scan"), "{log}");
}

#[test]
fn a_folder_in_the_place_of_the_log_costs_no_entry() {
    let home = lived_in();
    let before = home.texts(&["--all"]).len();
    let log = format!("{}-wal", home.database().display());
    let _ = std::fs::remove_file(&log);
    std::fs::create_dir(&log).unwrap();
    home.run(&["doctor", "--repair"]);
    assert_eq!(home.texts(&["--all"]).len(), before);
}
