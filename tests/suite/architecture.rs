//! The direction of the arrows, checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the pure crate may use: data structures, text, serialisation; nothing that reaches outside.
const PURE: &[&str] = &[
    "blake3",
    "petgraph",
    "regex",
    "serde",
    "serde_json",
    "thiserror",
    "unicode-normalization",
    "unicode-segmentation",
];

/// Adapters: each talks to one part of the world and knows no other adapter.
const ADAPTERS: &[&str] = &["store", "capture", "embed", "index", "model", "targets"];

#[test]
fn the_phases_reach_nothing_outside() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "lifecycle-phases")
        .unwrap();
    let used: BTreeSet<&str> = phases["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect();
    let allowed: BTreeSet<&str> = PURE.iter().copied().collect();
    let other: Vec<_> = used.difference(&allowed).collect();
    assert!(other.is_empty(), "phases gained {other:?}");
}

#[test]
fn adapters_never_import_each_other() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for adapter in ADAPTERS {
        for file in rust_files(&source.join(adapter)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for other in ADAPTERS.iter().filter(|other| other != &adapter) {
                if text.contains(&format!("crate::{other}::")) {
                    wrong.push(format!("{} imports {other}", file.display()));
                }
            }
            for above in ["tick", "cli"] {
                if text.contains(&format!("crate::{above}::")) {
                    wrong.push(format!("{} imports {above}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_imports_the_command_line() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let cli = source.join("cli");
    let wrong: Vec<_> = rust_files(&source)
        .into_iter()
        .filter(|file| !file.starts_with(&cli) && !file.ends_with("src/main.rs"))
        .filter(|file| std::fs::read_to_string(file).unwrap().contains("crate::cli::"))
        .collect();
    assert!(wrong.is_empty(), "these import cli: {wrong:#?}");
}

#[test]
fn no_source_file_is_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = rust_files(&root.join("src"));
    files.extend(rust_files(&root.join("phases/src")));
    let long: Vec<_> = files
        .iter()
        .filter(|file| std::fs::read_to_string(file).unwrap().lines().count() > 500)
        .collect();
    assert!(long.is_empty(), "longer than 500 lines: {long:#?}");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
