//! The table of requirements in docs/models.md: all of them, each with a test that exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Requirements of each part.
const PARTS: [(char, usize); 8] =
    [('A', 17), ('B', 15), ('C', 15), ('D', 9), ('E', 15), ('F', 8), ('G', 8), ('H', 6)];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// Names of the functions that carry `#[test]`, also inside `proptest!`.
fn tests() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    for folder in ["src", "phases/src", "tests/suite"] {
        for file in rust_files(&root.join(folder)) {
            let text = std::fs::read_to_string(file).unwrap();
            let mut marked = false;
            for line in text.lines().map(str::trim) {
                if line == "#[test]" {
                    marked = true;
                } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| marked) {
                    names.insert(rest.split('(').next().unwrap().to_string());
                    marked = false;
                }
            }
        }
    }
    names
}

/// Rows of the table: id, and the tests named in its last column.
fn rows() -> BTreeMap<String, Vec<String>> {
    let docs = include_str!("../../docs/models.md");
    let table = docs.split("## The requirements, one by one").nth(1).expect("the table is there");
    let mut rows = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let id = cells[0].to_string();
        if !id.starts_with(|ch: char| ch.is_ascii_uppercase()) || id.len() > 3 {
            continue;
        }
        assert_eq!(cells.len(), 4, "{line}");
        let named = cells[3].split('`').skip(1).step_by(2).map(str::to_string).collect();
        assert!(rows.insert(id.clone(), named).is_none(), "{id} stands there twice");
    }
    rows
}

#[test]
fn every_requirement_names_a_test_that_exists() {
    let (rows, tests) = (rows(), tests());
    let wanted: BTreeSet<String> = PARTS
        .iter()
        .flat_map(|(part, count)| (1..=*count).map(move |n| format!("{part}{n}")))
        .collect();
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    for (id, named) in &rows {
        assert!(!named.is_empty(), "{id} names no test");
        for name in named {
            assert!(tests.contains(name), "{id} names `{name}`, which is no test");
        }
        let prefix = id.to_lowercase();
        let own = named.iter().any(|name| name.split('_').any(|part| part == prefix));
        assert!(own, "{id}: none of {named:?} carries its name");
    }
}

#[test]
fn a_test_that_carries_the_name_of_a_requirement_stands_in_the_table() {
    let id = regex::Regex::new(r"^[a-h]\d{1,2}$").unwrap();
    let rows = rows();
    for name in tests() {
        for part in name.split('_').take_while(|part| id.is_match(part)) {
            let key = part.to_uppercase();
            if let Some(named) = rows.get(&key) {
                assert!(named.contains(&name), "{key} does not name {name}");
            }
        }
    }
}
