//! What users do to lines of ours, and what comes of it.

use crate::support::Home;

const NOTES: &str = "# harbor-api\n\n## Commands\n\n- Run the tests with `pnpm test`\n\n## Database\n\n- Migrations live in `db/migrations`\n- Postgres 16\n";
const FACT: &str = "Each Postgres table of the database has a `created_at` column in UTC";
const OTHER: &str = "Each database migration in `db/migrations` has a twin that takes it back";

fn two_lines() -> Home {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    home.prove(Some(&home.project()), FACT);
    home.prove(Some(&home.project()), OTHER);
    home.route().success();
    let text = home.get("CLAUDE.md");
    assert!(text.contains(FACT) && text.contains(OTHER), "{text}");
    home
}

/// Two more runs leave what the user made of the file.
fn stays(home: &Home, text: &str) {
    home.put("CLAUDE.md", text);
    for _ in 0..2 {
        home.route().success();
        assert_eq!(home.get("CLAUDE.md"), text);
    }
}

#[test]
fn lines_in_another_order() {
    let home = two_lines();
    let text = home.get("CLAUDE.md");
    let swapped = text.replace(FACT, "\u{1}").replace(OTHER, FACT).replace('\u{1}', OTHER);
    assert_ne!(text, swapped);
    stays(&home, &swapped);
    assert_eq!(home.texts(&[]).len(), 2, "nothing came in as new");
}

#[test]
fn a_line_moved_into_the_users_own_text_is_known_there() {
    let home = two_lines();
    let line = format!("- {FACT}\n");
    let text = home.get("CLAUDE.md").replace(&line, "");
    let text = text.replace("## Database\n\n", &format!("## Database\n\n{line}"));
    home.put("CLAUDE.md", &text);
    let said = home.route().success().said();
    assert!(said.contains("you moved the line; line 9 states it now"), "{said}");
    stays(&home, &text);
    let file = home.project().join("CLAUDE.md");
    let why = home.json(&["why", &format!("{}:9", file.display())]);
    assert_eq!(why["text"], FACT);
    home.run(&["forget", why["id"].as_str().unwrap()]).success();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), text, "the line is the user's now");
}

/// An item on two lines is one item: a wrapped line of ours stays ours, and leaves as a whole.
#[test]
fn a_line_that_is_wrapped_is_the_same_line() {
    let home = two_lines();
    let text = home.get("CLAUDE.md");
    let wrapped = text.replace("of the database has", "of the database\n  has");
    assert_ne!(text, wrapped);
    stays(&home, &wrapped);
    let entries = home.json(&["list"]);
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 2, "nothing came in as new");
    let fact = entries.iter().find(|entry| entry["text"] == FACT).unwrap();
    home.run(&["forget", fact["id"].as_str().unwrap()]).success();
    home.route().success();
    let left = home.get("CLAUDE.md");
    assert_eq!(left, text.replace(&format!("- {FACT}\n"), ""), "no rest of it stays");
}

#[test]
fn markers_taken_away_make_the_lines_the_users() {
    let home = two_lines();
    let text = home.get("CLAUDE.md").replace("<!-- lifecycle:begin -->\n", "");
    let text = text.replace("<!-- lifecycle:end -->\n", "");
    stays(&home, &text);
}

#[test]
fn a_damaged_marker_is_named_and_the_file_left_alone() {
    let home = two_lines();
    let text = home.get("CLAUDE.md").replacen("<!-- lifecycle:end -->", "<!-- lifecycle:en", 1);
    home.put("CLAUDE.md", &text);
    home.prove(Some(&home.project()), "The staging database is restored each Monday");
    let said = home.route().code(6).said();
    assert!(said.contains("the block markers are damaged"), "{said}");
    assert_eq!(home.get("CLAUDE.md"), text);
}

