use crate::support::Home;

#[test]
fn forgotten_knowledge_leaves_the_file() {
    let home = Home::new();
    let before = "# p\n\n- Use pnpm";
    home.put("CLAUDE.md", before);
    let kept = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let id = home.prove(Some(&home.project()), "The staging server runs on host blue");
    home.route().success();
    assert!(home.get("CLAUDE.md").contains("host blue"));
    home.run(&["forget", id.as_str()]).success();
    home.route().success();
    let after = home.get("CLAUDE.md");
    assert!(!after.contains("host blue") && after.contains("port 5173"), "{after}");
    home.run(&["forget", kept.as_str()]).success();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), before);
    home.run(&["restore", id.as_str()]).success();
    home.route().success();
    assert!(home.get("CLAUDE.md").contains("host blue"));
}

#[test]
fn a_file_we_made_goes_with_its_last_line() {
    let home = Home::new();
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    assert_eq!(home.files(), ["CLAUDE.md"]);
    home.run(&["forget", id.as_str()]).success();
    home.route().success();
    assert!(home.files().is_empty());
}

#[test]
fn a_line_edited_by_hand_survives_the_withdrawal_of_its_entry() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    let edited = home.get("CLAUDE.md").replace("port 5173", "port 5174 since May");
    home.put("CLAUDE.md", &edited);
    home.run(&["forget", id.as_str()]).success();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), edited);
}

#[test]
fn a_line_edited_by_hand_stays_and_it_is_said() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    let edited = home.get("CLAUDE.md").replace("port 5173", "port 5174 since May");
    home.put("CLAUDE.md", &edited);
    let outcome = home.route();
    assert!(outcome.said().contains("you edited the line"), "{}", outcome.out);
    assert_eq!(home.get("CLAUDE.md"), edited);
}
