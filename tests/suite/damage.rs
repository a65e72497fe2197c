//! Damaged files, a newer schema, files of another user: a clear message, nothing lost, nothing
//! replaced by an empty one.

use crate::support::{Home, Outcome};
use rusqlite::Connection;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const NOTES: usize = 120;

/// A store of one file at rest, with notes of some length.
fn filled() -> Home {
    let home = Home::new();
    let lines: String = (0..NOTES)
        .map(|n| {
            let text =
                format!("Buoy {n} is lit by lamp {}, {}", n * 31 % 97, "and checked ".repeat(20));
            serde_json::json!({ "text": text }).to_string() + "\n"
        })
        .collect();
    std::fs::write(home.path().join("notes.jsonl"), lines).unwrap();
    home.run(&["add", "--project", "p", "--file", "notes.jsonl"]).success();
    let connection = Connection::open(home.database()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    home
}

/// A number below `bound` that follows from `n` alone.
fn place(n: usize, bound: usize) -> usize {
    let hash = blake3::hash(&n.to_le_bytes());
    usize::try_from(u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap())).unwrap() % bound
}

fn damages(good: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for length in [0, 10, 100, 512, 4096, 12_288, good.len() / 2, good.len() - 1] {
        found.push((format!("cut to {length}"), good[..length].to_vec()));
    }
    for n in 0..24 {
        // Half of them in the first pages, where the schema is.
        let at = if n % 2 == 0 { place(n, 8192) } else { place(n, good.len()) };
        let mut bytes = good.to_vec();
        bytes[at] ^= 1 << (n % 8);
        found.push((format!("a bit at {at}"), bytes));
    }
    for n in 0..8 {
        let at = place(n + 100, good.len() / 4096) * 4096;
        let mut bytes = good.to_vec();
        bytes[at..at + 4096].fill(0xa5);
        found.push((format!("a page at {at}"), bytes));
    }
    found
}

/// The command neither panics nor hides what is wrong.
#[track_caller]
fn is_clear(what: &str, args: &[&str], outcome: &Outcome) {
    let said =
        format!("{what}, {args:?} ended with {}: {}\n{}", outcome.code, outcome.out, outcome.err);
    assert!(matches!(outcome.code, 0 | 4..=8), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    if outcome.code == 4 {
        assert!(
            outcome.err.contains("lifecycle.sqlite3") || outcome.err.contains("store"),
            "{said}"
        );
    }
}

#[test]
fn a_damaged_database_is_said_kept_and_repaired() {
    let home = filled();
    let good = std::fs::read(home.database()).unwrap();
    let (mut noticed, mut had_back) = (0, 0);
    let damages = damages(&good);
    for (what, bytes) in &damages {
        restore(&home, bytes);
        for args in [&["list", "--json"][..], &["status"], &["search", "buoy"], &["show", "00"]] {
            let outcome = home.run(args);
            is_clear(what, args, &outcome);
            if args[0] == "list" && outcome.code == 0 {
                let listed: Value = serde_json::from_str(&outcome.out).unwrap();
                assert!(!listed.as_array().unwrap().is_empty(), "{what}: an empty store");
            }
        }
        let now = std::fs::read(home.database()).unwrap();
        assert!(now.len() >= bytes.len(), "{what}: it was made smaller");

        restore(&home, bytes);
        let dry = home.run(&["doctor", "--repair", "--dry-run"]);
        assert!(matches!(dry.code, 0 | 4 | 6), "{what}: {}{}", dry.out, dry.err);
        assert_eq!(&std::fs::read(home.database()).unwrap(), bytes, "{what}: a dry run");
        let done = home.run(&["doctor", "--repair"]);
        assert!(matches!(done.code, 0 | 4 | 6), "{what}: {}{}", done.out, done.err);
        let aside = damaged_files(&home);
        if done.said().contains("kept as") {
            noticed += 1;
            let kept = aside.iter().any(|file| &std::fs::read(file).unwrap() == bytes);
            assert!(kept, "{what}: the damaged file keeps its bytes");
        }
        let listed = home.run(&["list", "--json"]);
        if listed.code == 0 {
            had_back +=
                serde_json::from_str::<Value>(&listed.out).unwrap().as_array().unwrap().len();
            home.run(&["add", "--project", "p", "A note after the repair"]).success();
        } else {
            // A version number of the future is not ours to repair.
            assert!(listed.err.contains("schema"), "{what}: {}", listed.err);
        }
    }
    let share = had_back as f64 / (damages.len() * NOTES) as f64;
    println!("{} damages, {noticed} repaired, {share:.3} of the notes had back", damages.len());
    assert!(noticed > 10, "{noticed}");
    assert!(share > 0.6, "{share}");
}

fn restore(home: &Home, bytes: &[u8]) {
    for file in std::fs::read_dir(home.store()).unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("lifecycle.sqlite3") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    // The word that there was a store, as a repair without success takes it away.
    std::fs::write(home.store().join("lifecycle.migrate.lock"), "1\n").unwrap();
    std::fs::write(home.database(), bytes).unwrap();
}

fn damaged_files(home: &Home) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(home.store()).unwrap().flatten().map(|entry| entry.path());
    listing.filter(|path| path.display().to_string().contains(".damaged-")).collect()
}

