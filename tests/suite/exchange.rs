//! Documents on the command line, export and import.

use crate::support::Home;
use serde_json::{Value, json};

fn results(home: &Home, query: &str) -> Vec<Value> {
    home.json(&["search", query])["results"].as_array().unwrap().clone()
}

#[test]
fn a_file_is_stored_once_and_replaced_when_it_changes() {
    let home = Home::new();
    let file = home.path().join("home/notes.md");
    let path = file.display().to_string();
    std::fs::write(
        &file,
        format!("# Harbor\n\n{}\n\n## Berths\n\nforty metres", "word ".repeat(900)),
    )
    .unwrap();
    let first = home.json(&["add-file", &path]);
    assert_eq!(first[0]["outcome"], "added");
    assert!(first[0]["chunks"].as_u64().unwrap() > 2);
    assert_eq!(home.json(&["add-file", &path])[0]["outcome"], "unchanged");
    let copy = home.path().join("home/copy.md");
    std::fs::copy(&file, &copy).unwrap();
    let known = home.json(&["add-file", &copy.display().to_string()]);
    assert_eq!(known[0]["outcome"], "known");
    let hits = results(&home, "word");
    assert_eq!(hits.len(), 2, "at most two pieces of a document: {hits:?}");
    assert!(hits[0]["truncated"].as_bool().unwrap());

    std::fs::write(&file, "# Harbor\n\nfifty metres").unwrap();
    assert_eq!(home.json(&["add-file", &path])[0]["outcome"], "replaced");
    let stale = |hit: &Value| hit["text"].as_str().unwrap().contains("forty");
    assert!(!results(&home, "word forty metres").iter().any(stale));
    assert!(results(&home, "fifty")[0]["text"].as_str().unwrap().contains("fifty metres"));
    assert_eq!(home.json(&["documents"]).as_array().unwrap().len(), 1);

    let id = first[0]["id"].as_str().unwrap();
    home.run(&["documents", "delete", id]).success();
    assert!(results(&home, "fifty").is_empty());
    let counts = rusqlite::Connection::open(home.database()).unwrap();
    for table in ["chunk", "chunk_vector", "term"] {
        let left: i64 = counts
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn secrets_in_a_document_are_not_stored() {
    let home = Home::new();
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let added = home.json(&["add-text", &format!("The token is {key} for now")]);
    assert_eq!(added[0]["redacted"], 1);
    let shown = home.run(&["documents", "show", added[0]["id"].as_str().unwrap()]).success();
    assert!(!shown.out.contains(&key));
}

#[test]
fn an_export_comes_back_whole_and_only_once() {
    let home = Home::new();
    let project = home.project().display().to_string();
    for text in ["Ports start at 8000", "Tides come from the office", "日本語のメモ 👩‍👩‍👧"]
    {
        home.run(&["add", "--project", &project, text]).success();
    }
    home.run(&["add-text", "# Doc\n\nBerths are numbered", "--name", "doc", "--tag", "t"])
        .success();
    let file = home.path().join("out.jsonl").display().to_string();
    home.run(&["export", &file]).success();

    let other = Home::new();
    let done = other.json(&["import", &file]);
    assert_eq!((done["entries"].as_u64(), done["documents"].as_u64()), (Some(3), Some(1)));
    assert_eq!(other.texts(&[]), home.texts(&[]));
    let keys = ["id", "text", "project", "kind", "state", "created", "source", "recalls"];
    let (ours, theirs) = (home.json(&["list"]), other.json(&["list"]));
    for (x, y) in ours.as_array().unwrap().iter().zip(theirs.as_array().unwrap()) {
        for key in keys {
            assert_eq!(x[key], y[key], "{key}");
        }
    }
    assert_eq!(results(&other, "berths numbered").len(), 1);
    let again = other.json(&["import", &file]);
    assert_eq!((again["entries"].as_u64(), again["known"].as_u64()), (Some(0), Some(3)));
    assert_eq!(again["documents"], 0);
    assert_eq!(other.json(&["history"]).as_array().unwrap().len(), 1);
    other.run(&["undo"]).success();
    assert!(other.texts(&[]).is_empty());
}

#[test]
fn damaged_lines_are_named_and_another_format_is_refused() {
    let home = Home::new();
    let file = home.path().join("in.jsonl");
    std::fs::write(&file, "{\"type\":\"lifecycle\",\"version\":1}\n{broken\n{\"type\":\"x\"}\n")
        .unwrap();
    let done = home.json(&["import", &file.display().to_string()]);
    assert_eq!(done["skipped"].as_array().unwrap().len(), 2);
    std::fs::write(&file, "{\"text\":\"a note\"}\n").unwrap();
    home.run(&["import", &file.display().to_string()]).code(8);
    std::fs::write(&file, "{\"type\":\"lifecycle\",\"version\":9}\n").unwrap();
    home.run(&["import", &file.display().to_string()]).code(8);
}

#[test]
fn stores_of_other_systems_are_read_and_never_written() {
    let home = Home::new();
    let lifecycle = home.path().join("buffer.sqlite3");
    rusqlite::Connection::open(&lifecycle)
        .unwrap()
        .execute_batch(
            "CREATE TABLE buffer_entries (id INTEGER PRIMARY KEY, text TEXT, text_hash TEXT,
                 state TEXT, created_at TEXT, recall_count INTEGER, last_recalled_at TEXT,
                 project TEXT, entry_type TEXT);
             INSERT INTO buffer_entries VALUES
                 (1, 'Ports start at 8000', 'x', 'proven', '2026-01-02T03:04:05.678', 2, NULL,
                  'harbor', 'decision'),
                 (2, 'Old news', 'y', 'expired', '2026-01-01 00:00:00', 0, NULL, NULL, NULL),
                 (3, '  ', 'z', 'buffer', '2026-01-01', 0, NULL, NULL, NULL);",
        )
        .unwrap();
    let before = std::fs::read(&lifecycle).unwrap();
    let path = lifecycle.display().to_string();
    let done = home.json(&["import", "--from", "memory-lifecycle", &path]);
    assert_eq!(done["entries"], 2);
    assert_eq!(done["skipped"].as_array().unwrap().len(), 1);
    let listed = home.json(&["list"]);
    assert_eq!(listed[0]["kind"], "decision");
    assert_eq!(listed[0]["state"], "proven");
    assert_eq!(listed[0]["recalls"], 2);
    assert_eq!(listed[0]["created"], "2026-01-02T03:04:05Z");
    assert_eq!(std::fs::read(&lifecycle).unwrap(), before);

    let mem = home.path().join("claude-mem.db");
    rusqlite::Connection::open(&mem)
        .unwrap()
        .execute_batch(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT,
                 project TEXT, text TEXT, type TEXT, title TEXT, narrative TEXT,
                 created_at TEXT);
             CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT,
                 learned TEXT, completed TEXT, created_at TEXT);
             INSERT INTO observations VALUES (1, 's', 'harbor', NULL, 'bugfix', 'Tide fixed',
                 'The tide table was read in feet', '2026-02-03T00:00:00.000Z');
             INSERT INTO session_summaries VALUES (1, 'harbor', 'fix tides', 'feet not metres',
                 'done', '2026-02-03T01:00:00.000Z');",
        )
        .unwrap();
    let path = mem.display().to_string();
    assert_eq!(home.json(&["import", "--from", "claude-mem", &path])["entries"], 2);
    assert_eq!(home.json(&["import", "--from", "claude-mem", &path])["known"], 2);
    let found = results(&home, "tide table feet");
    assert_eq!(found[0]["kind"], "bugfix");
    home.run(&["import", "--from", "claude-mem", &lifecycle.display().to_string()]).code(8);
}

