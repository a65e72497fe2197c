//! Files that Claude Code was told not to load: `claudeMdExcludes` in its settings files, globs over
//! absolute paths. A line in such a file would be read by nobody.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The settings of an administrator, per platform.
const MANAGED: &[&str] = &[
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "C:\\Program Files\\ClaudeCode\\managed-settings.json",
];

/// The name of the list.
pub const CLAUDE_MD_EXCLUDES: &str = "claudeMdExcludes";

/// The excludes that hold for a project, or for the user's own files. `folder` is where Claude Code
/// keeps the user's settings.
pub fn excludes(folder: &Path, root: Option<&Path>) -> GlobSet {
    let managed = MANAGED.iter().map(PathBuf::from);
    let project = root.into_iter().flat_map(|root| {
        ["settings.json", "settings.local.json"].map(|name| root.join(".claude").join(name))
    });
    let files = managed.chain([folder.join("settings.json")]).chain(project);
    let mut set = GlobSetBuilder::new();
    for glob in files.flat_map(|file| patterns(&file)).filter_map(|glob| Glob::new(&glob).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

/// The patterns of one settings file; none where it is missing or no such settings.
fn patterns(file: &Path) -> Vec<String> {
    let text = super::door::read(file).ok().flatten().unwrap_or_default();
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let list = value[CLAUDE_MD_EXCLUDES].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}
