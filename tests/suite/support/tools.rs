//! Programs of the machine that a test wants. A test that finds none says so and passes, so that
//! the suite runs on any machine; `.ci/run` installs them where it can and lists what is missing.

use std::path::PathBuf;

/// The first of these programs that is on the search path. `None` is said, with what goes untested.
pub fn tool(names: &[&str], for_what: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        println!("skipped: {for_what} needs {}, which this machine lacks", names.join(" or "));
    }
    found
}