#[test]
fn an_emptied_database_is_a_loss_and_a_copy_brings_it_back() {
    let home = filled();
    let good = std::fs::read(home.database()).unwrap();
    let backups = home.store().join("backups");
    std::fs::create_dir(&backups).unwrap();
    std::fs::write(backups.join("lifecycle-schema1-20260101T000000000Z.sqlite3"), good).unwrap();
    std::fs::write(home.database(), "").unwrap();
    for args in [&["list"][..], &["add", "x"], &["run"], &["search", "x"]] {
        let outcome = home.run(args).code(4);
        assert!(
            outcome.err.contains("is empty") && outcome.err.contains("--repair"),
            "{}",
            outcome.err
        );
    }
    assert_eq!(std::fs::read(home.database()).unwrap(), b"");
    let dry = home.run(&["doctor", "--repair", "--dry-run"]).code(6);
    assert!(dry.said().contains(&format!("{NOTES} entries come from the copy")), "{}", dry.out);
    home.run(&["doctor", "--repair"]).success();
    assert_eq!(home.texts(&[]).len(), NOTES);
    // The note that found the store damaged is not lost either.
    home.run(&["run", "--phase", "buffer"]).success();
    home.run(&["doctor", "--repair"]).success();
}

#[test]
fn a_text_that_changed_on_the_disk_is_found() {
    let home = filled();
    let connection = Connection::open(home.database()).unwrap();
    connection
        .execute("UPDATE entry SET text = replace(text, 'Buoy 7 ', 'Buoy 8 ') WHERE text LIKE 'Buoy 7 %'", [])
        .unwrap();
    drop(connection);
    let found = home.run(&["doctor", "--repair", "--dry-run"]).code(6);
    assert!(found.said().contains("not the one it was stored with"), "{}", found.out);
}