#[test]
fn folders_of_markdown_become_notes_or_documents() {
    let home = Home::new();
    let folder = home.path().join("home/memory");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(folder.join("MEMORY.md"), "- [ports](ports.md)\n").unwrap();
    std::fs::write(folder.join("ports.md"), "# Ports\n\n- They start at 8000\n- UDP is off\n")
        .unwrap();
    std::fs::write(folder.join(".git/x.md"), "hidden").unwrap();
    let path = folder.display().to_string();
    let done = home.json(&["import", "--from", "auto-memory", &path]);
    assert_eq!(done["entries"], 2);
    let other = Home::new();
    std::fs::create_dir_all(other.path().join("home/m")).unwrap();
    std::fs::copy(folder.join("ports.md"), other.path().join("home/m/ports.md")).unwrap();
    std::fs::write(other.path().join("home/m/a.secret.md"), "x").unwrap();
    let path = other.path().join("home/m").display().to_string();
    let done = other.json(&["import", "--from", "markdown", &path]);
    assert_eq!(done["documents"], 1);
    assert!(done["skipped"][0].as_str().unwrap().contains("deny pattern"));
}

#[test]
fn eval_retrieval_measures_the_users_own_questions() {
    let home = Home::new();
    let ids: Vec<String> = ["Ports start at 8000", "Tides come from the office"]
        .iter()
        .map(|text| {
            let added = home.json(&["add-text", text]);
            added[0]["id"].as_str().unwrap().to_string()
        })
        .collect();
    let file = home.path().join("golden.jsonl").display().to_string();
    home.run(&["eval", "add", &file, "which port comes first", &ids[0]]).success();
    home.run(&["eval", "add", &file, "where do tides come from", &ids[1]]).success();
    home.run(&["eval", "add", &file, "x", "ffffffffffffffff"]).code(8);
    let columns = home.json(&["eval", "retrieval", &file]);
    let hybrid = &columns.as_array().unwrap()[2];
    assert_eq!(hybrid["name"], "hybrid");
    assert_eq!(hybrid["recall_1"], 1.0);
    assert_eq!(hybrid["mrr"], 1.0);
}

