//! A lock left by a dead process does not stop anything.

use crate::support::Home;
use std::fs::File;

#[test]
fn what_a_dead_process_wrote_into_the_lock_does_not_matter() {
    let home = Home::new();
    home.run(&["add", "a note"]).success();
    for left in ["4194303", "1"] {
        std::fs::write(home.store().join("tick.lock"), left).unwrap();
        home.run(&["run", "--phase", "buffer"]).success();
    }
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
