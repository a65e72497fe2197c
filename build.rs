//! What `lifecycle --version` tells about the build: commit, profile, platform, compiler.
//!
//! Asks git and the compiler, never the network. Without git, or where the source lies inside
//! another repository (an unpacked archive), the commit is what `LIFECYCLE_COMMIT` says, else
//! "unknown". Only a release build looks: while developing, each commit would compile everything
//! anew for a line that nobody reads.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIFECYCLE_COMMIT");
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let given = std::env::var("LIFECYCLE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let found = || if profile == "release" { commit() } else { None };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    say("COMMIT", given.or_else(found));
    say("PROFILE", Some(profile.clone()));
    say("TARGET", std::env::var("TARGET").ok());
    say("RUSTC", output(Command::new(rustc).arg("--version")).map(|text| short(&text)));
}

fn say(name: &str, value: Option<String>) {
    println!("cargo:rustc-env=LIFECYCLE_{name}={}", value.unwrap_or_else(|| "unknown".into()));
}

/// `rustc 1.95.0` of the compiler's own line.
fn short(line: &str) -> String {
    line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Short hash and date of the commit that is checked out, and whether files differ from it.
fn commit() -> Option<String> {
    let root = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    let git = |words: &[&str]| output(Command::new("git").args(words).current_dir(&root));
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(&root).canonicalize().ok()? {
        return None;
    }
    // Both change with each commit: the first says which branch, the second is written by any move.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        println!("cargo:rerun-if-changed={}", Path::new(&root).join(path).display());
    }
    let name = git(&["log", "-1", "--format=%h (%cs)", "--abbrev=12"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if dirty.is_empty() { name } else { format!("{name}, with changes") })
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
