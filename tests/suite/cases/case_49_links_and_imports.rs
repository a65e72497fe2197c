use crate::support::Home;

const CASE: &str = "49-links-and-imports";

#[test]
fn a_link_stays_a_link() {
    let home = Home::new();
    home.put_input(CASE, "link/AGENTS.md", "AGENTS.md");
    std::os::unix::fs::symlink("AGENTS.md", home.project().join("CLAUDE.md")).unwrap();
    home.prove(Some(&home.project()), "Ask @team/handle before you touch @decorator code");
    home.route().success();
    home.route().success();
    assert!(home.project().join("CLAUDE.md").is_symlink());
    assert!(!home.project().join("AGENTS.md").is_symlink());
    let line = "- Ask `@team/handle` before you touch `@decorator` code\n";
    assert_eq!(home.get("AGENTS.md").matches(line).count(), 1);
}

#[test]
fn an_importing_file_and_its_import_get_it_once() {
    let home = Home::new();
    home.put_input(CASE, "import/AGENTS.md", "AGENTS.md");
    home.put_input(CASE, "import/CLAUDE.md", "CLAUDE.md");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    home.route().success();
    let both = format!("{}{}", home.get("AGENTS.md"), home.get("CLAUDE.md"));
    assert_eq!(both.matches("port 5173").count(), 1);
    assert!(home.get("CLAUDE.md").starts_with("@AGENTS.md\n"));
}

#[test]
fn agents_alone_stays_alone() {
    let home = Home::new();
    home.put_input(CASE, "agents/AGENTS.md", "AGENTS.md");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    assert!(home.get("AGENTS.md").contains("port 5173"));
    assert_eq!(home.files(), ["AGENTS.md"]);
}
