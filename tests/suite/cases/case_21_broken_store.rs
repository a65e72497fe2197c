//! A damaged store is not replaced by an empty one.

use crate::support::{Home, fixture};

#[test]
fn junk_is_named_and_keeps_its_bytes() {
    let home = Home::new();
    let junk = std::fs::read(fixture("cases/21-broken-store/junk.bin")).unwrap();
    std::fs::create_dir_all(home.store()).unwrap();
    std::fs::write(home.database(), &junk).unwrap();
    for args in [&["add", "x"][..], &["list"], &["run"], &["status"]] {
        let outcome = home.run(args).code(4);
        assert!(outcome.err.contains("lifecycle.sqlite3"), "{args:?}: {}", outcome.err);
        assert!(outcome.err.contains("hint:"), "{args:?}: {}", outcome.err);
    }
    let event = format!(
        r#"{{"hook_event_name":"SessionEnd","session_id":"s","transcript_path":"{}","cwd":"/"}}"#,
        home.path().join("t.jsonl").display()
    );
    let hook = home.run_with(&["hook", "claude-code"], event.as_bytes()).success();
    assert_eq!(hook.out, "");
    assert_eq!(std::fs::read(home.database()).unwrap(), junk);
    let kept = std::fs::read_dir(home.store().join("inbox")).unwrap().count();
    assert_eq!(kept, 1, "what the hook was given is kept");
    let said = crate::capture::says(&home, 1, "Remember: fenders are replaced yearly");
    std::fs::write(home.path().join("t.jsonl"), said).unwrap();
    home.run(&["doctor", "--repair"]).code(6);
    crate::capture::tick(&home);
    assert!(home.texts(&[]).contains(&"fenders are replaced yearly".to_string()));
    let aside = std::fs::read_dir(home.store()).unwrap().flatten().map(|entry| entry.path());
    let aside = aside.filter(|path| path.display().to_string().contains(".damaged-"));
    let aside: Vec<_> = aside.map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!(aside, [junk], "the damaged file has a name of its own");
}

#[test]
fn with_the_write_ahead_file_damaged_the_notes_stay_readable() {
    let home = Home::new();
    for n in 0..20 {
        home.run(&["add", &format!("note {n}")]).success();
    }
    std::fs::write(home.store().join("lifecycle.sqlite3-wal"), [0x5a; 4096]).unwrap();
    assert_eq!(home.texts(&[]).len(), 20);
}
