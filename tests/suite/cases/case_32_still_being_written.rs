//! A transcript read while it grows is read once, wholly.

use crate::capture::{entries, hook, says, texts, tick};
use crate::support::Home;
use serde_json::json;
use std::fs;

#[test]
fn a_transcript_read_while_it_grows_is_read_once_wholly() {
    let home = Home::new();
    let file = home.path().join("t.jsonl");
    let event = json!({ "session_id": "s", "transcript_path": file, "cwd": home.project(),
        "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "ok" })
    .to_string();
    let first = says(&home, 1, "Remember: tugs are booked a day ahead");
    let second = says(&home, 2, "Remember: pilots need größe L gloves");
    let cut = second.find('ö').unwrap() + 1;
    let bytes = [first.as_bytes(), second.as_bytes()].concat();
    fs::write(&file, &bytes[..first.len() + cut]).unwrap();
    hook(&home, &event);
    tick(&home);
    assert_eq!(texts(&home), ["tugs are booked a day ahead"]);
    fs::write(&file, &bytes).unwrap();
    hook(&home, &event);
    tick(&home);
    let both = ["pilots need größe L gloves", "tugs are booked a day ahead"];
    assert_eq!(texts(&home), both);
    fs::write(&file, first + &says(&home, 3, "Remember: lines are checked")).unwrap();
    hook(&home, &event);
    tick(&home);
    assert_eq!(texts(&home), ["lines are checked", both[0], both[1]]);
    assert!(entries(&home).iter().all(|entry| entry["recalls"] == 0));
}
