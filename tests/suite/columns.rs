//! Whatever a person is shown fits 80 columns, however wide and however foreign the texts are.

use crate::support::Home;
use lifecycle::report::width;
use std::path::PathBuf;

/// A store whose texts, names and folders are as unhandy as they come.
struct Filled {
    home: Home,
    project: PathBuf,
}

fn filled() -> Filled {
    let mut home = Home::new();
    let project =
        home.path().join("港口-プロジェクト-with-a-very-long-name-that-nobody-would-type/api");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::write(project.join("CLAUDE.md"), "# Harbor\n\n## Commands\n\n- run make\n").unwrap();
    let file = "/srv/".to_string() + &"directory_without_any_break/".repeat(6) + "main.rs";
    let texts = [
        format!("Integration tests need docker compose up -d pg first, see {file}"),
        format!("Before the integration tests run docker compose up -d pg, see {file}"),
        format!("The integration tests fail unless docker compose up -d pg ran first; {file}"),
        "統合テストの前に docker compose up -d pg を実行する必要があります。".repeat(4),
        "🚢🚢🚢 the berth planner 👩‍👩‍👧‍👦 counts every ship twice ".repeat(6),
        "ok, thanks".to_string(),
        "a\tb\u{1b}[31m red\u{7} ".repeat(20),
    ];
    for text in &texts {
        home.run(&["add", text, "--project", project.to_str().unwrap()]).success();
    }
    let long = "x".repeat(120);
    home.set("LIFECYCLE_EMBED__URL_MODEL", &long);
    home.run(&["add-text", &format!("# {}\n\n{}", texts[3], texts[4]), "--name", &long]).success();
    home.run(&["run"]).success();
    Filled { home, project }
}

/// The commands that show something, on the filled store.
fn commands(filled: &Filled) -> Vec<Vec<String>> {
    let list = filled.home.json(&["list", "--all"]);
    let ids: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    let file = filled.project.join("CLAUDE.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().position(|line| line.contains("lifecycle:begin")).expect("a route") + 2;
    let place = format!("{}:{line}", file.display());
    let mut all: Vec<Vec<String>> = [
        "--version",
        "status",
        "list",
        "list --all",
        "history",
        "report",
        "report 1",
        "documents",
        "report quality",
        "model list",
        "config show",
        "config show --origin",
        "schedule next",
        "schedule status",
        "doctor --no-call",
        "prompt stats",
        "search docker compose pg",
        "search --all --explain 統合テスト",
        "run --dry-run --yes",
        "init --dry-run",
        "install-hooks --claude-code --codex --dry-run",
        "schedule install --by systemd --dry-run",
        "config explain route",
        "config explain redact.patterns",
        "self uninstall",
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_string).collect())
    .collect();
    all.extend(ids.iter().map(|id| vec!["show".into(), (*id).to_string()]));
    all.extend(ids.iter().map(|id| vec!["why".into(), (*id).to_string()]));
    all.push(vec!["why".into(), place]);
    let settings = filled.home.json(&["config", "show"]);
    let keys = settings.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap());
    all.extend(keys.map(|key| vec!["config".into(), "explain".into(), key.into()]));
    all
}

#[test]
fn every_command_that_shows_something_fits() {
    let filled = filled();
    let mut too_wide = Vec::new();
    for words in commands(&filled) {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        let shown = filled.home.run(&args);
        assert!(!shown.out.is_empty() || !shown.err.is_empty(), "{words:?} shows nothing");
        too_wide.extend(wide_lines(&words, &shown.out));
        too_wide.extend(wide_lines(&words, &shown.err));
        assert!(!shown.out.contains('\u{1b}'), "{words:?} lets a text act on the terminal");
        args.push("--json");
        let data = filled.home.run(&args).out;
        let asks = ["--version", "self"].contains(&args[0]);
        assert!(
            asks || serde_json::from_str::<serde_json::Value>(&data).is_ok(),
            "{args:?}: {data}"
        );
    }
    assert!(too_wide.is_empty(), "{too_wide:#?}");
}

#[test]
fn every_help_fits() {
    let home = Home::new();
    let mut too_wide = Vec::new();
    let all = lifecycle::cli::command_words();
    assert!(all.len() > 50, "{}", all.len());
    for mut words in all {
        words.push("--help".into());
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        too_wide.extend(wide_lines(&words, &home.run(&args).success().out));
    }
    assert!(too_wide.is_empty(), "{too_wide:#?}");
}

#[test]
fn what_went_wrong_fits_as_well() {
    let home = Home::new();
    let long = "no-such-thing-".repeat(20);
    for args in [["show", &long], ["why", &long], ["apply", &long], ["config", &long]] {
        let shown = home.run(&args);
        assert_ne!(shown.code, 0, "{args:?}");
        // What clap itself says of the command line repeats the word as it was typed.
        if shown.code != 2 {
            assert!(wide_lines(&[], &shown.err).is_empty(), "{}", shown.err);
        }
    }
}

fn wide_lines(words: &[String], text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| width(line) > 80)
        .map(|line| format!("{}: {} columns: {line}", words.join(" "), width(line)))
        .collect()
}