#[test]
fn a_newer_schema_is_left_alone_and_hooks_go_on() {
    let home = filled();
    let connection = Connection::open(home.database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(home.database()).unwrap();
    for args in [&["list"][..], &["add", "x"], &["run"], &["search", "x"], &["undo"], &["doctor"]] {
        let outcome = home.run(args).code(4);
        assert!(
            outcome.err.contains("schema 99") && outcome.err.contains("newer"),
            "{}",
            outcome.err
        );
    }
    let event = crate::capture::end_of(&home.path().join("t.jsonl"), &home.project());
    crate::capture::hook(&home, &event);
    let repair = home.run(&["doctor", "--repair"]).code(6);
    assert!(repair.said().contains("newer build"), "{}", repair.out);
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
}

#[test]
fn a_damaged_record_costs_itself_alone() {
    let home = Home::new();
    let inbox = home.store().join("inbox");
    let files: Vec<PathBuf> = (0..3).map(|n| home.path().join(format!("t{n}.jsonl"))).collect();
    for (n, file) in (0..).zip(&files) {
        let said = crate::capture::says_in(
            &home.project(),
            &format!("s{n}"),
            1,
            &format!("Remember: lamp {n} is red"),
        );
        std::fs::write(file, said).unwrap();
        crate::capture::hook(&home, &crate::capture::end_of(file, &home.project()));
    }
    let mut records: Vec<PathBuf> =
        std::fs::read_dir(&inbox).unwrap().map(|entry| entry.unwrap().path()).collect();
    records.sort();
    let whole = std::fs::read(&records[1]).unwrap();
    std::fs::write(&records[1], &whole[..whole.len() / 2]).unwrap();
    // What a cut of power leaves of a record that was not synced.
    std::fs::write(inbox.join("0000000000001-1-0.json"), "").unwrap();
    let outcome = home.run(&["run", "--phase", "buffer"]);
    assert!(matches!(outcome.code, 0 | 6), "{}", outcome.err);
    let said = format!("{}{}", outcome.out, outcome.err);
    assert!(said.contains("inbox/bad") || said.contains("set aside"), "{said}");
    assert_eq!(crate::capture::texts(&home), ["lamp 0 is red", "lamp 2 is red"]);
    assert_eq!(std::fs::read_dir(inbox.join("bad")).unwrap().count(), 2);
    let found = home.run(&["doctor", "--repair"]).code(6);
    assert!(found.said().contains("2 records"), "{}", found.out);
}

#[test]
fn a_damaged_plan_is_refused_whatever_is_damaged() {
    let home = Home::new();
    for n in 0..5 {
        home.run(&["add", "--project", "p", &format!("ok, lamp {n} done for now")]).success();
    }
    let settings = ["--set", "age.newer_entries=0", "--set", "connect.max_links=0"];
    let args = [&settings[..], &["run", "--dry-run", "--yes", "--plan", "plan.json"]].concat();
    home.run(&args).success();
    let plan = home.path().join("plan.json");
    let good = std::fs::read(&plan).unwrap();
    assert!(String::from_utf8_lossy(&good).contains("expire"));
    let before = std::fs::read(home.database()).unwrap();
    let mut refused = 0;
    for n in 0..40 {
        let mut bytes = good.clone();
        if n < 8 {
            bytes.truncate(good.len() * n / 8);
        } else {
            let at = place(n, bytes.len());
            bytes[at] ^= 1 << (n % 7);
        }
        std::fs::write(&plan, &bytes).unwrap();
        if meant(&bytes).is_some_and(|plan| Some(plan) == meant(&good)) {
            continue; // A bit of white space, or a digit beyond what a number holds.
        }
        let outcome = home.run(&["apply", "plan.json"]).code(8);
        assert!(
            outcome.err.contains("plan.json") && outcome.err.contains("--plan"),
            "{}",
            outcome.err
        );
        refused += 1;
    }
    assert!(refused > 25, "{refused}");
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
    std::fs::write(&plan, "[1, 2]").unwrap();
    home.run(&["apply", "plan.json"]).code(8);
    home.run(&["apply", "nowhere.json"]).code(8);
    std::fs::write(&plan, good).unwrap();
    home.run(&["apply", "plan.json"]).success();
}

/// What a plan file says, sum included.
fn meant(bytes: &[u8]) -> Option<(String, String)> {
    let plan: lifecycle_phases::Plan = serde_json::from_slice(bytes).ok()?;
    let value: Value = serde_json::from_slice(bytes).ok()?;
    Some((serde_json::to_string(&plan).ok()?, value["sum"].as_str()?.to_string()))
}

#[test]
fn a_damaged_line_of_a_conversation_costs_itself_alone() {
    let home = Home::new();
    let lines: Vec<String> = (0..12)
        .map(|n| crate::capture::says(&home, n, &format!("Remember: bollard {n} is painted green")))
        .collect();
    for n in 0..12 {
        let file = home.path().join(format!("t{n}.jsonl"));
        let mut bytes = lines.concat().into_bytes();
        let start: usize = lines[..n].iter().map(String::len).sum();
        // The line feed stays: with it the next line would be part of the damage.
        let at = start + place(n, lines[n].len() - 1);
        bytes[at] = if bytes[at] == b'"' { 0xff } else { b'"' };
        std::fs::write(&file, bytes).unwrap();
        crate::capture::hook(&home, &crate::capture::end_of(&file, &home.project()));
        crate::capture::tick(&home);
        let texts = crate::capture::texts(&home);
        for other in (0..12).filter(|other| *other != n) {
            let text = format!("bollard {other} is painted green");
            assert!(texts.contains(&text), "damage in line {n}: {text}");
        }
    }
}

#[test]
fn odd_locks_are_named() {
    for name in ["tick.lock", "lifecycle.migrate.lock"] {
        let home = Home::new();
        std::fs::create_dir_all(home.store().join(name)).unwrap();
        let outcome = home.run(&["run"]);
        assert!(outcome.code != 0 && outcome.err.contains(name), "{name}: {}", outcome.err);
        std::fs::remove_dir(home.store().join(name)).unwrap();
        std::fs::write(home.store().join(name), [0xff; 300]).unwrap();
        if name == "tick.lock" {
            home.run(&["run"]).success();
        }
    }
}

#[test]
fn a_damaged_model_is_named_and_the_notes_wait() {
    let mut home = Home::new();
    let models = home.path().join("models");
    copy_linked(&crate::support::models(), &models);
    home.set("LIFECYCLE_MODELS", &models.display().to_string());
    home.run(&["add", "--project", "p", "Pilots board at the outer buoy"]).success();
    let model = find(&models, "onnx");
    let bytes = std::fs::read(&model).unwrap();
    std::fs::remove_file(&model).unwrap();
    for damaged in [bytes[..bytes.len() / 2].to_vec(), vec![0x5a; 5000], Vec::new()] {
        std::fs::write(&model, damaged).unwrap();
        let outcome = home.run(&["run", "--phase", "connect"]);
        let said = format!("{}{}", outcome.out, outcome.err);
        assert!(matches!(outcome.code, 6 | 9), "{}: {said}", outcome.code);
        assert!(!said.contains("panicked"), "{said}");
        assert!(said.contains("model"), "{said}");
        assert_eq!(home.texts(&[]).len(), 1);
        assert_eq!(home.json(&["status"])["unconnected"], 1);
        home.run(&["search", "pilots"]).success();
    }
    std::fs::write(&model, bytes).unwrap();
    home.run(&["run", "--phase", "connect"]).success();
    assert_eq!(home.json(&["status"])["unconnected"], 0);
}

/// The folder again, its files as links.
fn copy_linked(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        if entry.file_name() == "prepared" {
            continue; // Made from the original, and would serve in its place.
        }
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_linked(&entry.path(), &place);
        } else {
            std::os::unix::fs::symlink(entry.path(), place).unwrap();
        }
    }
}

