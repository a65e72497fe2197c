use crate::support::Home;

fn full_file(lines: usize) -> String {
    std::iter::once("# big\n".to_string())
        .chain((0..lines).map(|n| format!("- rule {n}\n")))
        .collect()
}

#[test]
fn the_budget_holds_over_many_runs() {
    let home = Home::new();
    let before = full_file(194);
    home.put("CLAUDE.md", &before);
    home.put(".claude/rules/more.md", "# more rules\n\n- rule of the house\n");
    let strong = "The oldest fact: service harbor owns topic berths";
    home.prove_seen(Some(&home.project()), strong, 9);
    for n in 0..30 {
        home.prove(Some(&home.project()), &format!("Fact {n}: service s{n} owns topic t{n}"));
    }
    for _ in 0..3 {
        home.route();
    }
    let after = home.get("CLAUDE.md");
    assert!(after.lines().count() <= 200, "{} lines", after.lines().count());
    assert!(after.starts_with(&before));
    assert!(home.get(".claude/rules/more.md").lines().count() <= 200);
    let all = format!("{after}{}", home.get(".claude/rules/more.md"));
    assert!(all.contains("Fact 29"), "the newest fact is the one that was left out");
    assert!(all.contains(strong), "the strongest fact is the one that was left out");
}

#[test]
fn what_does_not_fit_waits() {
    let home = Home::new();
    let before = full_file(199);
    home.put("CLAUDE.md", &before);
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let outcome = home.route();
    assert!(outcome.said().contains("is full"), "{}", outcome.out);
    assert_eq!(home.get("CLAUDE.md"), before);
    assert_eq!(home.state(&id), "proven");
}
