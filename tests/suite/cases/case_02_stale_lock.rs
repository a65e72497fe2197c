//! A lock left by a dead process does not stop anything.

use crate::support::Home;
use crate::support::merging::{BERTH, Merging, berth, text};
use crate::support::standin::Reply;
use std::fs::File;
use std::time::{Duration, Instant};

#[test]
fn what_a_dead_process_wrote_into_the_lock_does_not_matter() {
    let home = Home::new();
    home.run(&["add", "a note"]).success();
    // A process that is gone, and one that runs and is not ours.
    for (n, left) in (1..).zip(["4194303", "1"]) {
        std::fs::write(home.store().join("tick.lock"), left).unwrap();
        let said = home.path().join(format!("t{n}.jsonl"));
        let line = crate::capture::says(&home, n, &format!("Remember: lamp {n} is red"));
        std::fs::write(&said, line).unwrap();
        crate::capture::hook(&home, &crate::capture::end_of(&said, &home.project()));
        home.run(&["run"]).success();
        assert!(home.texts(&[]).contains(&format!("lamp {n} is red")), "the run does its work");
    }
}

/// Two real runs: while the first waits for its model the second ends at once, and nothing is done
/// twice.
#[test]
fn a_second_run_ends_at_once_and_does_nothing() {
    let case = Merging::new("openai-compatible");
    case.add(BERTH);
    case.connect();
    case.server
        .replies([Reply::After(Duration::from_secs(20), Box::new(text(&berth())[0].clone()))]);
    let slow = ["--set", "consolidate.call.timeout_seconds=60.0", "run", "--phase", "consolidate"];
    let first = case.home.start(&slow, b"");
    let until = Instant::now() + Duration::from_secs(20);
    while case.server.chats().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let started = Instant::now();
    let second = case.home.run(&["run"]).code(5);
    assert!(second.err.contains("another tick is running"), "{}", second.err);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(first.wait_with_output().unwrap().status.success());
    assert_eq!(case.proven().len(), 1);
    assert_eq!(case.states().len(), 4);
    assert_eq!(case.server.chats().len(), 1, "the model was asked once");
}

#[test]
fn of_two_runs_one_works_and_the_other_says_so() {
    let home = Home::new();
    home.run(&["add", "a note"]).success();
    home.run(&["run", "--phase", "buffer"]).success();
    let lock = File::options().write(true).open(home.store().join("tick.lock")).unwrap();
    lock.lock().unwrap();
    let other = home.run(&["run"]).code(5);
    assert!(other.err.contains("another tick is running"), "{}", other.err);
    drop(lock);
    home.run(&["run", "--phase", "buffer"]).success();
}
