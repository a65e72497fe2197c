//! A writer waits for a lock instead of losing the note.

use crate::support::Home;
use rusqlite::Connection;
use std::sync::mpsc;

/// Holds the write lock until told to let go.
fn hold(home: &Home) -> (mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (release, released) = mpsc::channel();
    let (held, is_held) = mpsc::channel();
    let database = home.database();
    let holder = std::thread::spawn(move || {
        let connection = Connection::open(database).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        held.send(()).unwrap();
        released.recv().unwrap();
        connection.execute_batch("COMMIT").unwrap();
    });
    is_held.recv().unwrap();
    (release, holder)
}

#[test]
fn it_waits_and_both_notes_are_there() {
    let home = Home::new();
    home.run(&["add", "first note"]).success();
    let (release, holder) = hold(&home);
    let waiting = home.command(&["add", "second note"]).spawn().unwrap();
    release.send(()).unwrap();
    holder.join().unwrap();
    assert!(waiting.wait_with_output().unwrap().status.success());
    assert_eq!(home.texts(&[]), ["first note", "second note"]);
}

#[test]
fn held_too_long_the_text_is_kept_and_it_is_said() {
    let home = Home::new();
    home.run(&["add", "first note"]).success();
    let (release, holder) = hold(&home);
    let busy = home.run(&["--set", "store.busy_timeout_ms=50", "add", "second note"]).code(5);
    assert!(busy.err.contains("busy"), "{}", busy.err);
    release.send(()).unwrap();
    holder.join().unwrap();
    home.run(&["run", "--phase", "buffer"]).success();
    assert_eq!(home.texts(&[]), ["first note", "second note"]);
}
