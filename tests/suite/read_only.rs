//! A store that cannot be written: what only reads goes on, what writes says so, with one code and
//! one hint. And what only reads makes no store.

use crate::support::{Home, Outcome};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Runs the command as somebody who is not root: as root nothing is closed.
struct Visitor {
    program: PathBuf,
    is_root: bool,
}

impl Visitor {
    fn of(home: &Home) -> Self {
        let program = home.path().join("lifecycle");
        std::fs::copy(env!("CARGO_BIN_EXE_lifecycle"), &program).unwrap();
        for folder in home.store().ancestors() {
            if folder.starts_with(home.path()) {
                mode(folder, 0o755);
            }
        }
        mode(&program, 0o755);
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
        Self { program, is_root }
    }

    fn run(&self, home: &Home, args: &[&str]) -> Outcome {
        let plain = home.command(args);
        let mut command = std::process::Command::new(&self.program);
        command.args(args).env_clear().stdin(Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if self.is_root {
            command.uid(65534).gid(65534);
        }
        command.current_dir("/");
        // Another test that starts a process may hold our copy open for writing for a moment.
        for _ in 0..100 {
            match command.output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                output => return Outcome::from(output.unwrap()),
            }
        }
        panic!("the copy of the program stays busy")
    }
}

/// A store that others may read and nobody may write; `with_log`: its newest rows lie in the log.
fn closed(with_log: bool) -> (Home, Visitor, String, Option<rusqlite::Connection>) {
    let home = Home::new();
    for n in 0..3 {
        home.run(&["add", "--project", "p", &format!("Lamp {n} is lit at dusk")]).success();
    }
    home.run(&["run", "--phase", "buffer"]).success();
    let id = home.json(&["list"])[0]["id"].as_str().unwrap().to_string();
    let held = with_log.then(|| {
        let connection = rusqlite::Connection::open(home.database()).unwrap();
        connection.execute("UPDATE entry SET title = 'in the log'", []).unwrap();
        connection
    });
    let visitor = Visitor::of(&home);
    for entry in walkdir::WalkDir::new(home.store()).contents_first(true).into_iter().flatten() {
        let is_folder = entry.file_type().is_dir();
        mode(entry.path(), if is_folder { 0o555 } else { 0o444 });
    }
    (home, visitor, id, held)
}

fn open_again(home: &Home) {
    for entry in walkdir::WalkDir::new(home.store()).into_iter().flatten() {
        mode(entry.path(), if entry.file_type().is_dir() { 0o700 } else { 0o600 });
    }
}

#[test]
fn what_only_reads_works_on_a_store_that_cannot_be_written() {
    for with_log in [false, true] {
        let (home, visitor, id, held) = closed(with_log);
        if with_log {
            // The file by which processes find what is new in the log cannot be made there.
            mode(&home.store(), 0o755);
            let shared = home.store().join("lifecycle.sqlite3-shm");
            let _ = std::fs::remove_file(shared);
            mode(&home.store(), 0o555);
        }
        let reading: &[&[&str]] = &[
            &["status"],
            &["status", "--json"],
            &["list"],
            &["show", &id],
            &["why", &id],
            &["search", "lamp", "--only", "words"],
            &["search", "lamp"],
            &["brief", "--project", "/nowhere"],
            &["report"],
            &["history"],
            &["report", "quality"],
            &["documents"],
            &["export", "-"],
            &["doctor", "--no-call"],
            &["run", "--dry-run", "--phase", "buffer"],
            &["undo", "1", "--dry-run"],
        ];
        for args in reading {
            let outcome = visitor.run(&home, args);
            let said = format!("log {with_log}, {args:?}: {}{}", outcome.out, outcome.err);
            assert!(matches!(outcome.code, 0 | 6), "{}: {said}", outcome.code);
        }
        let listed = visitor.run(&home, &["list", "--json"]).success();
        assert_eq!(listed.out.matches("is lit at dusk").count(), 3);
        assert_eq!(listed.out.contains("in the log"), with_log);
        drop(held);
        open_again(&home);
    }
}

#[test]
fn what_writes_says_why_it_cannot_with_one_code_and_one_hint() {
    let (home, visitor, id, _) = closed(false);
    let writing: &[&[&str]] = &[
        &["add", "--project", "/nowhere", "A note"],
        &["add-text", "A text"],
        &["run"],
        &["run", "--phase", "route"],
        &["route"],
        &["undo"],
        &["forget", &id],
        &["protect", &id],
        &["doctor", "--repair"],
    ];
    for args in writing {
        let outcome = visitor.run(&home, args);
        let said = format!("{args:?}: {}: {}{}", outcome.code, outcome.out, outcome.err);
        assert_eq!(outcome.code, 4, "{said}");
        let errors = outcome.err.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "{said}");
        let complained = outcome.complained();
        assert!(complained.contains("the store cannot be written here"), "{said}");
        assert!(complained.contains("LIFECYCLE_HOME"), "{said}");
    }
    let before = std::fs::read(home.database()).unwrap();
    open_again(&home);
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
    assert_eq!(home.texts(&[]).len(), 3);
}

#[test]
fn a_store_that_cannot_be_read_is_told_and_not_taken_for_an_empty_one() {
    let (home, visitor, ..) = closed(false);
    mode(&home.store(), 0o700);
    mode(&home.database(), 0o000);
    if visitor.is_root {
        mode(&home.store(), 0o755);
    }
    for args in [&["status"][..], &["list"], &["search", "lamp"], &["run"]] {
        let outcome = visitor.run(&home, args);
        assert_eq!(outcome.code, 4, "{args:?}: {}{}", outcome.out, outcome.err);
        assert!(outcome.complained().contains("hint:"), "{args:?}: {}", outcome.err);
    }
    open_again(&home);
}

#[test]
fn what_only_reads_makes_no_store() {
    let home = Home::new();
    let reading: &[&[&str]] = &[
        &["status"],
        &["list"],
        &["search", "lamp"],
        &["show", "00000000"],
        &["why", "00000000"],
        &["brief"],
        &["report"],
        &["report", "quality"],
        &["history"],
        &["documents"],
        &["documents", "show", "00000000"],
        &["export", "-"],
        &["graph"],
        &["forget", "00000000"],
        &["doctor", "--no-call"],
        &["doctor", "--repair", "--dry-run"],
        &["run", "--dry-run"],
        &["undo", "--dry-run"],
        &["schedule", "status"],
        &["config", "show"],
    ];
    for args in reading {
        let outcome = home.run(args);
        assert!(matches!(outcome.code, 0 | 6..=9), "{args:?}: {}", outcome.err);
        assert!(!home.database().exists(), "{args:?} made a store");
    }
    assert_eq!(home.json(&["status"])["health"], "never run");
}
