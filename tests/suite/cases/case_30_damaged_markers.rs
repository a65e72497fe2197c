use crate::support::Home;

const CASE: &str = "30-damaged-markers";
const FACT: &str = "The dev server listens on port 5173";

fn routed_twice(input: &str) -> (String, String, String) {
    let home = Home::new();
    let before = home.put_input(CASE, &format!("md/{input}.md"), "CLAUDE.md");
    home.prove(Some(&home.project()), FACT);
    let outcome = home.route();
    let after = home.get("CLAUDE.md");
    home.route();
    assert_eq!(home.get("CLAUDE.md"), after, "{input}: the second route has an effect");
    // Outside of a whole block every line stays, in order.
    let mut rest = after.lines();
    let mut inside = false;
    for line in before.lines() {
        let (begins, ends) = (line.contains("lifecycle:begin"), line.contains("lifecycle:end"));
        let of_a_block = input == "two" && (begins || ends || inside);
        inside = of_a_block && !ends;
        if !of_a_block {
            assert!(rest.any(|other| other == line), "{input}: {line:?} is gone from\n{after}");
        }
    }
    (before, after, outcome.said())
}

#[test]
fn unclear_markers_are_named_and_nothing_is_written() {
    for input in ["begin-only", "end-first", "indent"] {
        let (before, after, out) = routed_twice(input);
        assert_eq!(after, before, "{input}");
        assert!(out.contains("markers are damaged"), "{input}: {out}");
    }
}

#[test]
fn markers_in_a_fence_are_an_example() {
    let (before, after, _) = routed_twice("fence");
    assert!(after.starts_with(&before) && after.contains(FACT), "{after}");
}

#[test]
fn two_blocks_end_as_one() {
    let (_, after, _) = routed_twice("two");
    assert_eq!(after.matches("<!-- lifecycle:begin -->").count(), 1);
    assert_eq!(after.matches("<!-- lifecycle:end -->").count(), 1);
    assert!(after.contains("\nmiddle\n") && after.contains("\ntail\n") && after.contains(FACT));
    assert!(!after.contains("stale"), "{after}");
}
