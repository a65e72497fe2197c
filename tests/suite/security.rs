//! Nobody is let in: modes of files, no shell, no foreign code, nothing that acts on a terminal, a
//! page, a query or another file.

use crate::support::Home;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What would colour, clear or retitle a terminal, or turn its text around.
const ACTING: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}gnol\u{202c}\u{8}\r";

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn every_file_we_make_is_the_owners_alone() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    let said = home.path().join("said.jsonl");
    std::fs::write(&said, crate::capture::says(&home, 1, "Remember: lamps are lit at dusk"))
        .unwrap();
    crate::capture::hook(&home, &crate::capture::end_of(&said, &home.project()));
    for n in 0..4 {
        let note = format!("Integration tests need postgres {n} on port 543{n}");
        home.run(&["add", "--project", "p", &note]).success();
    }
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.run(&["run", "--dry-run", "--plan", "plan.json"]);
    home.run(&["run"]);
    home.run(&["add", "--project", "p", "One more, so that the index grows"]).success();
    home.run(&["run"]);
    home.run(&["search", "dev server"]).success();
    home.run(&["export", "export.jsonl"]).success();
    home.run(&["init", "--yes"]);
    std::fs::create_dir_all(home.path().join("home/.claude")).unwrap();
    home.run(&["install-hooks"]);
    for file in ["plan.json", "export.jsonl"] {
        assert_eq!(mode(&home.path().join(file)), 0o600, "{file}");
    }
    let mut seen = 0;
    for folder in [home.store(), home.path().join("home/.config/lifecycle")] {
        for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
            let wanted = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(entry.path()), wanted, "{}", entry.path().display());
            seen += 1;
        }
    }
    assert!(seen > 8, "{seen}");
    assert_eq!(home.get("CLAUDE.md").matches("port 5173").count(), 1);
}

