//! Whatever is named as a file and is none (a pipe, a device, a socket, a folder) is an error that is
//! told, never waited for and never read without end.

use crate::support::{Home, Outcome};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn pipe(path: &Path) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that must end by itself.
#[track_caller]
fn ends(home: &Home, args: &[&str]) -> Outcome {
    let child = home
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ended(child, args)
}

#[track_caller]
fn ended(mut child: Child, args: &[&str]) -> Outcome {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Outcome::from(child.wait_with_output().unwrap())
}

#[test]
fn a_file_on_the_command_line_that_is_none_is_an_input_that_cannot_be_used() {
    let mut home = Home::new();
    home.set("LIFECYCLE_DOCUMENTS__ALLOWED_ROOTS", "[\"/\"]");
    home.run(&["add", "--project", "p", "A note"]).success();
    let fifo = home.path().join("pipe.md");
    pipe(&fifo);
    let fifo = fifo.display().to_string();
    let folder = home.project().display().to_string();
    for named in [fifo.as_str(), "/dev/zero", folder.as_str()] {
        let commands: &[&[&str]] = &[
            &["add", "--file", named],
            &["add", "--file-text", named],
            &["import", named],
            &["import", "--from", "claude-mem", named],
            &["apply", named],
            &["eval", "links", named],
            &["eval", "clusters", named],
            &["eval", "retrieval", named],
            &["eval", "routes", "--corpus", named, named],
            &["prompt", "replay", named],
        ];
        for args in commands {
            let outcome = ends(&home, args);
            assert_eq!(outcome.code, 8, "{args:?}: {}{}", outcome.out, outcome.err);
            assert!(outcome.err.lines().any(|line| line.starts_with("error:")), "{args:?}");
            assert!(!outcome.err.contains("panicked"), "{args:?}: {}", outcome.err);
        }
        // A device is denied before it is looked at.
        let outcome = ends(&home, &["add-file", named]);
        assert!(matches!(outcome.code, 7 | 8), "{named}: {}", outcome.err);
    }
    assert_eq!(ends(&home, &["add-file", &fifo]).code, 8);
    let id = home.json(&["list"])[0]["id"].as_str().unwrap().to_string();
    assert_eq!(ends(&home, &["eval", "add", &fifo, "a question", &id]).code, 8);
    assert_eq!(home.texts(&[]).len(), 1);
}

#[test]
fn standard_input_without_an_end_is_given_up() {
    let home = Home::new();
    for args in [&["add", "-"][..], &["add-text", "-"]] {
        let endless = std::fs::File::open("/dev/zero").unwrap();
        let child = home
            .command(args)
            .stdin(endless)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let outcome = ended(child, args);
        assert_eq!(outcome.code, 8, "{args:?}: {}", outcome.err);
        assert!(outcome.complained().contains("is larger than"), "{args:?}: {}", outcome.err);
    }
}

