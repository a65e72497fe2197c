//! The scheduled run works, or fails loudly, in an empty environment.

use crate::capture::says;
use crate::support::{Home, Outcome};
use std::fs;
use std::process::Command;

fn bare(home: &Home, with_home: bool, args: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lifecycle"));
    command.args(args).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if with_home {
        command.env("HOME", home.path().join("home"));
    } else {
        // Not the home folder of whoever runs the tests.
        command
            .env("LIFECYCLE_HOME", home.path().join("store"))
            .env("LIFECYCLE_CAPTURE__SCAN", "[]");
    }
    Outcome::from(command.output().unwrap())
}

#[test]
fn settings_come_from_the_config_file() {
    let home = Home::new();
    let config = home.path().join("home/.config/lifecycle");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[age]\nnewer_entries = 7\n").unwrap();
    let shown = bare(&home, true, &["config", "show"]).success();
    assert!(shown.out.contains("age.newer_entries = 7"), "{}", shown.out);
    bare(&home, true, &["run", "--if-due", "--quiet"]).success();
}

#[test]
fn without_a_home_variable_the_user_database_tells() {
    let home = Home::new();
    let outcome = bare(&home, false, &["run"]);
    assert!(matches!(outcome.code, 0 | 3), "{} {}", outcome.code, outcome.err);
}

#[test]
fn nothing_done_is_not_healthy() {
    let home = Home::new();
    let status = home.json(&["status"]);
    assert_eq!(status["health"], "never run");
}

#[test]
fn a_run_without_path_shell_or_terminal_captures() {
    let home = Home::new();
    let file = home.path().join("home/.claude/projects/-p/a.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, says(&home, 1, "Remember: lanterns are lit at dusk")).unwrap();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(&file).unwrap().set_modified(hour_ago).unwrap();
    let outcome = home
        .command(&["run", "--phase", "buffer"])
        .env_clear()
        .env("HOME", home.path().join("home"))
        .current_dir("/")
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(crate::capture::texts(&home), ["lanterns are lit at dusk"]);
}

/// A key is missing: the run says so, and status shows when it failed and why, and the last success.
#[test]
fn what_is_missing_is_said_then_and_later() {
    use crate::support::merging::{BERTH, Merging};
    let mut case = Merging::new("openai-compatible");
    case.home.set("LIFECYCLE_NOW", "2026-06-01T00:00:00Z");
    case.home.run(&["--now", "2026-06-01T00:00:00Z", "add", "an older note"]).success();
    case.home.run(&["--now", "2026-06-01T00:00:00Z", "run", "--phase", "connect"]).success();
    case.add(BERTH);
    let missing = [
        "--set",
        "consolidate.local_only=false",
        "--set",
        "consolidate.providers.m.kind=\"groq\"",
        "--set",
        "consolidate.providers.m.key_env=\"NO_SUCH_KEY\"",
        "--now",
        "2026-06-02T00:00:00Z",
        "run",
    ];
    let outcome = case.home.run(&missing);
    assert!(outcome.code != 0, "{}", outcome.out);
    assert!(format!("{}{}", outcome.out, outcome.err).contains("NO_SUCH_KEY"), "{}", outcome.out);
    let status = case.home.json(&["status"]);
    assert_eq!(status["health"], "failing", "{status}");
    assert_eq!(status["last_tick"]["started"], "2026-06-02T00:00:00Z", "{status}");
    assert!(status["last_tick"]["notes"].to_string().contains("NO_SUCH_KEY"), "{status}");
    assert_eq!(status["last_success"]["started"], "2026-06-01T00:00:00Z", "{status}");
}
