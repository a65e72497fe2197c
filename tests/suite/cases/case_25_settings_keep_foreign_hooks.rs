//! Installing our hook keeps everybody else's.

use crate::support::{Home, fixture};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn home_with_settings() -> (Home, PathBuf, String) {
    let home = Home::new();
    let folder = home.path().join("home/.claude");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = folder.join("settings.json");
    let text = std::fs::read_to_string(fixture("cases/25/settings.json")).unwrap();
    std::fs::write(&settings, &text).unwrap();
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o600)).unwrap();
    (home, settings, text)
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn foreign_hooks_stay_ours_comes_once_and_goes_byte_for_byte() {
    let (home, settings, before) = home_with_settings();
    home.run(&["install-hooks"]).success();
    let once = read(&settings);
    home.run(&["install-hooks"]).success();
    assert_eq!(read(&settings), once);

    let value: Value = serde_json::from_str(&once).unwrap();
    let end = value["hooks"]["SessionEnd"].as_array().unwrap();
    assert_eq!(end[0]["hooks"][0]["command"], "/opt/other/end.sh");
    assert_eq!(end.len(), 2);
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(value["someFutureKey"]["x"], serde_json::json!([1, 2]));
    let ours = &end[1]["hooks"][0];
    assert_eq!(ours["command"], env!("CARGO_BIN_EXE_lifecycle"));
    assert_eq!(ours["args"], serde_json::json!(["hook", "claude-code"]));
    assert!(ours["timeout"].as_u64().unwrap() <= 10, "seconds, and few");
    // Every line of the original is still there, in order.
    let mut lines = once.lines().map(|line| line.trim_end_matches(','));
    assert!(before.lines().all(|line| lines.any(|other| other == line.trim_end_matches(','))));
    assert_eq!(settings.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    home.run(&["uninstall-hooks"]).success();
    assert_eq!(read(&settings), before);
    assert_eq!(settings.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_symbolic_link_stays_one() {
    let (home, settings, before) = home_with_settings();
    let real = home.path().join("dotfiles.json");
    std::fs::rename(&settings, &real).unwrap();
    std::os::unix::fs::symlink(&real, &settings).unwrap();
    home.run(&["install-hooks"]).success();
    assert!(settings.symlink_metadata().unwrap().is_symlink());
    assert!(read(&real).contains("claude-code"));
    home.run(&["uninstall-hooks"]).success();
    assert!(settings.symlink_metadata().unwrap().is_symlink());
    assert_eq!(read(&real), before);
}

#[test]
fn what_the_user_added_since_stays() {
    let (home, settings, before) = home_with_settings();
    home.run(&["install-hooks"]).success();
    let changed = read(&settings).replace("\"FOO\": \"1\"", "\"FOO\": \"2\"");
    std::fs::write(&settings, changed).unwrap();
    home.run(&["uninstall-hooks"]).success();
    assert_eq!(read(&settings), before.replace("\"FOO\": \"1\"", "\"FOO\": \"2\""));
}

#[test]
fn hooks_go_even_where_the_record_is_lost() {
    let (home, settings, before) = home_with_settings();
    home.run(&["install-hooks"]).success();
    std::fs::remove_dir_all(home.store()).unwrap();
    home.run(&["uninstall-hooks"]).success();
    assert_eq!(read(&settings), before);
}
