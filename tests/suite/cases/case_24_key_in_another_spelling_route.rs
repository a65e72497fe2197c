use crate::support::Home;

const CASE: &str = "24-key-in-another-spelling";

/// A key that is a table or an array of tables in another spelling is never written a second time.
#[test]
fn no_duplicate_key_whatever_the_spelling() {
    for name in ["inline.toml", "dotted.toml", "aot.toml"] {
        for key in ["hooks.SessionStart", "hooks.notes"] {
            let home = Home::new();
            let before = home.put_input(CASE, name, name);
            home.name_target(name, key);
            home.prove(Some(&home.project()), "Deploys go out on Tuesdays");
            home.route();
            let after = home.get(name);
            after.parse::<toml_edit::DocumentMut>().unwrap();
            let inline = ", notes  =  [\"Deploys go out on Tuesdays\"]";
            let rest = after.replace(inline, "");
            assert!(rest.contains(before.trim_end()), "{name} {key}:\n{after}");
            home.route();
            assert_eq!(home.get(name), after);
            if after != before {
                home.run(&["undo"]).success();
                assert_eq!(home.get(name), before);
            }
        }
    }
}
