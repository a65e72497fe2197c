//! An entry that exists in another form is not added again.

use crate::support::{Home, fixture};

fn hooks_of_ours(text: &str) -> usize {
    let document: toml_edit::DocumentMut = text.parse().unwrap();
    document.to_string().matches(" hook codex").count()
}

#[test]
fn each_spelling_keeps_to_itself_and_is_given_back() {
    for name in ["inline.toml", "dotted.toml", "aot.toml"] {
        let home = Home::new();
        let before = std::fs::read_to_string(fixture("cases/24").join(name)).unwrap();
        let codex = home.path().join("home/.codex");
        std::fs::create_dir_all(&codex).unwrap();
        let target = codex.join("config.toml");
        std::fs::write(&target, &before).unwrap();

        home.run(&["install-hooks", "--codex"]).success();
        let once = std::fs::read_to_string(&target).unwrap();
        assert_eq!(hooks_of_ours(&once), 4, "{name}: {once}");
        assert!(!codex.join("hooks.json").exists(), "one place only");
        home.run(&["install-hooks", "--codex"]).success();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), once);

        home.run(&["uninstall-hooks", "--codex"]).success();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), before, "{name}");
    }
}

#[test]
fn removal_takes_out_exactly_ours_when_the_file_has_changed_since() {
    for name in ["inline.toml", "dotted.toml", "aot.toml"] {
        let home = Home::new();
        let before = std::fs::read_to_string(fixture("cases/24").join(name)).unwrap();
        let codex = home.path().join("home/.codex");
        std::fs::create_dir_all(&codex).unwrap();
        let target = codex.join("config.toml");
        std::fs::write(&target, &before).unwrap();
        home.run(&["install-hooks", "--codex"]).success();
        let changed =
            format!("{}\n[added]\nlater = true\n", std::fs::read_to_string(&target).unwrap());
        std::fs::write(&target, changed).unwrap();
        home.run(&["uninstall-hooks", "--codex"]).success();
        assert_eq!(
            std::fs::read_to_string(&target).unwrap(),
            format!("{before}\n[added]\nlater = true\n"),
            "{name}"
        );
    }
}

#[test]
fn a_file_that_does_not_parse_is_left_alone() {
    let home = Home::new();
    let codex = home.path().join("home/.codex");
    std::fs::create_dir_all(&codex).unwrap();
    std::fs::write(codex.join("config.toml"), "hooks = {\n").unwrap();
    let outcome = home.run(&["install-hooks", "--codex"]).code(7);
    assert!(outcome.err.contains("config.toml"), "{}", outcome.err);
    assert!(!codex.join("hooks.json").exists());
}
