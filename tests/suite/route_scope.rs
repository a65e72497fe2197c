//! Which files may take an entry: the user's own, those kept elsewhere, those that are hidden, and
//! those that are full.

use crate::support::Home;
use std::path::{Path, PathBuf};

const MINE: &str = "# Me\n\n## Git\n\n- Never force-push to a branch that others use\n- Commit messages are in the imperative mood\n";

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Two projects without a word on git, and a user's file kept elsewhere that has a section on it.
fn two_projects() -> (Home, PathBuf, PathBuf) {
    let mut home = Home::new();
    let (folder, other) = (home.path().join("elsewhere"), home.path().join("q"));
    home.set("CLAUDE_CONFIG_DIR", &folder.display().to_string());
    let file = folder.join("CLAUDE.md");
    put(&file, MINE);
    for project in [home.project(), other.clone()] {
        put(&project.join("CLAUDE.md"), "# Colours\n\n- The palette has twelve colours\n");
    }
    (home, other, file)
}

#[test]
fn a_rule_of_two_projects_may_go_to_the_users_file_that_is_kept_elsewhere() {
    let (home, other, file) = two_projects();
    home.prove(Some(&home.project()), "Never push to the main branch directly");
    home.prove(Some(&other), "Do not push straight to the main branch");
    home.run(&["run", "--phase", "connect", "--phase", "route"]).success();
    let mine = std::fs::read_to_string(&file).unwrap();
    assert!(mine.contains("main branch"), "{mine}");
    assert!(mine.starts_with(MINE), "{mine}");
}

#[test]
fn a_rule_of_one_project_and_another_value_elsewhere_stay_at_home() {
    let (home, other, file) = two_projects();
    home.prove(Some(&home.project()), "Push the branch to the remote harbor before a release");
    home.prove(Some(&other), "Push the branch to the remote tide42 before a release");
    home.run(&["run", "--phase", "connect", "--phase", "route"]).success();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), MINE);
}

#[test]
fn a_file_that_claude_code_is_told_not_to_load_gets_no_line() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n\n- Use pnpm\n");
    home.put(".claude/settings.json", "{\"claudeMdExcludes\": [\"**/p/CLAUDE.md\"]}");
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let said = home.route().said();
    assert!(said.contains("claudeMdExcludes"), "{said}");
    assert_eq!(home.state(&id), "proven");
    home.put("AGENTS.md", "# p\n\n- Use pnpm\n");
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n\n- Use pnpm\n");
    assert!(home.get("AGENTS.md").contains("port 5173"));
}

#[test]
fn in_a_full_file_a_weaker_line_gives_way_to_a_stronger_one_and_waits() {
    let home = Home::new();
    let rules: String = (0..195).map(|n| format!("- rule {n}\n")).collect();
    home.put("CLAUDE.md", &format!("# big\n{rules}"));
    let weak = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    let full = home.get("CLAUDE.md");
    assert_eq!(full.lines().count(), 200);
    let strong = home.prove_seen(Some(&home.project()), "Release tags are signed with key 7F3A", 5);
    let said = home.route().success().said();
    assert!(said.contains("makes room for"), "{said}");
    let after = home.get("CLAUDE.md");
    assert!(after.contains("7F3A") && !after.contains("5173"), "{after}");
    assert_eq!((home.state(&weak).as_str(), home.state(&strong).as_str()), ("proven", "routed"));
    let said = home.route().success().said();
    assert!(said.contains("is full"), "{said}");
    assert_eq!(home.get("CLAUDE.md"), after);
    home.run(&["undo"]).success();
    assert_eq!(home.get("CLAUDE.md"), full);
    assert_eq!(home.state(&weak), "routed");
}

#[test]
fn runners_up_are_files_that_exist() {
    let home = Home::new();
    home.put(
        ".claude/rules/server.md",
        "# Server\n\n- The dev server runs in a container\n- The dev server reloads by itself\n",
    );
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    let text = home.get(".claude/rules/server.md");
    let n = text.lines().position(|line| line.contains("5173"));
    let name = if n.is_some() { ".claude/rules/server.md" } else { "CLAUDE.md" };
    let text = home.get(name);
    let n = text.lines().position(|line| line.contains("5173")).unwrap() + 1;
    let why = home.json(&["why", &format!("{}:{n}", home.project().join(name).display())]);
    for (place, _) in
        serde_json::from_value::<Vec<(String, f64)>>(why["line"]["runners_up"].clone()).unwrap()
    {
        let file = place.split(" › ").next().unwrap();
        assert!(home.project().join(file).exists(), "{place}");
    }
}
