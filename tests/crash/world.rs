//! A store with work for every phase, put back as it was before each attempt, and what can be seen
//! of it afterwards.

use crate::support::Home;
use crate::support::standin::{Reply, Request, Standin, Vectors};
use lifecycle::capture::inbox::{self, Note, Record};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle_phases::Kind;
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PAGE: &str = "# harbour\n\nBackend.\n\n## Cranes\n\n- Cranes are inspected in May.\n\n## Berths\n\n- Berths are numbered from the east.\n";

const BERTH: [&str; 3] = [
    "Berth buffer is 25 m",
    "Berth buffer of 25 m applies to tankers too",
    "Berth buffer shrinks to 15 m in winter",
];
const CRANE: [&str; 3] =
    ["Crane 4 lifts 40 t", "Crane 4 with its 40 t is for steel", "Crane 4 rests at wind force 9"];

/// Notes that nothing connects to: chatter, knowledge, and what only a model can tell.
const LONERS: [&str; 3] = [
    "ok, done for now",
    "`init_pool` must run before fork, otherwise workers share a socket",
    "Observation about the lamp in the hall",
];

/// Which command is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Run,
    Apply,
    Undo,
}

impl Act {
    pub const ALL: [Self; 3] = [Self::Run, Self::Apply, Self::Undo];

    fn args(self, tick: i64) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Run => &["run"],
            Self::Apply => &["apply", "plan.json"],
            Self::Undo => &["undo", &tick.to_string()],
        };
        words.iter().map(ToString::to_string).collect()
    }
}

/// Contents and modes of a folder.
type Saved = BTreeMap<PathBuf, Option<(Vec<u8>, u32)>>;

pub struct World {
    pub home: Home,
    _server: Standin,
    act: Act,
    args: Vec<String>,
    saved: Saved,
}

/// Everything a user could see that must not depend on what happened on the way.
#[derive(Debug, PartialEq)]
pub struct Seen {
    tables: BTreeMap<&'static str, Vec<String>>,
    files: BTreeMap<PathBuf, String>,
    waiting: usize,
}

impl World {
    /// The store as it is before `act`.
    pub fn new(act: Act) -> Self {
        let mut home = Home::new();
        home.set("LIFECYCLE_NOW", "2026-06-10T00:00:00Z");
        let server = standin();
        settings(&home, &server.url());
        std::fs::write(home.project().join("CLAUDE.md"), PAGE).unwrap();
        first_tick(&home);
        something_new(&home);
        let mut world = Self { home, _server: server, act, args: Vec::new(), saved: Saved::new() };
        match act {
            Act::Run => {}
            Act::Apply => {
                let outcome = world.home.run(&["run", "--dry-run", "--plan", "plan.json"]);
                assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
            }
            Act::Undo => _ = world.home.run(&["run"]).success(),
        }
        let newest = newest_tick(&world.home);
        world.args = act.args(newest);
        world.saved = save(&world.home.path());
        world
    }

    /// Puts everything back.
    pub fn reset(&self) {
        restore(&self.home.path(), &self.saved);
    }

