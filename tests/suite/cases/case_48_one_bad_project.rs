use crate::support::Home;

#[test]
fn the_others_go_on() {
    let home = Home::new();
    let (gone, bad) = (home.path().join("gone"), home.path().join("bad"));
    std::fs::create_dir_all(&gone).unwrap();
    std::fs::create_dir_all(&bad).unwrap();
    std::fs::write(home.path().join("CLAUDE.md"), "# parent\n").unwrap();
    std::fs::write(bad.join("CLAUDE.md"), [0xff, 0xfe, b'#']).unwrap();
    let lost = home.prove(Some(&gone), "The gone project uses Rust");
    let waiting = home.prove(Some(&bad), "The bad project uses Go");
    home.prove(Some(&home.project()), "The fine project uses Zig");
    std::fs::remove_dir(&gone).unwrap();
    let outcome = home.route().code(6);
    assert!(outcome.said().contains("gone is gone"), "{}", outcome.out);
    assert!(outcome.said().contains("not UTF-8"), "{}", outcome.out);
    assert!(home.get("CLAUDE.md").contains("Zig"));
    let status = home.json(&["status"])["last_tick"]["notes"].to_string();
    assert!(status.contains("gone is gone") && status.contains("not UTF-8"), "{status}");
    assert_eq!(home.state(&lost), "proven");
    assert_eq!(home.state(&waiting), "proven");
    assert_eq!(std::fs::read_to_string(home.path().join("CLAUDE.md")).unwrap(), "# parent\n");
    assert_eq!(std::fs::read(bad.join("CLAUDE.md")).unwrap(), [0xff, 0xfe, b'#']);
}

/// A whole run: beside a folder that is gone and a file that cannot be read the third project's notes
/// become one and are written.
#[test]
fn the_fine_project_is_consolidated_and_written() {
    let home = Home::new();
    let (gone, bad) = (home.path().join("gone"), home.path().join("bad"));
    std::fs::create_dir_all(&gone).unwrap();
    std::fs::create_dir_all(&bad).unwrap();
    std::fs::write(bad.join("CLAUDE.md"), [0xff, 0xfe, b'#']).unwrap();
    home.put("CLAUDE.md", "# P\n\n## Testing\n\n- run make test\n");
    home.prove(Some(&gone), "The gone project uses Rust");
    home.prove(Some(&bad), "The bad project uses Go");
    let project = home.project().display().to_string();
    for note in [
        "Integration tests need docker compose up -d pg first",
        "The integration tests fail unless docker compose up -d pg ran before",
        "Before the integration tests: docker compose up -d pg, or no connection",
    ] {
        home.run(&["add", "--project", &project, note]).success();
    }
    std::fs::remove_dir(&gone).unwrap();
    let outcome = home.run(&["run"]).code(6);
    assert!(outcome.said().contains("gone is gone"), "{}", outcome.out);
    assert!(outcome.said().contains("not UTF-8"), "{}", outcome.out);
    assert_eq!(home.texts(&["--state", "merged"]).len(), 3);
    assert_eq!(home.get("CLAUDE.md").matches("docker compose up -d pg").count(), 1);
    assert!(!home.path().join("CLAUDE.md").exists());
    assert!(home.texts(&[]).contains(&"The gone project uses Rust".to_string()));
}
