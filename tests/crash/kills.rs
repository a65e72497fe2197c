//! Killed at every effect, and at random times.

use super::number;
use super::world::{Act, World};
use std::time::Instant;

/// Kills `act` at each of its points (each `stride`-th), and says how many kills that were.
fn at_every_effect(act: Act, stride: usize) -> usize {
    let world = World::new(act);
    let wanted = world.calm();
    for (kills, at) in (1..2000).step_by(stride).enumerate() {
        world.reset();
        let fault = format!("kill@{at}");
        let output = world.command().env("LIFECYCLE_FAULT", &fault).output().unwrap();
        let killed = output.status.code().is_none();
        let what = format!("{act:?} {fault}");
        world.finish(&what);
        world.same(&wanted, &what);
        if !killed {
            println!("{act:?}: killed at {kills} points, the last of them before {at}");
            return kills;
        }
    }
    panic!("{act:?} has more points than were tried");
}

#[test]
fn a_tick_killed_at_any_effect_is_completed() {
    assert!(at_every_effect(Act::Run, number("LIFECYCLE_TEST_STRIDE", 7)) > 5);
}

#[test]
fn an_apply_killed_at_any_effect_is_completed() {
    assert!(at_every_effect(Act::Apply, number("LIFECYCLE_TEST_STRIDE", 7)) > 3);
}

#[test]
fn an_undo_killed_at_any_effect_is_completed() {
    assert!(at_every_effect(Act::Undo, number("LIFECYCLE_TEST_STRIDE", 7)) > 2);
}

/// A number from 0 to 1 that follows from `n` alone.
fn part(n: usize) -> f64 {
    let hash = blake3::hash(&n.to_le_bytes());
    f64::from(u32::from_le_bytes(hash.as_bytes()[..4].try_into().unwrap())) / f64::from(u32::MAX)
}

#[test]
fn killed_at_random_times_it_is_completed() {
    let wanted = number("LIFECYCLE_TEST_KILLS", 9);
    for (n, act) in Act::ALL.into_iter().enumerate() {
        let world = World::new(act);
        let calm = world.calm();
        world.reset();
        let started = Instant::now();
        assert!(world.command().output().unwrap().status.code().is_some());
        // How long an act takes changes with what else the machine does: where a kill came too late,
        // the next one comes sooner.
        let mut span = started.elapsed();
        let (mut kills, wanted) = (0, wanted.div_ceil(3));
        for round in 0..wanted * 10 {
            if kills == wanted {
                break;
            }
            world.reset();
            let mut child = world.command().spawn().unwrap();
            std::thread::sleep(span.mul_f64(part(round * 3 + n)));
            child.kill().unwrap();
            match child.wait_with_output().unwrap().status.code() {
                None => kills += 1,
                Some(_) => span = span.mul_f64(0.7),
            }
            let what = format!("{act:?}, random kill {round}");
            world.finish(&what);
            world.same(&calm, &what);
        }
        println!("{act:?}: killed {kills} times within {span:?}");
        assert_eq!(kills, wanted, "{act:?}");
    }
}
