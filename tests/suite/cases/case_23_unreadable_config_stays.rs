use crate::support::Home;

const CASE: &str = "23-unreadable-config-stays";

#[test]
fn a_file_that_does_not_parse_stays_and_the_entry_waits() {
    for (name, repaired) in [
        ("bad.toml", "model = \"gpt-5\"\nrules = []\n"),
        ("bad.yaml", "rules:\n  - keep\n"),
        ("bad.json", "{ \"rules\": [] }"),
    ] {
        let home = Home::new();
        let before = home.put_input(CASE, name, name);
        home.name_target(name, "rules");
        let other = home.path().join("other");
        std::fs::create_dir_all(&other).unwrap();
        let id = home.prove(Some(&home.project()), "Deploys go out on Tuesdays");
        home.prove(Some(&other), "The other project uses tabs");
        let outcome = home.route().code(6);
        assert!(
            outcome.said().contains(name) && outcome.said().contains("line "),
            "{}",
            outcome.out
        );
        assert_eq!(home.get(name), before);
        assert_eq!(home.files(), [name]);
        assert_eq!(home.state(&id), "proven");
        assert!(other.join("CLAUDE.md").exists());
        home.put(name, repaired);
        home.route().success();
        assert!(home.get(name).contains("Deploys go out on Tuesdays"));
    }
}