/// A value that the user changed in our block is their word of the moment when they wrote it: what
/// somebody says later is newer.
#[test]
fn an_edited_line_is_as_old_as_the_edit() {
    let home = two_lines();
    let file = home.project().join("CLAUDE.md");
    let text = home.get("CLAUDE.md").replace("created_at", "made_at");
    home.put("CLAUDE.md", &text);
    let edited = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(edited).unwrap();
    let said = home.route().success().said();
    assert!(said.contains("you edited the line"), "{said}");
    let entries = home.json(&["list"]);
    let entries = entries.as_array().unwrap();
    let own = entries.iter().find(|entry| entry["text"].as_str().unwrap().contains("made_at"));
    let own = own.unwrap_or_else(|| panic!("{entries:?}"));
    let day = |field: &str| own[field].as_str().unwrap()[..10].to_string();
    assert!(day("created") < day("state_at"), "{own}");
}

#[test]
fn what_the_user_writes_beside_our_lines_survives_them() {
    let home = two_lines();
    let mine = "- Never drop a column in the release that stops using it\n  (two steps)\n";
    let text = home
        .get("CLAUDE.md")
        .replace("<!-- lifecycle:end -->\n", &format!("{mine}<!-- lifecycle:end -->\n"));
    stays(&home, &text);
    for entry in home.json(&["list"]).as_array().unwrap() {
        if [FACT, OTHER].contains(&entry["text"].as_str().unwrap()) {
            home.run(&["forget", entry["id"].as_str().unwrap()]).success();
        }
    }
    home.route().success();
    let after = home.get("CLAUDE.md");
    assert!(after.contains(mine) && !after.contains(FACT) && !after.contains(OTHER), "{after}");
}

#[test]
fn forget_says_when_the_line_leaves_and_undo_what_it_restored() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let id = home.prove(Some(&home.project()), FACT);
    home.route().success();
    let said = home.run(&["forget", id.as_str()]).success().said();
    assert!(said.contains("leaves with the next run"), "{said}");
    let said = home.route().success().said();
    assert!(said.contains("take out of"), "{said}");
    let said = home.run(&["undo"]).success().said();
    assert!(said.contains("is byte for byte as before that tick"), "{said}");
    let error = home.run(&["why", "p/CLAUDE.md:0"]).code(8).err;
    assert!(error.contains("counted from 1"), "{error}");
}

#[test]
fn a_long_entry_is_a_readable_line_and_why_has_the_rest() {
    let home = Home::new();
    home.put("CLAUDE.md", NOTES);
    let long = "Each Postgres table of the database has a `created_at` column in UTC. \
                The column is filled by the database itself and never by the application, which \
                must not send it at all. The check runs as `pnpm db:lint`. Nobody remembers why \
                the older tables did it another way.";
    home.prove(Some(&home.project()), long);
    home.route().success();
    let text = home.get("CLAUDE.md");
    let (n, line) = text.lines().enumerate().find(|(_, line)| line.contains("created_at")).unwrap();
    assert_eq!(line, format!("- {FACT}. The check runs as `pnpm db:lint`."));
    let why = home.run(&["why", &format!("{}/CLAUDE.md:{}", home.project().display(), n + 1)]);
    assert!(why.success().said().contains("Nobody remembers why"));
    home.route().success();
    assert_eq!(home.get("CLAUDE.md"), text);
}

/// A file that a link has come to stand for is shown; the rest of the tick is taken back.
#[cfg(unix)]
#[test]
fn an_undo_goes_on_beside_a_file_that_is_a_link_now() {
    let home = two_lines();
    let (file, aside) = (home.project().join("CLAUDE.md"), home.project().join("aside.md"));
    std::fs::rename(&file, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &file).unwrap();
    let linked = home.get("aside.md");
    let undo = home.run(&["undo"]);
    assert!(matches!(undo.code, 0 | 6), "{}{}", undo.out, undo.err);
    assert!(undo.said().contains("symbolic link"), "{}", undo.out);
    assert_eq!(home.get("aside.md"), linked);
    assert!(file.is_symlink());
    home.run(&["run"]);
    assert_eq!(home.get("aside.md"), linked, "no later run is held up or writes there");
}
