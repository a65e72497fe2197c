use crate::support::Home;

#[test]
fn nothing_to_say_means_no_file() {
    let home = Home::new();
    for folder in ["src/deep", "node_modules/x", ".git", "target/doc"] {
        std::fs::create_dir_all(home.project().join(folder)).unwrap();
    }
    home.put("node_modules/x/CLAUDE.md", "# dependency\n");
    home.put("target/doc/AGENTS.md", "# built\n");
    let before = home.files();
    home.route().success();
    assert_eq!(home.files(), before);
    home.prove(Some(&home.project()), "The dependency x of node_modules is pinned to 1.2");
    home.route().success();
    let made: Vec<String> =
        home.files().into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(made, ["CLAUDE.md"]);
    assert_eq!(home.get("node_modules/x/CLAUDE.md"), "# dependency\n");
    home.run(&["undo"]).success();
    assert_eq!(home.files(), before);
}

#[test]
fn what_is_there_takes_it_and_ignored_folders_take_nothing() {
    let home = Home::new();
    home.put(".gitignore", "out/\n");
    home.put("CLAUDE.md", "# p\n");
    let folders = [".git", "node_modules/x", "target/doc", "vendor/y", "out/z"];
    for folder in folders {
        home.put(&format!("{folder}/CLAUDE.md"), "# The dev server listens on a port\n");
    }
    let (names, root) = (home.files(), home.get("CLAUDE.md"));
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    assert_eq!(home.files(), names, "no file is made");
    assert_ne!(home.get("CLAUDE.md"), root);
    for folder in folders {
        let now = home.get(&format!("{folder}/CLAUDE.md"));
        assert_eq!(now, "# The dev server listens on a port\n", "{folder}");
    }
}

#[test]
fn no_claude_md_where_agents_md_rules() {
    let home = Home::new();
    home.put("AGENTS.md", "# agents\n");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    assert_eq!(home.files(), ["AGENTS.md"]);
    assert!(home.get("AGENTS.md").contains("port 5173"));
}
