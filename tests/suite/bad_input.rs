//! Input that cannot be used: one clear message with what to do, and the documented exit code.

use crate::support::Home;
use crate::support::merging::{BERTH, Merging};
use serde_json::json;

#[track_caller]
fn refused(outcome: crate::support::Outcome, code: i32, message: &str, hint: &str) {
    let outcome = outcome.code(code);
    let errors = outcome.err.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "{}", outcome.err);
    assert!(outcome.complained().contains(message), "{message} in {}", outcome.err);
    assert!(
        outcome.complained().contains("hint:") && outcome.complained().contains(hint),
        "{hint} in {}",
        outcome.err
    );
}

#[test]
fn an_empty_text() {
    let home = Home::new();
    for text in ["", "  \n\t", "\u{feff}"] {
        refused(home.run(&["add", text]), 8, "the text is empty", "nothing was stored");
    }
    refused(home.run_with(&["add", "-"], b""), 8, "the text is empty", "nothing was stored");
    refused(home.run(&["search", " "]), 8, "the search is empty", "words");
    assert_eq!(home.texts(&["--all"]), [""; 0]);
}

#[test]
fn invalid_utf_8() {
    let home = Home::new();
    refused(home.run_with(&["add", "-"], b"caf\xe9 is open"), 8, "not UTF-8", "nothing was stored");
    let file = home.path().join("notes.jsonl");
    std::fs::write(&file, b"{\"text\": \"caf\xe9\"}\n").unwrap();
    let path = file.to_str().unwrap();
    refused(home.run(&["add", "--file", path]), 8, "not UTF-8", "nothing was stored");
    refused(home.run(&["prompt", "replay", path]), 8, "UTF-8", "prompt export");
    assert_eq!(home.texts(&["--all"]), [""; 0]);
}

fn conversation(home: &Home, name: &str, lines: &str) -> std::path::PathBuf {
    let file = home.path().join(name);
    std::fs::write(&file, lines).unwrap();
    let event = json!({"hook_event_name": "SessionEnd", "session_id": name, "cwd": home.project(), "transcript_path": file});
    let hook = home.run_with(&["hook", "claude-code"], event.to_string().as_bytes()).success();
    assert_eq!(hook.out, "");
    file
}

fn said(home: &Home, n: usize, text: &str) -> String {
    let line = json!({"type": "user", "sessionId": "s", "uuid": format!("u{n}"), "cwd": home.project(),
        "timestamp": "2026-06-01T10:00:00Z", "message": {"role": "user", "content": text}});
    format!("{line}\n")
}

#[test]
fn a_cut_conversation_gives_what_is_whole_and_the_rest_later() {
    let home = Home::new();
    let whole = said(&home, 1, "Remember: cranes stop at 9 Bft");
    let rest = said(&home, 2, "Remember: gangways are inspected on Mondays");
    let (head, tail) = rest.split_at(rest.len() / 2);
    let file = conversation(&home, "cut.jsonl", &format!("{whole}{head}"));
    home.run(&["run", "--phase", "buffer"]).success();
    assert_eq!(home.texts(&["--all"]).len(), 1);
    std::fs::write(&file, format!("{whole}{head}{tail}")).unwrap();
    conversation(&home, "cut.jsonl", &format!("{whole}{head}{tail}"));
    home.run(&["run", "--phase", "buffer"]).success();
    assert_eq!(home.texts(&["--all"]).len(), 2);
}

/// `LIFECYCLE_TEST_TRANSCRIPT_MB` sets how large (8 by default; 200 as in the requirement).
#[test]
fn a_very_large_conversation() {
    let megabytes: usize = std::env::var("LIFECYCLE_TEST_TRANSCRIPT_MB")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(8);
    let home = Home::new();
    let filler = said(&home, 0, &"nothing of note ".repeat(60_000));
    let mut lines = said(&home, 1, "Remember: cranes stop at 9 Bft");
    while lines.len() < megabytes << 20 {
        lines.push_str(&filler);
    }
    lines.push_str(&said(&home, 2, "Remember: gangways are inspected on Mondays"));
    conversation(&home, "large.jsonl", &lines);
    home.run(&["run", "--phase", "buffer"]).success();
    assert_eq!(home.texts(&["--all"]).iter().filter(|text| text.contains("stop at")).count(), 1);
    assert_eq!(home.texts(&["--all"]).iter().filter(|text| text.contains("gangways")).count(), 1);
}

#[test]
fn an_unknown_hook_event_is_silent_and_leaves_nothing() {
    let home = Home::new();
    for event in [
        json!({"hook_event_name": "MoonRise", "session_id": "s", "cwd": home.project()})
            .to_string(),
        "no JSON".into(),
        String::new(),
    ] {
        let hook = home.run_with(&["hook", "claude-code"], event.as_bytes()).success();
        assert_eq!(hook.out, "", "an assistant reads it as an order");
    }
    let inbox = home.store().join("inbox");
    assert_eq!(std::fs::read_dir(inbox).map_or(0, Iterator::count), 0);
    home.run(&["run", "--phase", "buffer"]).success();
}