#[test]
fn what_is_open_to_others_is_closed_by_a_repair() {
    let home = Home::new();
    home.run(&["add", "a note"]).success();
    std::fs::set_permissions(home.store(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(home.database(), PermissionsExt::from_mode(0o644)).unwrap();
    let dry = home.run(&["doctor", "--repair", "--dry-run"]).code(6);
    assert!(dry.said().contains("open to other users"), "{}", dry.out);
    assert_eq!(mode(&home.database()), 0o644);
    home.run(&["doctor", "--repair"]).success();
    assert_eq!((mode(&home.store()), mode(&home.database())), (0o700, 0o600));
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["src", "phases/src"]
        .iter()
        .flat_map(|folder| walkdir::WalkDir::new(root.join(folder)).into_iter().flatten())
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter(|path| !path.ends_with("tests.rs"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            // Unit tests may use a shell to look at what was made.
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string();
            (path.strip_prefix(root).unwrap().to_path_buf(), text)
        })
        .collect()
}

#[test]
fn no_shell_and_no_program_but_these() {
    let starts = ["Command::new(", ".map(Command::new)"];
    let mut starting: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| text.contains("process::Command") || text.contains("process::{Command"))
        .filter(|(_, text)| starts.iter().any(|start| text.contains(start)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    starting.sort();
    let reviewed = [
        // The user's editor, its words split without a shell.
        "src/cli/edit.rs",
        // pip, to fetch packages by name.
        "src/embed/install/package.rs",
        // Our own program.
        "src/embed/serve/lock.rs",
        // systemctl, launchctl, id; crontab.
        "src/schedule/backend.rs",
        "src/schedule/crontab.rs",
        // Our own program.
        "src/tick/detached.rs",
    ];
    assert_eq!(starting, reviewed);
    for (path, text) in sources() {
        if !reviewed.contains(&path.display().to_string().as_str()) {
            continue;
        }
        for shell in ["\"sh\"", "\"bash\"", "\"/bin/sh\"", "\"-c\"", "\"cmd\"", "\"powershell\""] {
            assert!(!text.contains(shell), "{}: {shell}", path.display());
        }
    }
}

/// A file that somebody else names is opened in one way, which neither waits nor reads without end.
#[test]
fn files_are_opened_for_reading_in_one_module() {
    let ways = ["File::open(", "fs::read(", "fs::read_to_string(", "fs::copy("];
    let mut opening: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            code.into_iter().any(|line| ways.iter().any(|way| line.contains(way)))
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    opening.sort();
    let reviewed = [
        // What the kernel says of the machine.
        "src/cli/doctor/machine.rs",
        // A copy that was made just before.
        "src/store/migrate.rs",
        "src/store/repair.rs",
        // The load of the machine.
        "src/tick/consolidate/mod.rs",
    ];
    assert_eq!(opening, reviewed, "use src/regular.rs");
}

#[test]
fn unsafe_code_is_in_one_module() {
    let with: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| {
            text.lines().any(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.contains("unsafe {")
                    || code.contains("unsafe fn")
                    || code.contains("unsafe impl")
                    || code.contains("allow(unsafe_code")
            })
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert_eq!(with, ["src/quiet.rs"]);
}

/// A home whose texts, titles, project and file names act on a terminal.
fn acting() -> (Home, PathBuf, String) {
    let home = Home::new();
    let project = home.path().join(format!("p{ACTING}x"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("CLAUDE.md"), format!("# p {ACTING}\n\n- {ACTING} servers\n"))
        .unwrap();
    let id = home.prove(Some(&project), &format!("The dev server {ACTING} listens on port 5173"));
    let named = project.display().to_string();
    home.run(&["add", "--project", &named, &format!("Lamps {ACTING} are lit at dusk")]).success();
    home.run_with(
        &["add-text", "-", "--title", &format!("T{ACTING}"), "--project", &named],
        ACTING.as_bytes(),
    );
    home.run(&[
        "add-text",
        &format!("Text {ACTING} of a document"),
        "--title",
        &format!("T{ACTING}"),
    ]);
    (home, project, id.as_str().to_string())
}

/// What of a text a terminal would act upon.
fn acts(args: &[&str], text: &str) -> Option<String> {
    let acts = |ch: char| {
        (ch.is_control() && ch != '\n' && ch != '\t')
            || matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let at = text.find(acts)?;
    let around: String = text[at..].chars().take(20).collect();
    Some(format!("{args:?}: {around:?}"))
}

#[test]
fn no_output_acts_on_the_terminal() {
    let (home, project, id) = acting();
    let file = format!("{}:5", project.join("CLAUDE.md").display());
    let project = project.display().to_string();
    let commands: &[&[&str]] = &[
        &["run", "--dry-run"],
        &["run", "--dry-run", "--format", "markdown"],
        &["run", "--dry-run", "--format", "html"],
        &["run"],
        &["report"],
        &["report", "--format", "markdown"],
        &["report", "--format", "html"],
        &["report", "quality"],
        &["history"],
        &["status"],
        &["list", "--all"],
        &["list", "--project", &project],
        &["show", &id],
        &["why", &id],
        &["why", &file],
        &["search", "dev server lamps text"],
        &["search", "dev server lamps text", "--explain"],
        &["search", ACTING],
        &["documents"],
        &["graph"],
        &["export", "-"],
        &["doctor", "--no-call"],
        &["doctor", "--repair", "--dry-run"],
        &["config"],
        &["config", "show"],
        &["prompt"],
        &["protect", &id],
        &["forget", ACTING],
        &["show", ACTING],
        &["why", ACTING],
        &["add", "--project", &project, ACTING],
        &["--set", ACTING, "list"],
        &["import", ACTING],
        &["apply", ACTING],
        &["add-file", ACTING],
        &["add-url", ACTING],
        &["run", "--phase", ACTING],
        &["undo"],
    ];
    let mut found = Vec::new();
    for args in commands {
        for more in [&[][..], &["--json"]] {
            let all = [args, more].concat();
            let outcome = home.run(&all);
            found.extend(acts(&all, &outcome.out));
            found.extend(acts(&all, &outcome.err));
        }
    }
    for file in walkdir::WalkDir::new(home.store().join("log")).into_iter().flatten() {
        if file.file_type().is_file() {
            found.extend(acts(&["log"], &std::fs::read_to_string(file.path()).unwrap()));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_query_is_text_whatever_it_looks_like() {
    let home = Home::new();
    for note in
        ["Quay 7 closes in winter", "Drop anchors at the table mountain", "100 % of lamps are red"]
    {
        home.run(&["add", note]).success();
    }
    let before = home.texts(&[]);
    let queries = [
        "\"",
        "'",
        "''",
        "\"\"",
        "*",
        "quay*",
        "^quay",
        "NEAR(quay winter, 2)",
        "quay AND",
        "OR",
        "NOT quay",
        "title:quay",
        "{title body}: quay",
        "quay -winter",
        "+quay",
        "(quay",
        "quay)",
        "%",
        "_",
        "\\",
        "?1",
        "'; DROP TABLE entry; --",
        "x' OR '1'='1",
        "quay\u{0}winter",
        ":words",
        "@x",
        "$1",
        "--",
        "/*",
        ";",
        "SELECT * FROM entry",
        "\u{1f6a2}",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    ];
    for query in queries {
        if query.contains('\u{0}') {
            continue; // No argument of a program holds it.
        }
        let scope = format!("--project={query}");
        for options in [&[][..], &[scope.as_str()], &["--all"]] {
            let outcome = home.run(&[&["search", "--json"][..], options, &["--", query]].concat());
            assert!(matches!(outcome.code, 0 | 8), "{query:?}: {} {}", outcome.code, outcome.err);
            assert!(
                !outcome.err.contains("syntax") && !outcome.err.contains("fts5"),
                "{}",
                outcome.err
            );
        }
        home.run(&["list", &scope]);
        home.run(&["show", query]);
    }
    assert_eq!(home.texts(&[]), before);
    let found = home.json(&["search", "quay NOT winter"]);
    assert_eq!(found["results"][0]["text"], "Quay 7 closes in winter", "words, not operators");
}

const MARKUP: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&lt;";

#[test]
fn the_page_escapes_every_field() {
    let home = Home::new();
    let project = home.path().join("p<img src=x onerror=alert(1)>");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("CLAUDE.md"), format!("# {MARKUP}\n\n- {MARKUP}\n")).unwrap();
    home.prove(Some(&project), &format!("The dev server {MARKUP} listens on port 5173"));
    let named = project.display().to_string();
    for n in 0..3 {
        home.run(&["add", "--project", &named, &format!("ok, {MARKUP} {n} done")]).success();
    }
    for args in [
        &["run", "--dry-run", "--format", "html", "--plan", "<img src=x>.json"][..],
        &["--set", "age.newer_entries=0", "run", "--yes", "--format", "html"],
        &["report", "--format", "html"],
    ] {
        let page = home.run(args).out;
        assert!(page.contains("<html"), "{args:?}");
        assert!(!page.contains("<img"), "{args:?}");
        assert!(!page.contains("alert(1)</script>"), "{args:?}");
        assert!(!page.contains("onerror=alert(1)>"), "{args:?}");
    }
}

/// A plan may come from anywhere; it writes nowhere but where the phase itself would.
#[test]
fn a_plan_cannot_write_elsewhere() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.run(&["run", "--dry-run", "--phase", "route", "--plan", "plan.json"]).success();
    let text = std::fs::read_to_string(home.path().join("plan.json")).unwrap();
    let target = home.project().join("CLAUDE.md").display().to_string();
    let (other, keys) = (home.path().join("other"), home.path().join("home/.ssh"));
    std::fs::create_dir_all(&other).unwrap();
    std::fs::create_dir_all(&keys).unwrap();
    symlink(&other, home.project().join("link")).unwrap();
    for elsewhere in [
        other.join("CLAUDE.md"),
        keys.join("authorized_keys"),
        home.project().join("../other/CLAUDE.md"),
        home.project().join("link/CLAUDE.md"),
        home.project().join(".env"),
        PathBuf::from("/etc/lifecycle-test"),
    ] {
        let changed = text.replace(&target, &elsewhere.display().to_string());
        let plan = summed(&changed);
        std::fs::write(home.path().join("changed.json"), plan).unwrap();
        let outcome = home.run(&["apply", "changed.json"]).code(6);
        assert!(outcome.said().contains("was left alone"), "{}", outcome.out);
        assert!(!elsewhere.exists(), "{}", elsewhere.display());
        assert!(!other.join("CLAUDE.md").exists());
    }
    home.run(&["apply", "plan.json"]).success();
    assert!(home.get("CLAUDE.md").contains("port 5173"));
}

/// The plan with the sum that belongs to it, as somebody who wants it applied would make it.
fn summed(text: &str) -> String {
    let plan: lifecycle_phases::Plan = serde_json::from_str(text).unwrap();
    let compact = serde_json::to_string(&plan).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    value["sum"] = lifecycle_phases::entry::hex(compact.as_bytes(), 32).into();
    // A requirement on the content of a file that is not there.
    for step in value["steps"].as_array_mut().unwrap() {
        for requirement in step["requirements"].as_array_mut().unwrap() {
            if requirement.get("hash").is_some() {
                requirement["hash"] = serde_json::Value::Null;
            }
        }
    }
    let plan: lifecycle_phases::Plan = serde_json::from_value(value.clone()).unwrap();
    let compact = serde_json::to_string(&plan).unwrap();
    value["sum"] = lifecycle_phases::entry::hex(compact.as_bytes(), 32).into();
    value.to_string()
}

/// Between plan and apply a folder becomes a link to another one with the same content.
#[test]
fn a_folder_swapped_for_a_link_is_noticed() {
    let home = Home::new();
    home.put(".claude/rules/servers.md", "# Servers\n\n- The dev server has a port.\n");
    home.put("CLAUDE.md", "# p\n");
    home.prove(Some(&home.project()), "The dev server of the rules listens on port 5173");
    home.run(&["run", "--dry-run", "--phase", "route", "--plan", "plan.json"]).success();
    let outside = home.path().join("outside");
    let copy = |from: &Path| {
        std::fs::create_dir_all(&outside).unwrap();
        for entry in walkdir::WalkDir::new(from).min_depth(1).into_iter().flatten() {
            let place = outside.join(entry.path().strip_prefix(from).unwrap());
            if entry.file_type().is_dir() {
                std::fs::create_dir_all(place).unwrap();
            } else {
                std::fs::copy(entry.path(), place).unwrap();
            }
        }
    };
    copy(&home.project());
    let before = std::fs::read(outside.join("CLAUDE.md")).unwrap();
    std::fs::rename(home.project(), home.path().join("moved")).unwrap();
    symlink(&outside, home.path().join("p")).unwrap();
    let outcome = home.run(&["apply", "plan.json"]).code(6);
    assert!(outcome.said().contains("was left alone"), "{}", outcome.out);
    assert_eq!(std::fs::read(outside.join("CLAUDE.md")).unwrap(), before);
    let rules = std::fs::read_to_string(outside.join(".claude/rules/servers.md")).unwrap();
    assert!(!rules.contains("5173"));
}

/// Somebody swaps the folder for a link to another one, over and over, while files are written.
#[cfg(target_os = "linux")]
#[test]
fn a_race_for_the_folder_is_not_won() {
    use lifecycle::targets::door;
    use std::sync::atomic::{AtomicBool, Ordering};
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let (inside, aside, outside) = (root.join("in"), root.join("aside"), root.join("out"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(inside.join("CLAUDE.md"), "0").unwrap();
    std::fs::write(outside.join("CLAUDE.md"), "theirs").unwrap();
    let over = AtomicBool::new(false);
    let mut written = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::fs::rename(&inside, &aside).unwrap();
                symlink(&outside, &inside).unwrap();
                std::fs::remove_file(&inside).unwrap();
                std::fs::rename(&aside, &inside).unwrap();
            }
        });
        for n in 0..1500 {
            let path = inside.join("CLAUDE.md");
            let Ok(Some(now)) = door::read(&path) else { continue };
            written += usize::from(
                door::write(&path, Some(&door::hash(&now)), n.to_string().as_bytes()).is_ok(),
            );
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(written > 0);
    assert_eq!(std::fs::read(outside.join("CLAUDE.md")).unwrap(), b"theirs");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_linked_document_leads_nowhere() {
    let home = Home::new();
    let root = home.path().join("home/notes");
    std::fs::create_dir_all(&root).unwrap();
    let secret = home.path().join("secret.md");
    std::fs::write(&secret, "# not yours").unwrap();
    symlink(&secret, root.join("link.md")).unwrap();
    symlink(home.path(), root.join("folder")).unwrap();
    for path in ["link.md", "folder/secret.md", "../../secret.md"] {
        let path = root.join(path).display().to_string();
        let outcome = home.run(&["add-file", &path]);
        assert!(
            outcome.code != 0 && outcome.err.contains("allowed_roots"),
            "{path}: {}",
            outcome.err
        );
    }
    let shown = home.run(&["documents"]).out;
    assert!(!shown.contains("not yours"), "{shown}");
}

/// The server of a user answers this machine only; a page in a browser is not it.
#[test]
fn servers_listen_on_loopback_only() {
    let home = Home::new();
    for args in [
        &["mcp", "--http", "0.0.0.0:0"][..],
        &["mcp", "--http", "[::]:0"],
        &["serve", "--address", "0.0.0.0:0"],
    ] {
        let outcome = home.run(args);
        assert!(matches!(outcome.code, 2 | 3 | 7), "{args:?}: {} {}", outcome.code, outcome.err);
    }
}

/// An editor's variable with a command in it is a program that does not exist, not a command.
#[test]
fn the_editor_is_no_shell() {
    let home = Home::new();
    let trap = home.path().join("trap");
    let mut command: Command = home.command(&["config", "edit"]);
    command.env("EDITOR", format!("true; touch {}", trap.display()));
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(!trap.exists());
}
