//! A tick that would change too much at once stops and asks.

use crate::support::Home;

fn routed(lines: usize) -> Home {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n\n- Write tests.\n");
    let subjects = ["dev server", "mail relay", "build cache", "log shipper", "crane hoist"];
    let ids: Vec<_> = (0..lines)
        .map(|n| {
            let text = format!("The {} listens on port {}", subjects[n % 5], 5000 + n);
            home.prove(Some(&home.project()), &text)
        })
        .collect();
    home.route().success();
    for id in &ids {
        home.run(&["forget", id.as_str()]).success();
    }
    home
}

#[test]
fn many_rewritten_lines_are_a_question() {
    let home = routed(4);
    let before = home.get("CLAUDE.md");
    assert!(before.contains("port 5003"), "{before}");
    let limit = ["--set", "route.max_rewrites=3"];
    let asked = home.run(&[&limit[..], &["route"]].concat()).code(7);
    assert!(
        asked.said().contains("4 lines of ours") && asked.said().contains("--yes"),
        "{}",
        asked.out
    );
    assert_eq!(home.get("CLAUDE.md"), before);
    let dry = home.run(&[&limit[..], &["route", "--dry-run", "--yes"]].concat()).success();
    assert!(dry.out.contains("-- The dev server listens"), "{}", dry.out);
    assert_eq!(home.get("CLAUDE.md"), before);
    home.run(&[&limit[..], &["run", "--phase", "route", "--yes"]].concat()).success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n\n- Write tests.\n");
}

#[test]
fn up_to_the_limit_nobody_is_asked() {
    let home = routed(3);
    home.run(&["--set", "route.max_rewrites=3", "route"]).success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n\n- Write tests.\n");
}

/// A review shows what a brake would hold back, since each step is decided on there.
#[test]
fn a_review_holds_nothing_back() {
    let home = routed(4);
    let answers = b"y\ny\ny\ny\ny\ny\n";
    let outcome =
        home.run_with(&["--set", "route.max_rewrites=3", "review", "--ask"], answers).success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n\n- Write tests.\n", "{}", outcome.out);
}
