use crate::support::Home;

const CASE: &str = "22-toml-keeps-its-looks";
const FACT: &str = "Deploys of harbor-api go out on Tuesdays";

fn route_to(key: &str) -> (String, String) {
    let home = Home::new();
    let before = home.put_input(CASE, "config.toml", ".codex/config.toml");
    home.name_target(".codex/config.toml", key);
    home.prove(Some(&home.project()), FACT);
    home.route().success();
    let after = home.get(".codex/config.toml");
    home.route().success();
    assert_eq!(home.get(".codex/config.toml"), after);
    home.run(&["undo"]).success();
    assert_eq!(home.get(".codex/config.toml"), before);
    (before, after)
}

#[test]
fn only_lines_are_added() {
    for key in ["notes", "lifecycle.notes", "features.notes", "notify"] {
        let (before, after) = route_to(key);
        let mut rest = after.split_inclusive('\n');
        for line in before.split_inclusive('\n') {
            assert!(rest.any(|other| other == line), "{key}: {line:?} is gone from\n{after}");
        }
        let (old, new): (toml_edit::DocumentMut, toml_edit::DocumentMut) =
            (before.parse().unwrap(), after.parse().unwrap());
        assert!(new.to_string().contains(FACT));
        for (name, item) in old.iter().filter(|(name, _)| !key.starts_with(name)) {
            assert_eq!(new[name].to_string(), item.to_string(), "{key}: {name} is another one");
        }
        assert!(!after.ends_with('\n'));
    }
}