    /// The command, to be disturbed.
    pub fn command(&self) -> Command {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.home.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command undisturbed, as often as it takes to have nothing left.
    pub fn finish(&self, what: &str) {
        let mut said = String::new();
        for _ in 0..3 {
            let outcome = crate::support::Outcome::from(self.command().output().unwrap());
            said = format!("{}{}", outcome.out, outcome.err);
            match (self.act, outcome.code) {
                (_, 0) => return,
                // The undo had been done before the fault.
                (Act::Undo, 7) if outcome.err.contains("undone already") => return,
                (_, 6) => {}
                (_, code) => panic!("{what}: ended with {code}: {said}"),
            }
        }
        panic!("{what}: still incomplete after three runs: {said}");
    }

    /// What can be seen, after checks that hold whatever happened.
    pub fn seen(&self, what: &str) -> Seen {
        let connection = Connection::open(self.home.database()).unwrap();
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let check: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{what}");
        assert_eq!(one("SELECT count(*) FROM pragma_foreign_key_check"), 0, "{what}");
        assert_eq!(one("SELECT count(*) FROM tick WHERE status = 'running'"), 0, "{what}");
        assert_eq!(one("SELECT count(*) FROM step WHERE status = 'intent'"), 0, "{what}");
        assert_eq!(one("SELECT count(*) FROM file_write WHERE status = 'intent'"), 0, "{what}");
        let account = store::balance(&connection, None).unwrap();
        assert_eq!(account.open, 0, "{what}: {account:?}");
        let closed = account.answered
            + account.refused
            + account.timed_out
            + account.aborted
            + account.unknown;
        assert_eq!(account.sent, closed, "{what}: {account:?}");
        let left: Vec<PathBuf> = save(&self.home.path())
            .into_keys()
            .filter(|path| path.extension().is_some_and(|end| end == "tmp"))
            .collect();
        assert!(left.is_empty(), "{what}: {left:?}");
        Seen {
            tables: tables(&connection),
            files: files(&self.home.project()),
            waiting: files(&self.home.store().join("inbox")).len(),
        }
    }

    /// Fails with what differs from an undisturbed run.
    pub fn same(&self, wanted: &Seen, what: &str) {
        let seen = self.seen(what);
        for (name, rows) in &wanted.tables {
            let now = &seen.tables[name];
            let lost: Vec<_> = rows.iter().filter(|row| !now.contains(row)).collect();
            let new: Vec<_> = now.iter().filter(|row| !rows.contains(row)).collect();
            assert!(
                lost.is_empty() && new.is_empty(),
                "{what}: {name}: lost {lost:#?} new {new:#?}"
            );
        }
        assert_eq!(&seen, wanted, "{what}");
    }

    /// Resets, runs undisturbed, and looks: what every disturbed run has to come to.
    pub fn calm(&self) -> Seen {
        self.reset();
        let outcome = crate::support::Outcome::from(self.command().output().unwrap()).success();
        assert!(!outcome.out.contains("REFUSED"), "{}", outcome.out);
        self.seen("undisturbed")
    }
}

fn newest_tick(home: &Home) -> i64 {
    let connection = Connection::open(home.database()).unwrap();
    connection.query_row("SELECT max(id) FROM tick", [], |row| row.get(0)).unwrap()
}

fn standin() -> Standin {
    let server = Standin::start();
    let mut vectors = Vectors::default();
    for (axis, notes) in [BERTH, CRANE].iter().enumerate() {
        for (note, lean) in notes.iter().zip([0.1, 0.2, 0.15]) {
            vectors = vectors.rule(note, axis, lean);
        }
    }
    vectors = vectors.rule("berth buffer", 0, 0.1).rule("Berth", 0, 0.9).rule("rane", 1, 0.9);
    server.vectors(vectors);
    server.replies([Reply::with(|request: &Request| {
        let prompt = request.prompt();
        let merged = |title: &str, text: &str| {
            json!({"entries": [{"kind": "insight", "sources": ["n1", "n2", "n3"],
                "title": title, "text": text}]})
        };
        Reply::text(
            if prompt.contains("Berth buffer") {
                merged(
                    "Berth buffer",
                    "The berth buffer is 25 m, tankers included; 15 m in winter.",
                )
            } else if prompt.contains("Crane 4") {
                merged("Crane 4", "Crane 4 lifts 40 t, for steel; it rests at wind force 9.")
            } else {
                json!({"knowledge": false})
            }
            .to_string(),
        )
    })]);
    server
}

fn settings(home: &Home, url: &str) {
    let folder = home.path().join("home/.config/lifecycle");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "[embed]\nurl = \"{url}\"\nurl_model = \"standin\"\n[age]\nnewer_entries = 3\n\
         [consolidate]\nmodel = \"m\"\nretry_minutes = 0\n[consolidate.call]\nretries = 0\n\
         backoff_seconds = 0.0\ntimeout_seconds = 5.0\n[consolidate.providers.m]\n\
         kind = \"openai-compatible\"\nurl = \"{url}\"\nmodel = \"standin\"\n"
    );
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn add(home: &Home, time: &str, text: &str) {
    let project = home.project().display().to_string();
    home.run(&["--now", time, "add", "--project", &project, text]).success();
}

/// A tick of yesterday: one cluster is proven and stands in the file, one line is to leave it.
fn first_tick(home: &Home) {
    for (n, note) in (1..).zip(CRANE) {
        add(home, &format!("2026-06-01T0{n}:00:00Z"), note);
    }
    let gone = home.prove(Some(&home.project()), "The old weighbridge stands at quay 9");
    home.run(&["--now", "2026-06-02T00:00:00Z", "run"]).success();
    home.run(&["--now", "2026-06-03T00:00:00Z", "forget", gone.as_str()]).success();
}

/// What arrived since: loners, a cluster, a conversation, a note that had found the store busy.
fn something_new(home: &Home) {
    for (n, note) in (1..).zip(LONERS.into_iter().chain(BERTH)) {
        add(home, &format!("2026-06-04T0{n}:00:00Z"), note);
    }
    let said = home.path().join("said.jsonl");
    std::fs::write(&said, crate::capture::says(home, 1, "Remember: tugs are booked a day ahead"))
        .unwrap();
    crate::capture::hook(home, &crate::capture::end_of(&said, &home.project()));
    let data = home.store();
    let paths = Paths { config_file: data.join("c"), home: home.path().join("home"), data };
    let note = Note {
        text: "Pilots board at the outer buoy of the port".into(),
        project: Some(home.project().display().to_string()),
        about: Kind::Insight,
        created: 1_780_000_000_000,
        path: None,
    };
    inbox::put(&paths, &Record::Note(note), 1_780_000_000_000).unwrap();
    // Everything so far lies in the database file itself.
    drop(Store::open_file(&home.database(), Duration::from_secs(5)).unwrap());
}

fn tables(connection: &Connection) -> BTreeMap<&'static str, Vec<String>> {
    let queries = [
        (
            "entries",
            "SELECT id || '|' || text || '|' || state || '|' || kind || '|' || recalls || '|' ||
                 reprieves || '|' || protected || '|' || coalesce(connected, '-') FROM entry",
        ),
        (
            "vectors",
            "SELECT e.id || '|' || v.descriptor || '|' || hex(v.data) FROM vector v
             JOIN entry e ON e.seq = v.entry",
        ),
        (
            "links",
            "SELECT min(a.id, b.id) || '|' || max(a.id, b.id) || '|' || round(similarity, 4) || '|'
                 || active FROM link JOIN entry a ON a.seq = link.a JOIN entry b ON b.seq = link.b",
        ),
        (
            "provenance",
            "SELECT p.id || '|' || s.id || '|' || from_state || '|' || active FROM provenance v
             JOIN entry p ON p.seq = v.proven JOIN entry s ON s.seq = v.source",
        ),
        ("routes", "SELECT entry_id || '|' || path || '|' || line || '|' || status FROM route"),
        ("clusters", "SELECT key || '|' || outcome FROM cluster"),
        ("failures", "SELECT entry || '|' || reason FROM embed_failure"),
        ("words", "SELECT term || '|' || doc FROM term_row"),
    ];
    queries
        .into_iter()
        .map(|(name, sql)| {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            let mut rows: Vec<String> = rows.map(Result::unwrap).collect();
            rows.sort();
            (name, rows)
        })
        .collect()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let saved = save(folder);
    let files = saved.into_iter().filter_map(|(path, content)| Some((path, content?.0)));
    files.map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned())).collect()
}

fn save(folder: &Path) -> Saved {
    walkdir::WalkDir::new(folder)
        .min_depth(1)
        .into_iter()
        .filter_map(Result::ok)
        .map(|entry| {
            let content = entry.file_type().is_file().then(|| {
                let mode = entry.metadata().unwrap().permissions().mode();
                (std::fs::read(entry.path()).unwrap(), mode)
            });
            (entry.path().strip_prefix(folder).unwrap().to_path_buf(), content)
        })
        .collect()
}

fn restore(folder: &Path, saved: &Saved) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    for (path, content) in saved {
        let path = folder.join(path);
        match content {
            None => std::fs::create_dir(&path).unwrap(),
            Some((bytes, mode)) => {
                std::fs::write(&path, bytes).unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}
