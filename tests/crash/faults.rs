//! Effects that fail as on a full, a broken and a read-only disk.

use super::number;
use super::world::{Act, World};

/// Has each `stride`-th effect fail with `kind` (`+`: and all that follow), and says how many did.
fn failing(act: Act, kind: &str, onwards: &str, stride: usize) -> usize {
    let world = World::new(act);
    let wanted = world.calm();
    for (refused, at) in (1..2000).step_by(stride).enumerate() {
        world.reset();
        let fault = format!("{kind}@{at}{onwards}");
        let output = world.command().env("LIFECYCLE_FAULT", &fault).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let what = format!("{act:?} {fault}");
        assert!(output.status.code().is_some_and(|code| code < 10), "{what}: {said}");
        assert!(!said.contains("panicked"), "{what}: {said}");
        let hit = said.contains("refused");
        world.finish(&what);
        world.same(&wanted, &what);
        if !hit {
            println!("{act:?}: {refused} times {kind}{onwards}");
            return refused;
        }
    }
    panic!("{act:?} has more points than were tried");
}

fn each(kind: &str) {
    let stride = number("LIFECYCLE_TEST_STRIDE", 19);
    for act in Act::ALL {
        for onwards in ["", "+"] {
            assert!(failing(act, kind, onwards, stride) > 0, "{act:?} {kind}{onwards}");
        }
    }
}

#[test]
fn a_full_disk_costs_nothing() {
    each("enospc");
}

#[test]
fn a_broken_disk_costs_nothing() {
    each("eio");
}

#[test]
fn a_read_only_disk_costs_nothing() {
    each("erofs");
}

/// The message names the cause, whichever effect fails.
#[test]
fn what_went_wrong_is_said() {
    let world = World::new(Act::Run);
    for (kind, words) in [
        ("enospc", ["disk is full", "No space left"]),
        ("eio", ["Input/output error", "I/O error"]),
        ("erofs", ["Read-only file system", "read-only"]),
    ] {
        world.reset();
        let fault = format!("{kind}@1+");
        let output = world.command().env("LIFECYCLE_FAULT", &fault).output().unwrap();
        assert!(!output.status.success());
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(words.iter().any(|word| said.contains(word)), "{kind}: {said}");
    }
}