#[test]
fn an_unknown_setting() {
    let home = Home::new();
    let set = "consolidate.modle=\"none\"";
    refused(home.run(&["--set", set, "run"]), 3, "consolidate.modle", "consolidate.model");
    let file = home.path().join("home/.config/lifecycle/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[agee]\nnewer_entries = 3\n").unwrap();
    refused(home.run(&["status"]), 3, "agee", "age");
    std::fs::write(&file, "[age]\nnewer_entries = \"many\"\n").unwrap();
    refused(home.run(&["status"]), 3, "age.newer_entries", "config show --origin");
    std::fs::write(&file, "[route]\nfloor = nan\n").unwrap();
    refused(home.run(&["run"]), 3, "route.floor", "config explain");
    std::fs::remove_file(&file).unwrap();
    refused(home.run(&["--set", "route.floor=inf", "run"]), 3, "route.floor", "config explain");
    refused(home.run(&["--set", "route.near=7", "status"]), 3, "from 0 to 1", "config explain");
}

#[test]
fn a_missing_model_file() {
    let mut home = Home::new();
    home.run(&["add", "Cranes stop at 9 Bft"]).success();
    home.set("LIFECYCLE_MODELS", "/nonexistent");
    home.set("ORT_DYLIB_PATH", "");
    let outcome = home.run(&["run"]).code(9);
    assert!(outcome.said().contains("lifecycle setup"), "{}", outcome.out);
    assert_eq!(home.texts(&["--all"]).len(), 1, "nothing is lost");
    let outcome = home.run(&["--set", "embed.model=\"no-such-model\"", "run"]).code(3);
    for part in ["no-such-model", "model list"] {
        assert!(outcome.said().contains(part), "{part} in {}", outcome.out);
    }
}

#[test]
fn a_target_that_does_not_parse_is_left_alone_and_told() {
    let case = Merging::new("openai-compatible");
    let broken = "[notes\nrules = [\n";
    let target = case.home.project().join("notes.toml");
    std::fs::write(&target, broken).unwrap();
    let file = case.home.path().join("home/.config/lifecycle/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let table = "[route]\nfloor = 0.0\nmargin = 0.0\nnear = 0.0\n[route.targets.notes]\npaths = [\"notes.toml\"]\nkey = \"notes.rules\"\n";
    std::fs::write(&file, settings + table).unwrap();
    case.add(BERTH);
    case.server.replies(crate::support::merging::text(&crate::support::merging::berth()));
    let outcome = case.home.run(&["run"]).code(6);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), broken);
    let said = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("notes.toml is left alone: does not parse: line 1"), "{said}");
    let known: Vec<String> = case.states().into_iter().map(|(text, _)| text).collect();
    assert!(
        known.iter().any(|text| text.contains("tankers included")),
        "nothing is lost: {known:?}"
    );
}

#[test]
fn a_plan_or_a_file_that_is_none() {
    let home = Home::new();
    let path = home.path().join("plan.json");
    refused(home.run(&["apply", path.to_str().unwrap()]), 8, "plan.json", "--plan FILE");
    std::fs::write(&path, "{").unwrap();
    refused(home.run(&["apply", path.to_str().unwrap()]), 8, "is not a plan", "--plan FILE");
    refused(
        home.run(&["prompt", "replay", path.to_str().unwrap()]),
        8,
        "plan.json:1",
        "prompt export",
    );
}

