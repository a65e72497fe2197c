//! The scheduled run works in an empty environment.

use crate::capture::says;
use crate::support::Home;
use std::fs;

#[test]
fn a_run_without_path_shell_or_terminal_captures() {
    let home = Home::new();
    let file = home.path().join("home/.claude/projects/-p/a.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, says(&home, 1, "Remember: lanterns are lit at dusk")).unwrap();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(&file).unwrap().set_modified(hour_ago).unwrap();
    let outcome = home
        .command(&["run", "--phase", "buffer"])
        .env_clear()
        .env("HOME", home.path().join("home"))
        .current_dir("/")
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(crate::capture::texts(&home), ["lanterns are lit at dusk"]);
}