/// On entries that a tick connected: the questions of a file that was also written by hand, and the
/// least score that loses none of them when it is set.
#[test]
fn the_least_score_that_eval_names_keeps_the_answers_when_it_is_set() {
    let home = Home::new();
    let notes = [
        ("Ports of the services start at 8000", "which port comes first"),
        ("The tide table comes from the harbour office", "where do tides come from"),
        ("Crane telemetry is kept in parquet files", "how is telemetry stored"),
        ("Invoices are rounded to whole cents before tax", "how are invoices rounded"),
        ("Pilots board at the outer buoy", "where do pilots board"),
    ];
    notes.iter().for_each(|(text, _)| drop(home.run(&["add", text]).success()));
    home.run(&["run", "--phase", "connect"]).success();
    let listed = home.json(&["list"]);
    let listed = listed.as_array().unwrap();
    let id = |text: &str| -> &str {
        listed.iter().find(|entry| entry["text"] == text).unwrap()["id"].as_str().unwrap()
    };
    let file = home.path().join("golden.jsonl");
    let by_hand = json!({"query": notes[0].1, "id": id(notes[0].0)}).to_string();
    std::fs::write(&file, by_hand).unwrap();
    let golden = file.display().to_string();
    for (text, question) in &notes[1..] {
        home.run(&["eval", "add", &golden, question, id(text)]).success();
    }
    home.run(&["eval", "add", &golden, " ", id(notes[0].0)]).code(8);
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), notes.len());
    let columns = home.json(&["eval", "retrieval", &golden, "--cases"]);
    for column in columns.as_array().unwrap() {
        let name = column["name"].as_str().unwrap();
        assert_eq!(column["cases"].as_array().unwrap().len(), notes.len(), "{name}");
    }
    let hybrid = &columns[2];
    // Words alone find nothing but the answer of some questions; both together find noise.
    assert!(hybrid["kept"].is_number() && hybrid["noise_removed"].is_number(), "{hybrid}");
    assert_eq!((&hybrid["name"], &hybrid["recall_5"]), (&"hybrid".into(), &1.0.into()));
    let least = format!("search.least_score={}", hybrid["least_score"]);
    // The questions on which it was chosen: every other one.
    for (text, question) in notes.iter().step_by(2) {
        let found = home.json(&["--set", &least, "search", question, "--explain"]);
        let hit = found["results"].as_array().unwrap().iter().find(|hit| hit["text"] == *text);
        let explanation = &hit.expect("the answer is kept")["explanation"];
        let share = |part: &str| explanation[part]["share"].as_f64().unwrap_or(0.0);
        let score = explanation["score"].as_f64().unwrap();
        assert!((share("lexical") + share("dense") - score).abs() < 1e-6, "{explanation}");
    }
    let text = home.run(&["eval", "retrieval", &golden, "--cases"]).success();
    assert!(notes.iter().all(|(_, question)| text.out.contains(question)), "{}", text.out);
}

