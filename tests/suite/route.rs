//! Routing: proven entries into files, and out again.

use crate::support::Home;

const NOTES: &str = "# harbor-api\n\n## Commands\n\n- Run the tests with `pnpm test`\n\n## Database\n\n- Migrations live in `db/migrations`\n- Postgres 16\n";
const FACT: &str = "Each Postgres table of the database has a `created_at` column in UTC";

fn block(line: &str) -> String {
    format!("\n<!-- lifecycle:begin -->\n- {line}\n<!-- lifecycle:end -->\n")
}

#[test]
fn a_fact_goes_to_its_section_once_and_back() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let id = home.prove(Some(&home.project()), FACT);
    let dry = home.run(&["run", "--phase", "route", "--dry-run"]).success();
    assert!(dry.out.contains(&format!("+- {FACT}")), "{}", dry.out);
    assert_eq!(home.get("CLAUDE.md"), NOTES);
    home.route().success();
    let after = format!("{NOTES}{}", block(FACT));
    assert_eq!(home.get("CLAUDE.md"), after);
    let file = home.project().join("CLAUDE.md");
    let modified = file.metadata().unwrap().modified().unwrap();
    home.route().success();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), modified);
    assert_eq!(home.state(&id), "routed");
    home.run(&["undo"]).success();
    assert_eq!(home.get("CLAUDE.md"), NOTES);
    assert_eq!(home.state(&id), "proven");
    home.run(&["undo", "2"]).success();
    assert_eq!(home.get("CLAUDE.md"), after);
    assert_eq!(home.state(&id), "routed");
}

#[test]
fn what_the_file_states_is_only_linked() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let id = home.prove(Some(&home.project()), "Run the tests with pnpm test.");
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), NOTES);
    assert_eq!(home.state(&id), "routed");
    let why = home.json(&["why", &format!("{}:5", home.project().join("CLAUDE.md").display())]);
    assert_eq!(why["id"], id.as_str());
}

#[test]
fn what_contradicts_a_line_of_the_users_is_shown_and_waits() {
    let home = Home::new();
    home.put("CLAUDE.md", "# A\n\n- The dev server listens on port 3000\n");
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let outcome = home.route();
    assert!(
        outcome.said().contains("says “- The dev server listens on port 3000”"),
        "{}",
        outcome.out
    );
    assert_eq!(home.get("CLAUDE.md"), "# A\n\n- The dev server listens on port 3000\n");
    assert_eq!(home.state(&id), "proven");
}

#[test]
fn a_line_the_user_edits_outlives_the_program() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    home.route().success();
    let mine = "Each Postgres table has a `created_at` column in local time";
    home.put("CLAUDE.md", &format!("{NOTES}{}", block(mine)));
    home.route().success();
    home.route().success();
    home.run(&["self", "uninstall", "--keep-data", "--yes"]).success();
    let left = home.get("CLAUDE.md");
    assert!(left.contains(mine), "{left}");
    assert!(!left.contains("lifecycle:"), "the markers are ours: {left}");
}

#[test]
fn a_line_the_user_edits_is_theirs_and_one_they_delete_stays_away() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    home.route().success();
    let edited =
        format!("{NOTES}{}", block("Each Postgres table has a `created_at` column in local time"));
    home.put("CLAUDE.md", &edited);
    let outcome = home.route().success();
    assert!(outcome.said().contains("you edited the line"), "{}", outcome.out);
    assert_eq!(home.get("CLAUDE.md"), edited);
    let mine = "Each Postgres table has a `created_at` column in local time".to_string();
    assert!(home.texts(&[]).contains(&mine));
    home.put("CLAUDE.md", NOTES);
    home.route().success();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), NOTES);
}

#[test]
fn undo_takes_out_our_line_alone_where_the_file_was_edited() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    home.route().success();
    home.put("CLAUDE.md", &home.get("CLAUDE.md").replace("Postgres 16", "Postgres 17"));
    home.run(&["undo"]).success();
    assert_eq!(home.get("CLAUDE.md"), NOTES.replace("Postgres 16", "Postgres 17"));
}

#[test]
fn why_names_the_entry_behind_a_line() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let id = home.prove(Some(&home.project()), FACT);
    home.route().success();
    let line = home.get("CLAUDE.md").lines().position(|line| line.contains(FACT)).unwrap() + 1;
    let file = home.project().join("CLAUDE.md");
    let out = home.run(&["why", &format!("{}:{line}", file.display())]).success().out;
    assert!(out.contains(id.as_str()) && out.contains("score"), "{out}");
    home.run(&["why", &format!("{}:1", file.display())]).code(8);
}

#[test]
fn apply_refuses_a_file_that_changed() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    let plan = home.path().join("plan.json");
    home.run(&["run", "--phase", "route", "--dry-run", "--plan", plan.to_str().unwrap()]).success();
    home.put("CLAUDE.md", "# mine\n");
    let outcome = home.run(&["apply", plan.to_str().unwrap()]).code(6);
    assert!(outcome.said().contains("has changed since"), "{}", outcome.out);
    assert_eq!(home.get("CLAUDE.md"), "# mine\n");
}

#[test]
fn an_entry_of_one_project_never_goes_to_another_nor_to_the_user() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n\n- Use pnpm\n");
    let other = home.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let user = home.path().join("home/.claude");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("CLAUDE.md"), "# me\n\n- Be brief\n").unwrap();
    home.prove(Some(&other), "Use pnpm, never npm, in this repository");
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), "# p\n\n- Use pnpm\n");
    assert_eq!(std::fs::read_to_string(user.join("CLAUDE.md")).unwrap(), "# me\n\n- Be brief\n");
    assert!(std::fs::read_to_string(other.join("CLAUDE.md")).unwrap().contains("never npm"));
}

#[test]
fn a_newer_fact_replaces_our_own_older_line() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), "The dev server listens on port 3000");
    home.route().success();
    home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().success();
    let after = home.get("CLAUDE.md");
    assert!(after.contains("port 5173") && !after.contains("port 3000"), "{after}");
    home.run(&["undo"]).success();
    assert!(home.get("CLAUDE.md").contains("port 3000"));
}

/// Killed at every point of a tick, the next run ends with the line written once.
#[test]
fn a_kill_at_any_point_loses_and_doubles_nothing() {
    for at in 1..=40 {
        let home = Home::new();
        home.put("CLAUDE.md", NOTES);
        let id = home.prove(Some(&home.project()), FACT);
        let fault = format!("kill@{at}");
        let killed = home.command(&["route"]).env("LIFECYCLE_FAULT", &fault).output().unwrap();
        home.route().success();
        assert_eq!(home.get("CLAUDE.md"), format!("{NOTES}{}", block(FACT)), "killed at {at}");
        assert_eq!(home.state(&id), "routed", "killed at {at}");
        assert_eq!(home.files(), ["CLAUDE.md"], "killed at {at}");
        if killed.status.success() {
            return;
        }
    }
    panic!("the run has more points than were tried");
}