/// Settings that are wrong in themselves are told by every command, with layer, key and reason; none
/// waits until a tick comes to it, and none is passed over.
#[test]
fn a_setting_that_makes_no_sense_is_told_when_it_is_read() {
    let home = Home::new();
    let file = home.path().join("home/.config/lifecycle/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (text, key, reason) in [
        ("[schedule]\ncron = \"61 * * * *\"\n", "schedule.cron", "61"),
        ("[schedule]\ncron = \"daily\"\n", "schedule.cron", "1 fields"),
        ("[schedule]\nby = \"atd\"\n", "schedule.by", "is not a scheduler"),
        ("[capture]\nexclude = [\"a[\"]\n", "capture.exclude", "a["),
        ("[capture]\nscan = [\"claude\"]\n", "capture.scan", "claude-code"),
        ("[capture.marks]\ninsight = [\"\"]\n", "capture.marks", "is empty"),
        ("[redact.patterns]\nmine = \"a(\"\n", "redact.patterns.mine", "unclosed group"),
        ("[route]\ndeny = [\"secret[\"]\n", "route.deny", "secret["),
        ("[route]\nroots = [\"work\"]\n", "route.roots", "neither absolute"),
        ("[route.targets.t]\npaths = [\"docs/[*.md\"]\n", "route.targets.t", "docs/["),
        ("[route.targets.t]\npaths = []\n", "route.targets.t", "`paths` is missing"),
        ("[route.targets.t]\npaths = [\"a\"]\nformat = \"ini\"\n", "route.targets.t", "ini"),
        ("[route.targets.t]\npaths = [\"a\"]\nscope = \"all\"\n", "route.targets.t", "scope"),
        ("[documents]\ndeny = [\"{a\"]\n", "documents.deny", "{a"),
        (
            "[documents]\nallowed_roots = [\"docs\"]\n",
            "documents.allowed_roots",
            "neither absolute",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        for args in [&["status"][..], &["list"], &["run", "--dry-run"], &["add", "A note"]] {
            let outcome = home.run(args).code(3);
            let said = outcome.complained();
            assert!(said.contains("config.toml: "), "{text}: {said}");
            assert!(said.contains(key) && said.contains(reason), "{text}: {said}");
            assert!(said.contains("hint:"), "{text}: {said}");
        }
    }
    std::fs::remove_file(&file).unwrap();
    let flag = home.run(&["--set", "schedule.cron=\"x\"", "status"]).code(3);
    assert!(flag.complained().contains("--set: schedule.cron"), "{}", flag.err);
    home.run(&["--set", "documents.allowed_roots=[\"~/docs\", \"/srv\"]", "status"]).success();
    assert!(!home.database().exists());
}

/// Like reasons end alike, whichever `add` meets them: 7 where the settings do not allow it, 8 where
/// what was given cannot be used.
#[test]
fn every_add_ends_alike_for_like_reasons() {
    let home = Home::new();
    let inside = home.path().join("home");
    let write = |name: &str, bytes: &[u8]| {
        let path = inside.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let outside = home.path().join("outside.md");
    std::fs::write(&outside, "text").unwrap();
    let (latin, empty, image) =
        (write("latin.md", b"caf\xe9"), write("empty.md", b" \n"), write("a.png", b"text"));
    let (secret, large) = (write("secret.md", b"text"), write("large.md", &[b'x'; 3000]));
    let junk = write("junk.db", b"SQLite format 3\0 and then nothing of the kind");
    let missing = inside.join("missing.md").display().to_string();
    let folder = inside.join("folder.md");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.display().to_string();
    let opted_out = home.path().join("closed");
    std::fs::create_dir(&opted_out).unwrap();
    std::fs::write(opted_out.join(".lifecycle-ignore"), "").unwrap();
    let opted_out = opted_out.display().to_string();
    let bound = ["--set", "documents.max_bytes=2000", "--set", "capture.max_entry_bytes=2000"];
    let unusable: &[&[&str]] = &[
        &["add-file", &latin],
        &["add-file", &empty],
        &["add-file", &large],
        &["add-file", &missing],
        &["add-file", &folder],
        &["add", "--file-text", &latin],
        &["add", "--file-text", &empty],
        &["add", "--file-text", &large],
        &["add", "--file-text", &missing],
        &["add", "--file-text", &folder],
        &["add", "--file", &missing],
        &["add", "--file", &folder],
        &["add", "--file", &latin],
        &["add", " "],
        &["add", "--kind", "nonsense", "text"],
        &["add-text", " "],
        &["add-url", "no address"],
        &["add-url", "http://host.invalid/"],
        &["import", &missing],
        &["import", &folder],
        &["import", "--from", "markdown", &missing],
        &["import", "--from", "claude-mem", &junk],
        &["import", "--from", "memory-lifecycle", &junk],
    ];
    for args in unusable {
        let outcome = home.run(&[&bound[..], *args].concat());
        assert_eq!(outcome.code, 8, "{args:?}: {}", outcome.err);
        assert!(!outcome.err.contains("--repair"), "{args:?}: {}", outcome.err);
    }
    let outside = outside.display().to_string();
    let not_allowed: &[&[&str]] = &[
        &["add-file", &outside],
        &["add-file", &image],
        &["add-file", &secret],
        &["add-url", "http://127.0.0.1:9/"],
        &["add-url", "file:///etc/passwd"],
        &["add-url", "http://user:word@example.com/"],
        &["add", "--project", &opted_out, "text"],
    ];
    for args in not_allowed {
        let outcome = home.run(args);
        assert_eq!(outcome.code, 7, "{args:?}: {}", outcome.err);
        assert_eq!(outcome.err.matches("error:").count(), 1, "{args:?}: {}", outcome.err);
    }
    assert_eq!(home.texts(&["--all"]), [""; 0]);
    assert_eq!(home.json(&["documents"]), json!([]));
}