fn find(folder: &Path, ending: &str) -> PathBuf {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .map(walkdir::DirEntry::into_path)
        .find(|path| path.extension().is_some_and(|end| end == ending))
        .unwrap()
}

#[test]
fn damaged_settings_are_named_with_their_line() {
    let home = Home::new();
    let folder = home.path().join("home/.config/lifecycle");
    std::fs::create_dir_all(&folder).unwrap();
    for text in [
        "[age\nnewer_entries = 3\n",
        "[age]\nnewer_entries = \"many\"\n",
        "\u{0}\u{1}",
        "[age]\nnewer_entries = -3\n",
    ] {
        std::fs::write(folder.join("config.toml"), text).unwrap();
        let outcome = home.run(&["list"]).code(3);
        assert!(outcome.err.contains("config.toml"), "{}", outcome.err);
    }
    std::fs::write(folder.join("config.toml"), [0xff, 0xfe]).unwrap();
    home.run(&["list"]).code(3);
}

/// The store of another user: as root another user is taken, else a file without permissions.
#[test]
fn what_belongs_to_another_user_is_said() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let home = filled();
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    let program = home.path().join("lifecycle");
    std::fs::copy(env!("CARGO_BIN_EXE_lifecycle"), &program).unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    open(&home.path(), 0o755);
    open(&program, 0o755);
    if !is_root {
        open(&home.database(), 0o000);
    }
    for args in [&["list"][..], &["add", "x"], &["run"]] {
        let plain = home.command(args);
        let mut command = std::process::Command::new(&program);
        command.args(args).env_clear().stdin(Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if is_root {
            command.uid(65534).gid(65534);
        }
        let outcome = Outcome::from(command.current_dir("/").output().unwrap());
        assert!(matches!(outcome.code, 1 | 3 | 4), "{args:?}: {} {}", outcome.code, outcome.err);
        let complained = outcome.complained().to_lowercase();
        assert!(complained.contains("permission denied"), "{}", outcome.err);
    }
    open(&home.database(), 0o600);
    assert_eq!(home.texts(&[]).len(), NOTES);
}

#[test]
fn odd_words_on_the_command_line_end_with_the_documented_code() {
    let mut home = Home::new();
    let outcome = home.run(&["--now", "tomorrow", "list"]).code(2);
    assert!(outcome.err.contains("--now") && outcome.err.contains("2026-06-10"), "{}", outcome.err);
    home.run(&["no-such-command"]).code(2);
    home.run(&["undo", "77"]).code(8);
    std::fs::write(home.path().join("file"), "x").unwrap();
    for folder in ["file", "file/below/it"] {
        home.set("LIFECYCLE_HOME", &home.path().join(folder).display().to_string());
        for args in [&["list"][..], &["run"], &["add", "x"], &["init", "--yes"]] {
            let outcome = home.run(args).code(3);
            assert!(
                outcome.err.contains("is a file") && outcome.err.contains("LIFECYCLE_HOME"),
                "{}",
                outcome.err
            );
        }
        crate::capture::hook(&home, &crate::capture::end_of(Path::new("/t.jsonl"), Path::new("/")));
        home.variables.pop();
    }
    assert_eq!(std::fs::read(home.path().join("file")).unwrap(), b"x");
}
