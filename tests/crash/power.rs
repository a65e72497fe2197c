//! What a cut of power would leave.
//!
//! A disk keeps what was synced. Of the rest it may keep anything: bytes that were not synced can be
//! missing from a file although its name is there, and of the changes to names in a folder those
//! since its last sync may be lost. The effects of a run are recorded, and after each of them every
//! such outcome is looked at: a name must stand for a whole content.

use super::world::{Act, World};
use std::collections::{BTreeMap, BTreeSet};

/// One effect as recorded, or as a tracer of system calls saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Write(String),
    Sync(String),
    Rename(String, String),
    Remove(String),
    SyncFolder(String),
    /// The store says that what went before is done.
    Commit,
}

fn recorded(trace: &str) -> Vec<Effect> {
    let effect = |line: &str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let path = |n: usize| parts.get(n).unwrap_or(&"").to_string();
        Some(match parts[0] {
            "write" => Effect::Write(path(1)),
            "sync" => Effect::Sync(path(1)),
            "rename" => Effect::Rename(path(1), path(2)),
            "remove" => Effect::Remove(path(1)),
            "sync folder" => Effect::SyncFolder(path(1)),
            "commit" => Effect::Commit,
            _ => return None,
        })
    };
    trace.lines().filter_map(effect).collect()
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// What could go wrong if the power were cut somewhere in `effects`.
pub fn losses(effects: &[Effect]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for cut in 0..=effects.len() {
        found.extend(after_cut(&effects[..cut]));
    }
    found.into_iter().collect()
}

/// Plays `effects` on a disk that keeps only what it must, and on one that keeps names early.
fn after_cut(effects: &[Effect]) -> Vec<String> {
    let mut unsynced: BTreeSet<&str> = BTreeSet::new();
    let mut pending: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for effect in effects {
        match effect {
            Effect::Write(path) => _ = unsynced.insert(path),
            Effect::Sync(path) => _ = unsynced.remove(path.as_str()),
            Effect::Rename(from, to) => {
                // The name may last at once, the bytes only with a sync.
                if unsynced.remove(from.as_str()) {
                    found.push(format!("{to} may be empty or half"));
                }
                pending.entry(folder(to)).or_default().push(to);
            }
            Effect::Remove(path) => pending.entry(folder(path)).or_default().push(path),
            Effect::SyncFolder(path) => _ = pending.remove(path.trim_end_matches('/')),
            Effect::Commit => {
                // The store may not be ahead of the files: it would take ours for edited.
                for path in pending.values().flatten() {
                    found.push(format!("{path} may be the old one although it counts as done"));
                }
            }
        }
    }
    found
}

#[test]
fn the_replay_finds_what_it_is_to_find() {
    let path = |name: &str| format!("/p/{name}");
    let good = vec![
        Effect::Write(path(".tmp")),
        Effect::Sync(path(".tmp")),
        Effect::Rename(path(".tmp"), path("CLAUDE.md")),
        Effect::SyncFolder("/p".into()),
        Effect::Commit,
    ];
    assert_eq!(losses(&good), [""; 0]);
    for (left_out, word) in [(1, "half"), (3, "counts as done")] {
        let mut bad = good.clone();
        bad.remove(left_out);
        let found = losses(&bad);
        assert!(found.iter().any(|loss| loss.contains(word)), "{left_out}: {found:?}");
    }
    let mut late = good.clone();
    late.swap(1, 2);
    assert!(!losses(&late).is_empty(), "synced after the rename");
}

#[test]
fn a_cut_of_power_leaves_the_old_file_or_the_new_one() {
    for act in Act::ALL {
        let world = World::new(act);
        let trace = world.home.path().join("trace");
        let output = world.command().env("LIFECYCLE_FAULT_TRACE", &trace).output().unwrap();
        assert!(output.status.success(), "{act:?} {}", String::from_utf8_lossy(&output.stdout));
        let effects = recorded(&std::fs::read_to_string(&trace).unwrap());
        let renames = effects.iter().filter(|effect| matches!(effect, Effect::Rename(..))).count();
        assert!(renames > 0, "{act:?} writes a file: {effects:?}");
        assert_eq!(losses(&effects), [""; 0], "{act:?}");
    }
}
