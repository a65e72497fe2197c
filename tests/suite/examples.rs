//! The example projects of the README: each planted cluster becomes one proven entry, in the right
//! file.

use crate::support::Home;
use std::path::Path;

/// Words of each planted cluster and the file that must take it.
const PLANTED: &[(&str, &str)] = &[
    ("docker compose up -d pg", "harbor-api/CLAUDE.md"),
    ("quarantine_rows", "harbor-api/CLAUDE.md"),
    ("busy_timeout=5000", "harbor-api/CLAUDE.md"),
    ("npm run seed", "tide-web/AGENTS.md"),
    ("src/map/tiles.ts", "tide-web/AGENTS.md"),
];

#[test]
fn each_planted_cluster_is_one_line_in_the_right_file() {
    let home = Home::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for project in ["harbor-api", "tide-web"] {
        let folder = home.path().join(project);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        for name in ["CLAUDE.md", "AGENTS.md"] {
            let from = examples.join(project).join(name);
            if from.exists() {
                std::fs::copy(from, folder.join(name)).unwrap();
            }
        }
        let notes = examples.join(project).join("notes.jsonl").display().to_string();
        let project = folder.display().to_string();
        home.run(&["add", "--project", &project, "--file", &notes]).success();
    }
    let report = home.json(&["run"]);
    assert_eq!(report["counts"]["merge"], PLANTED.len());
    for (words, file) in PLANTED {
        let text = std::fs::read_to_string(home.path().join(file)).unwrap();
        let lines = text.lines().filter(|line| line.contains(words)).count();
        assert_eq!(lines, 1, "{words} in {file}:\n{text}");
    }
    assert!(!home.path().join("tide-web/CLAUDE.md").exists());
}
