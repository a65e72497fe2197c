use super::super::note::{Cluster, notes};
use super::*;
use crate::entry::{Actor, Channel, Entry, Kind, Source};

fn of(texts: &[(&str, i64)]) -> (Vec<Note>, Comparison) {
    let members = texts
        .iter()
        .map(|(text, created)| {
            Entry::new(text, Kind::Insight, None, *created, Source::new(Channel::Cli, Actor::User))
        })
        .collect();
    let notes = notes(&Cluster { members, ..Cluster::default() });
    let comparison = compare(&notes);
    (notes, comparison)
}

fn stale(texts: &[(&str, i64)]) -> Vec<String> {
    let (notes, found) = of(texts);
    found.superseded.iter().map(|s| notes[s.old_note].entry.text.clone()).collect()
}

#[test]
fn the_newer_of_two_values_holds() {
    let texts = [
        ("2026-05-01 The API rate limit is 60 requests per minute per key.", 0),
        (
            "2026-06-15 Rate limit raised to 120 requests per minute per key; header X-RateLimit-Remaining is returned.",
            0,
        ),
    ];
    assert_eq!(stale(&texts), [texts[0].0]);
    assert_eq!(
        stale(&[("The build timeout is 30 s", 1), ("The build timeout is 45 s", 2)]).len(),
        1
    );
}

#[test]
fn another_scope_or_another_thing_is_no_update() {
    for pair in [
        ["Berth buffer is 25 m", "Berth buffer shrinks to 15 m in winter"],
        ["api-1 listens on port 8080", "api-2 listens on port 8081"],
        ["The job took 14m20s", "The job now takes 5m40s on a hit"],
        ["Ines Falk is the release manager", "Ines Falk administers the repository"],
    ] {
        let (_, found) = of(&[(pair[0], 1), (pair[1], 2)]);
        assert_eq!(found, Comparison::default(), "{pair:?}");
    }
}

#[test]
fn without_an_order_in_time_it_is_a_contradiction() {
    let (_, found) = of(&[("The build timeout is 30 s", 1), ("The build timeout is 45 s", 1)]);
    assert_eq!((found.superseded.len(), found.contradictions.len()), (0, 1));
}

/// Where a value is written down is not where it holds.
#[test]
fn a_file_that_a_value_stands_in_is_no_scope() {
    for written in [
        "Importer timeout: 45 seconds, set in config/import.toml.",
        "The importer timeout is 45 seconds, defined in import.toml",
    ] {
        let texts = [(written, 1), ("The importer timeout is now 60 seconds.", 2)];
        assert_eq!(stale(&texts), [written]);
    }
    let apart = [("The timeout is 5 s in tests/a.rs", 1), ("The timeout is 10 s in tests/b.rs", 2)];
    assert!(stale(&apart).is_empty());
}

#[test]
fn what_was_given_up_is_stale() {
    let texts = [
        ("Install packages with npm", 1),
        ("npm ci is what the pipeline runs", 2),
        ("We moved from npm to pnpm; npm is no longer used", 3),
    ];
    assert_eq!(stale(&texts), [texts[0].0, texts[1].0]);
}

#[test]
fn a_denial_replaces_the_rule_it_denies() {
    let texts = [
        ("Use default exports in the web package", 1),
        ("Do not use default exports in the web package", 2),
    ];
    assert_eq!(stale(&texts), [texts[0].0]);
}

#[test]
fn a_running_number_is_no_value() {
    let numbered = [
        ("Observation 00: lamp", 1),
        ("Observation 06: lamp", 2),
        ("Ticket 12: the lamp of the pilot boat", 3),
        ("Ticket 13: the lamp of the pilot boat", 4),
    ];
    assert_eq!(of(&numbered).1, Comparison::default());
}
