//! Setting up, taking back, and the schedule.

use crate::support::Home;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Every file below the folder with its bytes.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// A home with Claude Code and Codex in it, and a stand-in for the system's scheduler that writes
/// down how it is called.
fn furnished() -> Home {
    let mut home = Home::new();
    let tools = home.path().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(
        tools.join("systemctl"),
        format!("#!/bin/sh\necho \"$@\" >>'{}'\n", home.path().join("systemctl.log").display()),
    )
    .unwrap();
    std::fs::set_permissions(tools.join("systemctl"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    home.set("PATH", tools.to_str().unwrap());
    let claude = home.path().join("home/.claude");
    std::fs::create_dir_all(&claude).unwrap();
    std::fs::write(claude.join("settings.json"), "{\"model\": \"opus\"}").unwrap();
    std::fs::create_dir_all(home.path().join("home/.codex")).unwrap();
    home
}

#[test]
fn init_shows_then_writes_once_and_undo_gives_every_byte_back() {
    let home = furnished();
    let root = home.path().join("home");
    let before = snapshot(&root);

    let shown = home.run(&["init", "--dry-run"]).success();
    for part in ["settings.json", "hooks.json", "lifecycle.timer", "config.toml", "enable --now"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert_eq!(snapshot(&root), before, "a dry run writes nothing");
    home.run(&["init"]).code(7);
    assert_eq!(snapshot(&root), before, "without a terminal nothing is written unasked");

    home.run(&["init", "--yes"]).success();
    let once = snapshot(&root);
    assert!(once.len() > before.len());
    let again = home.run(&["init", "--yes"]).success();
    assert!(again.out.contains("nothing to change"), "{}", again.out);
    assert_eq!(snapshot(&root), once);

    home.run(&["init", "--undo"]).success();
    assert_eq!(snapshot(&root), before);
    assert!(!root.join(".config").exists(), "folders that were made are gone");
    let calls = std::fs::read_to_string(home.path().join("systemctl.log")).unwrap();
    assert!(calls.contains("--user enable --now lifecycle.timer"), "{calls}");
    assert!(calls.contains("--user disable --now lifecycle.timer"), "{calls}");
}

#[test]
fn undo_after_work_leaves_the_store() {
    let home = furnished();
    home.run(&["init", "--yes"]).success();
    home.run(&["add", "A note"]).success();
    home.run(&["init", "--undo"]).success();
    assert!(home.database().exists());
    assert!(!home.store().join("install.json").exists());
}

#[test]
fn the_next_times_are_those_of_the_zone() {
    let mut home = Home::new();
    home.set("TZ", "Europe/Berlin");
    home.set("LIFECYCLE_SCHEDULE__CRON", "30 2 * * *");
    let next = home.json(&["schedule", "next", "--now", "2026-03-28T12:00:00Z"]);
    assert_eq!(next["zone"], "Europe/Berlin");
    assert_eq!(next["next"][0], "2026-03-29T01:00:00Z");
    assert_eq!(next["next"][1], "2026-03-30T00:30:00Z");
    assert_eq!(next["next"].as_array().unwrap().len(), 5);
    home.set("LIFECYCLE_SCHEDULE__CRON", "0 30 2 * * *");
    let refused = home.run(&["schedule", "next"]).code(3);
    assert!(refused.complained().contains("6 fields"), "{}", refused.err);
}

/// Days asleep lead to one run; being called again does nothing; a clock put back does no harm.
#[test]
fn the_job_decides_itself_whether_it_is_due() {
    let mut home = Home::new();
    home.set("TZ", "UTC");
    let run = |now: &str| home.run(&["run", "--if-due", "--now", now]).success().out;
    let last = || home.json(&["schedule", "status"])["last_run"].as_str().unwrap().to_string();
    assert!(!run("2026-06-01T12:00:00Z").is_empty(), "never ran");
    assert_eq!(last(), "2026-06-01T12:00:00Z");
    assert!(run("2026-06-01T13:00:00Z").is_empty());
    assert!(!run("2026-06-05T07:00:00Z").is_empty(), "missed for days");
    assert!(run("2026-06-05T07:01:00Z").is_empty(), "made up once");
    assert!(run("2026-05-01T00:00:00Z").is_empty(), "the clock was put back");
    assert_eq!(last(), "2026-05-01T00:00:00Z");
    assert!(!run("2026-05-01T03:30:00Z").is_empty(), "and the next time counts again");
}

/// A home with small talk that nothing connects to, ready to be judged by ageing.
fn with_chatter() -> Home {
    let mut home = Home::new();
    home.set("LIFECYCLE_AGE__NEWER_ENTRIES", "1");
    home.set("LIFECYCLE_CONNECT__LINK_SIMILARITY", "0.999");
    for text in ["ok, thanks", "good morning", "sounds fine to me", "see you tomorrow"] {
        home.run(&["add", text]).success();
    }
    home.run(&["run", "--phase", "connect"]).success();
    home
}

#[test]
fn a_plan_is_applied_as_it_was_answered() {
    let home = with_chatter();
    home.run(&["run", "--dry-run", "--phase", "age", "--plan", "plan.json"]).success();
    let plan: serde_json::Value =
        serde_json::from_slice(&std::fs::read(home.path().join("plan.json")).unwrap()).unwrap();
    let steps = plan["steps"].as_array().unwrap();
    let expiring: Vec<&str> = steps
        .iter()
        .filter(|step| step["step"] == "expire")
        .map(|step| step["entry"].as_str().unwrap())
        .collect();
    assert!(expiring.len() >= 2, "{steps:?}");
    let answers: String = steps
        .iter()
        .map(|step| match step["entry"].as_str() {
            Some(id) if id == expiring[0] => "p\n",
            _ => "y\n",
        })
        .collect();
    let given_up = home.run_with(&["apply", "plan.json", "--interactive"], b"y\n").success();
    assert!(given_up.out.contains("nothing was applied"), "{}", given_up.out);
    home.run_with(&["apply", "plan.json", "--interactive"], format!("{answers}y\n").as_bytes())
        .success();
    let state = |id: &str| home.json(&["show", id]);
    assert!(state(expiring[0]).to_string().contains("\"buffered\""));
    assert!(state(expiring[1]).to_string().contains("\"expired\""));
}

#[test]
fn review_needs_a_terminal_or_answers() {
    let home = with_chatter();
    let refused = home.run(&["review"]).code(7);
    assert!(refused.err.contains("--ask"), "{}", refused.err);
    let asked = home.run_with(&["review", "--ask"], b"q\n").success();
    assert!(asked.out.contains("nothing was applied"), "{}", asked.out);
}

#[test]
fn settings_are_edited_only_into_valid_ones() {
    let mut home = Home::new();
    let editor = home.path().join("my editor");
    let write = |line: &str| {
        let script = format!("#!/bin/sh\n/bin/cat >\"$1\" <<'X'\n{line}\nX\n");
        std::fs::write(&editor, script).unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    home.set("EDITOR", &format!("'{}'", editor.display()));
    let config = home.path().join("home/.config/lifecycle/config.toml");
    for wrong in [
        "[age]\nnewer_entry = 3",
        "[age]\nnewer_entries = \"x\"",
        "[schedule]\ncron = \"61 * * * *\"",
    ] {
        write(wrong);
        home.run(&["config", "edit"]).code(3);
        assert!(!config.exists(), "{wrong}");
    }
    write("[age]\nnewer_entries = 3");
    home.run(&["config", "edit"]).success();
    assert!(home.run(&["config", "show"]).success().out.contains("age.newer_entries = 3"));
    // A file that is broken already can be mended the same way.
    std::fs::write(&config, "[age\n").unwrap();
    home.run(&["status"]).code(3);
    home.run(&["config", "edit"]).success();
    home.run(&["status"]).success();
}

#[test]
fn a_live_run_is_logged_and_a_dry_one_is_not() {
    let home = with_chatter();
    let log = home.store().join("log/lifecycle.log");
    std::fs::remove_file(&log).unwrap();
    home.run(&["run", "--dry-run", "--phase", "age"]).success();
    assert!(!log.exists());
    home.run(&["run", "--phase", "age", "--quiet"]).success();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("expire"), "{text}");
}

/// Everybody tells the same moment of the same tick, and what is no run does not count as one.
#[test]
fn a_tick_has_one_time_wherever_it_is_shown() {
    let mut home = Home::new();
    home.set("TZ", "Asia/Kolkata");
    for text in ["ok, thanks", "good morning", "the quay has nine berths"] {
        home.run(&["add", text]).success();
    }
    let before = home.json(&["status"]);
    assert!(before["last_run"].is_null(), "adding is no run: {before}");
    assert!(home.run(&["status"]).success().out.contains("last run      never"));
    home.run(&["run"]).success();
    let report = home.json(&["report"]);
    let history = home.json(&["history"]);
    let status = home.json(&["status"]);
    assert_eq!(report["time"], history[0]["started"]);
    assert_eq!(report["time"], status["last_tick"]["started"]);
    let listed = home.run(&["history"]).success().out;
    let time = regex::Regex::new(r"\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d").unwrap();
    let time = time.find(&listed).unwrap().as_str();
    assert!(time.ends_with("+05:30"), "one's own zone: {time}");
    for args in [["report"], ["status"]] {
        let shown = home.run(&args).success().out;
        assert!(shown.contains(time), "{args:?}: {time}: {shown}");
    }
    let last = status["last_run"].clone();
    let id = home.json(&["list"])[0]["id"].as_str().unwrap().to_string();
    home.run(&["protect", &id]).success();
    home.run(&["undo"]).success();
    assert_eq!(home.json(&["status"])["last_run"], last, "what is done by hand is no run");
}

#[test]
fn quiet_is_quiet_and_verbose_tells_more() {
    let home = with_chatter();
    let quiet = home.run(&["run", "--quiet"]).success();
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    home.run(&["add", "-q", "the quay has nine berths"]).success();
    let plain = home.run(&["run"]).success();
    assert!(!plain.out.is_empty());
    assert_eq!(plain.err, "", "no progress where there is no terminal");
    home.run(&["add", "the tide gate leaks"]).success();
    let verbose = home.run(&["run", "-v"]).success();
    assert!(verbose.err.contains("INFO") && verbose.err.contains("embed"), "{}", verbose.err);
    assert!(home.run(&["list", "-q"]).success().out.contains("tide gate"), "asked for is shown");
    let both = home.run(&["run", "-q", "-v"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

/// A machine without the model: `status` says so, and what to do.
#[test]
fn a_run_that_failed_at_once_is_seen_in_status() {
    let mut home = Home::new();
    home.run(&["add", "the quay has nine berths"]).success();
    home.set("LIFECYCLE_MODELS", home.path().join("none").to_str().unwrap());
    home.run(&["run"]).code(9);
    let status = home.run(&["status"]).success();
    for part in ["health failing", "lifecycle setup", "not installed", "to connect 1"] {
        assert!(status.flat().contains(part), "{part}: {}", status.out);
    }
    assert_eq!(home.json(&["history"])[0]["status"], "incomplete");
}

/// Two stores of one user share the table of cron; each has its own part.
#[test]
fn the_schedule_of_one_store_leaves_that_of_another() {
    let mut home = Home::new();
    let table = home.path().join("crontab.table");
    home.run(&["schedule", "install", "--by", "cron"]).success();
    let first = std::fs::read_to_string(&table).unwrap();
    let other = home.path().join("other store");
    home.set("LIFECYCLE_HOME", other.to_str().unwrap());
    home.run(&["schedule", "install", "--by", "cron"]).success();
    let both = std::fs::read_to_string(&table).unwrap();
    assert!(both.starts_with(&first) && both.len() > first.len(), "{both}");
    home.run(&["schedule", "remove"]).success();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), first);
    home.run(&["schedule", "install", "--by", "cron"]).success();
    let mut one = Home::new();
    std::mem::swap(&mut one.variables, &mut home.variables);
    home.run(&["schedule", "remove"]).success();
    let left = std::fs::read_to_string(&table).unwrap();
    assert_eq!(left, both[first.len()..]);
}

#[test]
fn pairs_with_an_unknown_label_are_refused() {
    let home = Home::new();
    let row = r#"{"id": "7", "a": "x", "b": "y", "label": "link"}"#;
    std::fs::write(home.path().join("pairs.jsonl"), row).unwrap();
    let refused = home.run(&["eval", "links", "pairs.jsonl"]).code(8);
    let said = refused.complained();
    assert!(said.contains("pair 7") && said.contains("structural-noise"), "{said}");
}

#[test]
fn commands_by_hand_in_a_row_are_one_line_of_the_history() {
    let home = Home::new();
    for text in ["Pump 1 leaks", "Pump 2 hums", "Pump 3 is new"] {
        home.run(&["add", text]).success();
    }
    let folded = home.run(&["history"]).success().out;
    assert_eq!(folded.lines().filter(|line| line.contains("add")).count(), 1, "{folded}");
    assert!(folded.contains("by hand: 3"), "{folded}");
    assert_eq!(home.run(&["history", "--all"]).success().out.lines().count(), 3);
    assert_eq!(home.json(&["history"]).as_array().unwrap().len(), 3);
}
