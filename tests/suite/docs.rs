//! The documentation: links lead somewhere, and every command in it is one.

use crate::support::Home;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.extend(Some(root().join("README.md")).filter(|path| path.exists()));
    pages.sort();
    pages
}

/// The lines of the shell blocks of a page.
fn commands(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line.trim_end() == "```sh";
        } else if inside && line.starts_with("lifecycle ") {
            lines.push(line.to_string());
        }
    }
    lines
}

/// The words of a command as a shell splits them; what follows a pipe or a redirection is left out.
fn words(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let line = line.split(" | ").next().unwrap().split(" > ").next().unwrap();
    let script = format!("lifecycle() {{ printf '%s\\0' lifecycle \"$@\"; }}\n{line}\n");
    let output =
        Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(ToString::to_string).collect()
}

#[test]
fn every_command_in_the_documentation_is_one() {
    let mut count = 0;
    for page in pages() {
        for line in commands(&page) {
            if let Err(error) = lifecycle::cli::parses(&words(&line)) {
                panic!("{}: {line}\n{error}", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count} commands");
}

#[test]
fn links_lead_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.starts_with("http") || target.starts_with("mailto:") {
                continue;
            }
            let file = target.split('#').next().unwrap();
            let path = page.parent().unwrap().join(file);
            assert!(file.is_empty() || path.exists(), "{}: {target}", page.display());
        }
    }
}

/// The quick start, as a new user types it: everything after the installation.
#[test]
fn the_quick_start_works_in_a_fresh_home() {
    let mut home = Home::new();
    std::fs::create_dir_all(home.path().join("home/.claude")).unwrap();
    // A machine without a scheduler that answers: nothing outside the home is touched.
    std::fs::create_dir_all(home.path().join("tools")).unwrap();
    home.set("PATH", home.path().join("tools").to_str().unwrap());
    let mut ran = Vec::new();
    for line in commands(&root().join("docs/quick-start.md")) {
        if line.starts_with("lifecycle setup") {
            continue;
        }
        let words = words(&line);
        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        home.run(&args).success();
        ran.push(line);
    }
    assert!(ran.len() >= 12, "{ran:#?}");
    assert!(home.path().join("home/.claude/settings.json").exists());
}

#[test]
fn every_command_has_examples_in_its_help() {
    let without = lifecycle::cli::commands_without_examples();
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn exit_codes_are_those_of_the_code() {
    let page = std::fs::read_to_string(root().join("docs/exit-codes.md")).unwrap();
    for code in 0..=9 {
        assert!(page.contains(&format!("| {code} | ")), "{code}");
    }
}
