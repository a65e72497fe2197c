use crate::support::Home;

#[test]
fn off_writes_nothing_and_a_dry_run_still_shows() {
    let mut home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.set("LIFECYCLE_ROUTE__ENABLED", "false");
    let outcome = home.route().success();
    assert!(outcome.said().contains("routing is off"), "{}", outcome.out);
    assert_eq!(home.get("CLAUDE.md"), "# p\n");
    home.run(&["run"]).success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n", "nor does a whole run");
    let database = std::fs::read(home.database()).unwrap();
    let dry = home.run(&["route", "--dry-run"]).success();
    assert!(dry.out.contains("+- The dev server listens on port 5173"), "{}", dry.out);
    assert!(dry.out.contains("CLAUDE.md"));
    assert_eq!(home.get("CLAUDE.md"), "# p\n");
    assert_eq!(std::fs::read(home.database()).unwrap(), database);
    let whole = home.run(&["run", "--dry-run"]).success();
    assert!(whole.out.contains("+- The dev server listens on port 5173"), "{}", whole.out);
    assert_eq!(home.files(), ["CLAUDE.md"]);
    assert_eq!(std::fs::read(home.database()).unwrap(), database);
}
