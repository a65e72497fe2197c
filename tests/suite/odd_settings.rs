//! Settings files of assistants as people have them: what can be edited keeps every other byte,
//! what cannot is left alone and does not keep the rest from being set up.

use crate::support::Home;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A home with Claude Code, Codex and no scheduler.
fn home() -> Home {
    let mut home = Home::new();
    let root = home.path();
    for folder in ["home/.claude", "home/.codex", "tools"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    home.set("PATH", root.join("tools").to_str().unwrap());
    home
}

fn settings(home: &Home) -> PathBuf {
    home.path().join("home/.claude/settings.json")
}

fn hooks_of(file: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(file).unwrap();
    let value: serde_json::Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    value["hooks"].clone()
}

#[test]
fn files_that_can_be_edited_keep_every_other_byte() {
    let foreign = "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\r\n    ]\r\n  }\r\n}\r\n";
    for (name, text) in [
        ("empty", ""),
        ("white space", "  \n"),
        ("one line", "{\"model\": \"opus\"}"),
        ("tabs", "{\n\t\"model\": \"opus\"\n}\n"),
        ("Windows line ends", foreign),
        ("byte order mark", "\u{feff}{\"model\": \"opus\"}\n"),
    ] {
        let home = home();
        let file = settings(&home);
        std::fs::write(&file, text).unwrap();
        home.run(&["init", "--yes"]).success();
        let hooks = hooks_of(&file);
        let ours = hooks["Stop"].as_array().unwrap().last().unwrap()["hooks"][0].clone();
        let program = ours["command"].as_str().unwrap();
        assert!(Path::new(program).is_absolute(), "{name}: {program}");
        assert!(ours["timeout"].as_u64().unwrap() <= 5, "{name}: seconds, not milliseconds");
        let written = std::fs::read(&file).unwrap();
        assert_eq!(text.starts_with('\u{feff}'), written.starts_with("\u{feff}".as_bytes()));
        home.run(&["init", "--yes"]).success();
        assert_eq!(std::fs::read(&file).unwrap(), written, "{name}: repeating changes nothing");
        home.run(&["init", "--undo"]).success();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{name}");
    }
}

#[test]
fn files_that_cannot_be_edited_are_left_alone_and_the_rest_is_set_up() {
    for (name, text) in [
        ("comments", "{\n  // mine\n  \"model\": \"opus\"\n}\n"),
        ("a comma too many", "{\"model\": \"opus\",}\n"),
        ("cut off", "{\"model\": \n"),
        ("a list", "[]\n"),
        ("hooks twice", "{\"hooks\": {}, \"hooks\": {}}\n"),
        ("hooks of another shape", "{\"hooks\": null}\n"),
    ] {
        let home = home();
        std::fs::write(settings(&home), text).unwrap();
        let done = home.run(&["init", "--yes"]).code(7);
        assert!(
            done.flat().contains("no hooks for it") && done.flat().contains("left alone"),
            "{name}"
        );
        assert_eq!(std::fs::read_to_string(settings(&home)).unwrap(), text, "{name}");
        assert!(home.path().join("home/.codex/hooks.json").exists(), "{name}: Codex has its hooks");
        assert!(home.path().join("home/.config/lifecycle/config.toml").exists(), "{name}");
    }
}

#[test]
fn a_link_stays_a_link() {
    let home = home();
    let (file, real) = (settings(&home), home.path().join("home/dotfiles.json"));
    std::fs::write(&real, "{\"model\": \"opus\"}\n").unwrap();
    symlink("../dotfiles.json", &file).unwrap();
    home.run(&["init", "--yes"]).success();
    assert!(file.is_symlink() && hooks_of(&real)["Stop"].is_array());
    home.run(&["init", "--undo"]).success();
    assert!(file.is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "{\"model\": \"opus\"}\n");
}

#[test]
fn a_link_to_nothing_and_a_closed_file_are_known_before_anything_is_written() {
    let home = home();
    symlink("../gone.json", settings(&home)).unwrap();
    let done = home.run(&["init", "--dry-run"]).code(7);
    assert!(done.flat().contains("symbolic link to nothing"), "{}", done.out);
    std::fs::remove_file(settings(&home)).unwrap();
    std::fs::write(settings(&home), "{}\n").unwrap();
    std::fs::set_permissions(settings(&home), std::fs::Permissions::from_mode(0o444)).unwrap();
    let done = home.run(&["init", "--yes"]).code(7);
    assert!(done.flat().contains("read-only"), "{}", done.out);
    assert_eq!(std::fs::read_to_string(settings(&home)).unwrap(), "{}\n");
}

/// Everything that was made goes, and what somebody changed in between stays as they left it.
#[test]
fn undo_after_the_user_edited_in_between_takes_out_our_part_only() {
    let home = home();
    let file = settings(&home);
    let mine = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\"\n          }\n        ]\n      }\n    ]\n  }\n}\n";
    std::fs::write(&file, mine).unwrap();
    home.run(&["init", "--yes"]).success();
    let edited = std::fs::read_to_string(&file).unwrap().replace("\"opus\"", "\"haiku\"");
    std::fs::write(&file, &edited).unwrap();
    let undone = home.run(&["init", "--undo"]).success();
    assert!(undone.flat().contains("only our part was taken out"), "{}", undone.out);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), mine.replace("opus", "haiku"));
    let again = home.run(&["init", "--undo"]).success();
    assert!(again.out.contains("nothing is installed"), "{}", again.out);
}

#[test]
fn uninstalling_lists_and_removes_what_was_made() {
    let home = home();
    let project = home.project();
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let before = "# Harbor\n\n## Commands\n\n- run make\n";
    std::fs::write(project.join("CLAUDE.md"), before).unwrap();
    let mine =
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say\"}]}]}}";
    std::fs::write(settings(&home), mine).unwrap();
    home.run(&["init", "--yes"]).success();
    for text in ["pg must run before tests", "before tests run pg", "tests need pg to run"] {
        home.run(&["add", text, "--project", project.to_str().unwrap()]).success();
    }
    home.run(&["--set", "consolidate.cluster_similarity=0.5", "run"]).success();
    assert!(
        std::fs::read_to_string(project.join("CLAUDE.md")).unwrap().contains("lifecycle:begin")
    );
    std::fs::write(home.store().join("mine.txt"), "not yours").unwrap();

    let listed = home.run(&["self", "uninstall"]).code(7);
    for part in ["CLAUDE.md", "settings.json", "hooks.json", "config.toml", "data folder"] {
        assert!(
            listed.out.replace("\n                  ", "").contains(part),
            "{part}: {}",
            listed.out
        );
    }
    assert!(home.database().exists(), "without an answer nothing goes");
    home.run(&["self", "uninstall", "--yes"]).success();
    assert_eq!(std::fs::read_to_string(project.join("CLAUDE.md")).unwrap(), before);
    assert_eq!(std::fs::read_to_string(settings(&home)).unwrap(), mine);
    assert!(!home.path().join("home/.config").exists());
    let left: Vec<_> =
        std::fs::read_dir(home.store()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.txt"], "a file of somebody else's stays");
}
