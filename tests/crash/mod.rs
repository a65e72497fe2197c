//! Whatever ends a run, the next one ends where an undisturbed run does.
//!
//! [`world::World`] is a store with work for all five phases, an apply and an undo. The tests here
//! kill a run at every effect it has and at random times, have effects fail as a full, broken or
//! read-only disk does, and replay the order of effects to see what a cut of power would leave.
//! After each, the same command runs undisturbed and everything that a user could see is compared.
//!
//! `scripts/crash-test` runs all of it; the suite runs a part, chosen by a fixed seed.
//! `LIFECYCLE_TEST_KILLS` sets how many kills at random times, `LIFECYCLE_TEST_STRIDE` that only each
//! so many-th effect is tried.

mod disk;
mod faults;
mod kills;
mod power;
mod syscalls;
mod world;

/// A number from the environment.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
