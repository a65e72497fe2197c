//! Completions and manual pages are made from the command line's own definition and read by the
//! shells and the typesetter they are for.

use crate::support::Home;
use crate::support::tools::tool;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The completions of a shell, in a file.
fn script(home: &Home, shell: &str) -> PathBuf {
    let text = home.run(&["completions", shell]).success().out;
    let file = home.path().join(format!("lifecycle.{shell}"));
    std::fs::write(&file, text).unwrap();
    file
}

fn run(program: &Path, args: &[&str], home: &Home) -> String {
    let output = Command::new(program)
        .args(args)
        .env("HOME", home.path().join("home"))
        .env("TERM", "dumb")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.is_empty(), "{args:?}: {words}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn bash_completes() {
    let Some(bash) = tool(&["bash"], "completion in bash") else { return };
    let home = Home::new();
    let file = script(&home, "bash");
    let ask = format!(
        "source '{}'; COMP_WORDS=(lifecycle schedule ''); COMP_CWORD=2; \
         _lifecycle lifecycle '' schedule; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display()
    );
    let offered = run(&bash, &["--norc", "-c", &ask], &home);
    for word in ["install", "status", "next", "remove", "--json"] {
        assert!(offered.lines().any(|line| line == word), "{word}: {offered}");
    }
}

#[test]
fn zsh_reads_them() {
    let Some(zsh) = tool(&["zsh"], "completion in zsh") else { return };
    let home = Home::new();
    let file = script(&home, "zsh");
    run(&zsh, &["-f", "-n", file.to_str().unwrap()], &home);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("#compdef lifecycle"));
}

#[test]
fn fish_completes() {
    let Some(fish) = tool(&["fish"], "completion in fish") else { return };
    let home = Home::new();
    let file = script(&home, "fish");
    run(&fish, &["--no-config", "--no-execute", file.to_str().unwrap()], &home);
    let ask = format!("source '{}'; complete -C 'lifecycle schedule '", file.display());
    let offered = run(&fish, &["--no-config", "-c", &ask], &home);
    for word in ["install", "status", "next", "remove"] {
        assert!(offered.lines().any(|line| line.starts_with(word)), "{word}: {offered}");
    }
}

#[test]
fn other_shells_get_a_script_too() {
    let home = Home::new();
    for shell in ["powershell", "elvish"] {
        assert!(home.run(&["completions", shell]).success().out.contains("schedule"), "{shell}");
    }
    home.run(&["completions", "cmd"]).code(2);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let home = Home::new();
    home.run(&["man", "pages"]).success();
    let folder = home.path().join("pages");
    let names: Vec<String> = lifecycle::cli::command_words()
        .iter()
        .map(|words| format!("{}.1", [&["lifecycle".to_string()], &words[..]].concat().join("-")))
        .collect();
    for name in &names {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let page = std::fs::read_to_string(folder.join("lifecycle-run.1")).unwrap();
    assert!(page.contains("dry\\-run") && page.contains("Examples:"), "{page}");
    let Some(groff) = tool(&["groff"], "checking manual pages") else { return };
    for name in &names {
        let file = folder.join(name);
        let set = run(&groff, &["-Kutf8", "-man", "-Tutf8", "-ww", file.to_str().unwrap()], &home);
        // The typesetter makes a bold letter by striking it twice.
        let plain = set.replace("\u{8}", "");
        assert!(plain.contains("NNAAMMEE") || plain.contains("NAME"), "{name}: {set}");
    }
}

#[test]
fn the_version_tells_of_the_build() {
    let home = Home::new();
    let version = home.run(&["--version"]).success().out;
    for part in [env!("CARGO_PKG_VERSION"), "commit ", "build ", "rustc 1.", "SQLite 3."] {
        assert!(version.contains(part), "{part}: {version}");
    }
    assert_eq!(home.run(&["-V"]).success().out.lines().count(), 1);
}
