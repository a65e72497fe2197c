//! Spaces, quotes and other alphabets in paths are ordinary (capture's half).

use crate::capture::{end_of, entries, hook, says_in, tick};
use crate::support::Home;
use std::fs;
use std::path::Path;

#[test]
fn spaces_quotes_and_other_alphabets_in_paths_are_ordinary() {
    let mut home = Home::new();
    let user = home.path().join("home dir");
    home.set("HOME", &user.to_string_lossy());
    let composed = user.join("Mein Projékt – 日本語 'x' 🚢");
    let decomposed = user.join("Mein Proje\u{301}kt – 日本語 'x' 🚢");
    fs::create_dir_all(composed.join(".git")).unwrap();
    let say = |n: u32, folder: &Path, text: &str| {
        let file = home.path().join(format!("{n}.jsonl"));
        fs::write(&file, says_in(folder, &n.to_string(), n, text)).unwrap();
        hook(&home, &end_of(&file, folder));
    };
    say(1, &composed, "Remember: quays have numbers");
    say(2, &decomposed, "Remember: berths have letters");
    tick(&home);
    let found = entries(&home);
    assert_eq!(found.len(), 2);
    for entry in &found {
        assert_eq!(entry["project"], composed.to_string_lossy().as_ref());
    }
    assert!(user.join(".local/share/lifecycle/lifecycle.sqlite3").exists());
}

/// Linked within their project and written into exactly that folder, whose name is shown unharmed.
#[test]
fn a_project_of_such_a_name_is_linked_and_written_to() {
    let home = Home::new();
    let name = "Mein Projékt – 日本語 'x' 🚢";
    let folder = home.path().join(name);
    fs::create_dir_all(folder.join(".git")).unwrap();
    let project = folder.display().to_string();
    for note in [
        "Integration tests need docker compose up -d pg first",
        "The integration tests fail unless docker compose up -d pg ran before",
    ] {
        home.run(&["add", "--project", &project, note]).success();
    }
    home.run(&["run", "--phase", "buffer", "--phase", "connect"]).success();
    let graph = home.json(&["graph", "--project", &project]);
    assert_eq!(graph["links"].as_array().unwrap().len(), 1, "{graph}");
    home.prove(Some(&folder), "The dev server listens on port 5173");
    let routed = home.route().success();
    assert!(routed.said().contains(name), "{}", routed.out);
    let written = fs::read_to_string(folder.join("CLAUDE.md")).unwrap();
    assert!(written.contains("port 5173"), "{written}");
    assert!(!home.path().join("CLAUDE.md").exists() && home.files().is_empty());
    let listed = home.json(&["list", "--project", &project]);
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
    assert!(listed.as_array().unwrap().iter().all(|entry| entry["project"] == project.as_str()));
}
