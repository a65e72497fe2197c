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
