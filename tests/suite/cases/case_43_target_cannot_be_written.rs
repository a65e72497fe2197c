use crate::support::Home;

#[test]
fn a_folder_in_the_way() {
    let home = Home::new();
    std::fs::create_dir_all(home.project().join("CLAUDE.md")).unwrap();
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let outcome = home.route().code(6);
    assert!(outcome.said().contains("is a folder"), "{}", outcome.out);
    assert_eq!(home.state(&id), "proven");
    std::fs::remove_dir(home.project().join("CLAUDE.md")).unwrap();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md").matches("port 5173").count(), 1);
}

#[test]
fn a_file_that_is_read_only() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    let file = home.project().join("CLAUDE.md");
    let mut permissions = file.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().code(6);
    assert_eq!(home.get("CLAUDE.md"), "# p\n");
    assert_eq!(home.state(&id), "proven");
    assert_eq!(home.files(), ["CLAUDE.md"]);
}
