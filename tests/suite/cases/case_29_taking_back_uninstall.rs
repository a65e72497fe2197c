//! Knowledge that is withdrawn leaves the file: the product is removed.

use crate::support::Home;

#[test]
fn no_block_remains_and_the_users_text_is_as_before() {
    let mut home = Home::new();
    home.set("PATH", "/nonexistent");
    let notes = "# harbor-api\n\n## Database\n\n- Postgres 16\n";
    let file = home.project().join("CLAUDE.md");
    std::fs::write(&file, notes).unwrap();
    std::fs::create_dir_all(home.path().join("home/.claude")).unwrap();
    home.run(&["init", "--yes"]).success();
    home.prove(
        Some(&home.project()),
        "Each Postgres table of the database has a `created_at` column in UTC",
    );
    home.run(&["run", "--phase", "route"]).success();
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("lifecycle:begin"), "{written}");
    // A line that the user wrote into our block is the user's.
    let by_hand = written
        .replace("<!-- lifecycle:end -->", "- Mine: backups run at night\n<!-- lifecycle:end -->");
    std::fs::write(&file, by_hand).unwrap();

    home.run(&["self", "uninstall"]).code(7);
    assert!(home.database().exists(), "nothing goes unasked");
    let done = home.run(&["self", "uninstall", "--yes"]).success();
    assert!(done.out.contains("CLAUDE.md"), "{}", done.out);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(!after.contains("lifecycle"), "{after}");
    assert!(!after.contains("created_at"), "{after}");
    assert!(after.contains("- Mine: backups run at night"), "{after}");
    assert!(after.starts_with(notes.trim_end()), "{after}");
    assert!(!home.store().exists(), "{}", done.out);
    assert!(!home.path().join("home/.claude/settings.json").exists());
    assert!(!home.path().join("home/.config/lifecycle").exists());
}

#[test]
fn a_file_that_was_ours_alone_goes() {
    let mut home = Home::new();
    home.set("PATH", "/nonexistent");
    std::fs::create_dir_all(home.project().join(".git")).unwrap();
    home.prove(
        Some(&home.project()),
        "Each Postgres table of the database has a `created_at` column in UTC",
    );
    home.run(&["run", "--phase", "route"]).success();
    let file = home.project().join("CLAUDE.md");
    assert!(file.exists());
    home.run(&["self", "uninstall", "--yes"]).success();
    assert!(!file.exists());
}

#[test]
fn the_users_text_is_byte_for_byte_as_before() {
    for notes in ["# p\n\n- Use pnpm\n", "# p\n\n- Use pnpm", "# p\r\n\r\n- Use pnpm\r\n", ""] {
        let mut home = Home::new();
        home.set("PATH", "/nonexistent");
        home.put("CLAUDE.md", notes);
        home.prove(Some(&home.project()), "The dev server listens on port 5173");
        home.run(&["run", "--phase", "route"]).success();
        assert!(home.get("CLAUDE.md").contains("port 5173"), "{notes:?}");
        home.run(&["self", "uninstall", "--yes"]).success();
        let after = std::fs::read_to_string(home.project().join("CLAUDE.md")).unwrap_or_default();
        assert_eq!(after, notes);
    }
}
