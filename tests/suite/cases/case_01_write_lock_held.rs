//! A writer waits for a lock instead of losing the note.

use crate::support::Home;
use crate::support::merging::{BERTH, Merging};
use crate::support::standin::Reply;
use rusqlite::Connection;
use std::sync::mpsc;
use std::time::{Duration, Instant};

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
    // It has long met the lock by now.
    std::thread::sleep(Duration::from_millis(600));
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

/// The model takes its time; nothing that comes in meanwhile waits for it.
#[test]
fn nobody_waits_for_a_model() {
    let case = Merging::new("openai-compatible");
    case.add(BERTH);
    case.connect();
    case.server.replies([Reply::After(Duration::from_secs(30), Box::new(Reply::text("{}")))]);
    let slow = ["--set", "consolidate.call.timeout_seconds=30.0", "run", "--phase", "consolidate"];
    let mut run = case.home.command(&slow).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while case.server.chats().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!case.server.chats().is_empty(), "the model was asked");
    let started = Instant::now();
    case.home.run(&["add", "a note meanwhile"]).success();
    let event = crate::capture::end_of(&case.home.path().join("t.jsonl"), &case.home.project());
    crate::capture::hook(&case.home, &event);
    // A few hundred milliseconds, and room for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(run.try_wait().unwrap().is_none(), "the run still waits for its model");
    run.kill().unwrap();
    run.wait().unwrap();
}