/// An assistant may keep its end of the pipe open, and send nothing or no end.
#[test]
fn a_hook_waits_neither_for_an_end_nor_for_a_beginning() {
    let home = Home::new();
    let said = home.path().join("t.jsonl");
    std::fs::write(&said, crate::capture::says(&home, 1, "Remember: lamp 1 is red")).unwrap();
    let event = crate::capture::end_of(&said, &home.project());
    for (input, records) in [("", 0), ("{\"session_id\":", 0), (event.as_str(), 1)] {
        let mut child = home
            .command(&["hook", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut open = child.stdin.take().unwrap();
        open.write_all(input.as_bytes()).unwrap();
        open.flush().unwrap();
        let outcome = ended(child, &["hook"]);
        drop(open);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{}", outcome.err);
        let left = std::fs::read_dir(home.store().join("inbox")).map_or(0, Iterator::count);
        assert_eq!(left, records);
    }
    let endless = std::fs::File::open("/dev/zero").unwrap();
    let child = home.command(&["hook"]).stdin(endless).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(ended(child, &["hook"]).code, 0);
}

#[test]
fn settings_that_are_no_file_are_a_wrong_setting() {
    let mut home = Home::new();
    let fifo = home.path().join("settings.toml");
    pipe(&fifo);
    for named in [fifo.to_str().unwrap(), "/dev/zero"] {
        home.set("LIFECYCLE_CONFIG", named);
        let outcome = ends(&home, &["status"]);
        assert_eq!(outcome.code, 3, "{named}: {}", outcome.err);
        assert!(outcome.complained().contains("is not a regular file"), "{}", outcome.err);
        let hook = home.run_with(&["hook", "claude-code"], b"{\"session_id\":\"s\"}").success();
        assert_eq!(hook.out, "");
    }
    // What people write to have no settings.
    home.set("LIFECYCLE_CONFIG", "/dev/null");
    ends(&home, &["status"]).success();
}

#[test]
fn a_key_file_that_is_a_pipe_is_a_wrong_setting() {
    let home = Home::new();
    let fifo = home.path().join("key");
    pipe(&fifo);
    let provider = format!(
        "consolidate.providers.mine={{kind=\"openai-compatible\",url=\"http://127.0.0.1:9\",model=\"m\",key_file=\"{}\"}}",
        fifo.display()
    );
    let outcome = ends(
        &home,
        &["--set", &provider, "--set", "consolidate.model=\"mine\"", "doctor", "--no-call"],
    );
    assert_eq!(outcome.code, 3, "{}{}", outcome.out, outcome.err);
    assert!(outcome.complained().contains("is not a regular file"), "{}", outcome.err);
}

/// A tick reads files of the project, of repositories and of assistants that it did not make.
#[test]
fn a_run_passes_by_pipes_in_the_place_of_files() {
    let home = Home::new();
    let project = home.project();
    home.put("CLAUDE.md", "# p\n\n## Database\n\n- Postgres 16\n");
    for name in [".gitignore", ".ignore", "sub/.gitignore", ".claude/settings.json", "AGENTS.md"] {
        pipe(&project.join(name));
    }
    home.put("sub/CLAUDE.md", "# sub\n");
    pipe(&home.store().join("inbox/0000000000001-1-0.json"));
    let conversation = home.path().join("t.jsonl");
    pipe(&conversation);
    crate::capture::hook(&home, &crate::capture::end_of(&conversation, &project));
    let fact = "Each Postgres table of the database has a `created_at` column in UTC";
    let id = home.prove(Some(&project), fact);
    for args in [&["run", "--dry-run"][..], &["run"], &["status"], &["route"]] {
        let outcome = ends(&home, args);
        assert!(matches!(outcome.code, 0 | 6), "{args:?}: {}{}", outcome.out, outcome.err);
    }
    // A file that is named and is one is written to all the same.
    assert!(home.get("CLAUDE.md").contains(fact), "{}", home.get("CLAUDE.md"));
    assert_eq!(home.state(&id), "routed");
}

#[test]
fn a_repository_whose_pointers_are_pipes_is_a_project_all_the_same() {
    let home = Home::new();
    let project = home.project();
    pipe(&project.join(".git/HEAD"));
    let worktree = home.path().join("w");
    std::fs::create_dir_all(&worktree).unwrap();
    std::fs::write(worktree.join(".git"), format!("gitdir: {}\n", project.join("g").display()))
        .unwrap();
    pipe(&project.join("g/commondir"));
    for folder in [&project, &worktree] {
        let folder = folder.display().to_string();
        ends(&home, &["add", "--project", &folder, &format!("A note of {folder}")]).success();
        ends(&home, &["brief", "--project", &folder]).success();
    }
}

/// Files of ours that something else took the place of.
#[test]
fn pipes_in_the_store_hold_nothing_up() {
    for name in ["tick.lock", "lifecycle.migrate.lock", "lifecycle.sqlite3", "serve.token"] {
        let home = Home::new();
        pipe(&home.store().join(name));
        for args in [&["add", "--project", "p", "A note"][..], &["run"], &["status"]] {
            let outcome = ends(&home, args);
            let said = format!("{name}: {args:?}: {}: {}", outcome.code, outcome.err);
            assert!(!said.contains("panicked"), "{said}");
            assert!(outcome.code == 0 || outcome.err.contains("error:"), "{said}");
        }
    }
    let home = Home::new();
    home.run(&["add", "--project", "p", "A note"]).success();
    pipe(&home.store().join("backups/lifecycle-schema1-20260101T000000000Z.sqlite3"));
    std::fs::write(home.database(), b"no database").unwrap();
    let outcome = ends(&home, &["doctor", "--repair"]);
    assert!(matches!(outcome.code, 0 | 6), "{}{}", outcome.out, outcome.err);
}