#[test]
fn a_reader_that_leaves_is_no_failure_of_an_export() {
    let mut home = Home::new();
    home.set("LIFECYCLE_MODELS", "/nonexistent");
    // More than a pipe holds.
    for n in 0..3 {
        home.run(&["add-text", &format!("{n} {}", "word ".repeat(15_000))]).success();
    }
    let mut child = home
        .command(&["export"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(outcome.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
}

/// The names of the files in a folder.
fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_store_in_use_is_read_with_its_log_and_nothing_is_left_beside_it() {
    let home = Home::new();
    let folder = home.path().join("other system #1");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("claude-mem.db");
    // In use: the rows are in the log alone, and its owner keeps it open.
    let owner = rusqlite::Connection::open(&file).unwrap();
    owner
        .execute_batch(
            // The tables as version 13 of claude-mem makes them.
            "PRAGMA journal_mode = wal;
             CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT,
                 memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
                 type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
                 concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,
                 discovery_tokens INTEGER DEFAULT 0, created_at TEXT NOT NULL,
                 created_at_epoch INTEGER NOT NULL);
             INSERT INTO observations (memory_session_id, project, type, title, facts, narrative,
                     files_modified, created_at, created_at_epoch)
                 VALUES ('s-1', 'harbor', 'decision', 'Keep SQLite',
                     '[\"The store has 40 MB\", \"Keep SQLite\"]', 'Postgres was not worth the move.',
                     '[\"src/store.rs\"]', '2026-02-03T00:00:00.000Z', 0);",
        )
        .unwrap();
    let before = names(&folder);
    let path = file.display().to_string();
    let done = home.json(&["import", "--from", "claude-mem", &path]);
    assert_eq!(done["entries"], 1);
    assert_eq!(names(&folder), before);
    let listed = home.json(&["list"]);
    assert_eq!(listed[0]["kind"], "decision");
    assert_eq!(
        listed[0]["text"],
        "Keep SQLite. Postgres was not worth the move. The store has 40 MB"
    );
    assert_eq!(listed[0]["source"]["files"], serde_json::json!(["src/store.rs"]));
    assert_eq!(listed[0]["source"]["conversation"], "s-1");
    assert_eq!(home.json(&["import", "--from", "claude-mem", &path])["known"], 1);
    drop(owner);
    // Not in use, and in a folder that must not be written to.
    let before = names(&folder);
    let mut still = std::fs::metadata(&folder).unwrap().permissions();
    still.set_readonly(true);
    std::fs::set_permissions(&folder, still.clone()).unwrap();
    assert_eq!(home.json(&["import", "--from", "claude-mem", &path])["known"], 1);
    assert_eq!(names(&folder), before);
}

#[test]
fn every_source_can_be_imported_again_without_effect() {
    let home = Home::new();
    let memory = home.path().join("home/.claude/projects/-code-harbor/memory");
    std::fs::create_dir_all(&memory).unwrap();
    std::fs::write(
        memory.join("MEMORY.md"),
        "# Memory\n\n- The API listens on port 8080\n- Use `pnpm`, not npm\n",
    )
    .unwrap();
    let notes = home.path().join("home/notes");
    std::fs::create_dir_all(notes.join("deep")).unwrap();
    std::fs::write(notes.join("a.md"), "# A\n\nTides").unwrap();
    std::fs::write(notes.join("deep/b.txt"), "Pilots").unwrap();
    std::fs::write(notes.join("c.bin"), [0u8, 159, 146, 150]).unwrap();
    let project = home.project().display().to_string();
    let (memory, notes) = (memory.display().to_string(), notes.display().to_string());
    let once = |args: &[&str]| home.json(args);
    let auto = ["import", "--from", "auto-memory", &memory, "--project", &project];
    assert_eq!(once(&auto)["entries"], 2);
    let again = once(&auto);
    assert_eq!((&again["entries"], &again["known"]), (&0.into(), &2.into()));
    assert_eq!(home.json(&["list", "--project", &project]).as_array().unwrap().len(), 2);
    let folder = ["import", "--from", "markdown", &notes];
    assert_eq!(once(&folder)["documents"], 2);
    assert_eq!(once(&folder)["documents"], 0);
    assert_eq!(home.json(&["documents"]).as_array().unwrap().len(), 2);
}
