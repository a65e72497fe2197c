//! Routing: proven entries into files, and out again.

use crate::support::Home;
use lifecycle::config::Layers;
use lifecycle::store::{self, Store};
use lifecycle_phases::{Actor, Channel, Entry, EntryId, Kind, Source, State, Step};
use std::path::Path;
use std::time::Duration;

/// Puts a proven entry into the store of `home` and returns its id.
pub fn proven(home: &Home, project: Option<&Path>, text: &str) -> EntryId {
    let settings = Layers::defaults().settings().unwrap();
    std::fs::create_dir_all(home.store()).unwrap();
    let _ = settings;
    let mut store = Store::open_file(&home.database(), Duration::from_secs(5)).unwrap();
    let source = Source::new(Channel::Tick, Actor::User);
    let project = project.map(|path| path.canonicalize().unwrap().display().to_string());
    let mut entry = Entry::new(text, Kind::Insight, project, 1_700_000_000_000, source);
    entry.state = State::Proven;
    let id = entry.id.clone();
    let step = Step::Admit { entry: Box::new(entry) };
    store.write(|tx| store::apply(tx, &step, 1_700_000_000_000, "test")).unwrap();
    id
}

/// Runs the route phase.
pub fn route(home: &Home) -> crate::support::Outcome {
    home.run(&["run", "--phase", "route"])
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

pub fn project_with(home: &Home, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = home.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

const NOTES: &str = "# harbor-api\n\n## Commands\n\n- Run the tests with `pnpm test`\n\n## Database\n\n- Migrations live in `db/migrations`\n- Postgres 16\n";

#[test]
fn a_fact_goes_to_its_section_once_and_back() {
    let home = Home::new();
    project_with(&home, &[("CLAUDE.md", NOTES)]);
    let id = proven(
        &home,
        Some(&home.project()),
        "Each Postgres table of the database has a `created_at` column in UTC",
    );
    let dry = home.run(&["run", "--phase", "route", "--dry-run"]).success();
    assert!(dry.out.contains("+- Each Postgres table"), "{}", dry.out);
    let file = home.project().join("CLAUDE.md");
    assert_eq!(read(&file), NOTES);
    route(&home).success();
    let after = read(&file);
    assert_eq!(
        after,
        format!(
            "{NOTES}\n<!-- lifecycle:begin -->\n- Each Postgres table of the database has a `created_at` column in UTC\n<!-- lifecycle:end -->\n"
        )
    );
    let modified = file.metadata().unwrap().modified().unwrap();
    route(&home).success();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), modified);
    let shown = home.json(&["show", id.as_str()]);
    assert_eq!(shown["state"], "routed");
    home.run(&["undo"]).success();
    assert_eq!(read(&file), NOTES);
    assert_eq!(home.json(&["show", id.as_str()])["state"], "proven");
    home.run(&["undo", "2"]).success();
    assert_eq!(read(&file), after);
    assert_eq!(home.json(&["show", id.as_str()])["state"], "routed");
}
