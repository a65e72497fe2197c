//! Which files may be read: inside an allowed root, of an allowed kind, and not denied. The check is
//! made on the resolved path, so a symbolic link leads nowhere else.

use crate::config::DocumentSettings;
use crate::error::{Error, Result};
use crate::regular;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files that are never read, whatever the settings say; the settings can only add to them.
const DENY: &[&str] = &[
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/.netrc",
    "**/_netrc",
    "**/.pgpass",
    "**/.npmrc",
    "**/.pypirc",
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/.aws/**",
    "**/.azure/**",
    "**/.kube/**",
    "**/.config/gcloud/**",
    "**/.docker/**",
    "**/.git/**",
    "**/id_rsa*",
    "**/id_dsa*",
    "**/id_ecdsa*",
    "**/id_ed25519*",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.kdbx",
    "**/*.keychain*",
    "**/*credential*",
    "**/*secret*",
    "**/*password*",
    "**/*.sqlite3",
    "/etc/**",
    "/proc/**",
    "/sys/**",
    "/dev/**",
];

/// Reads the file at `path` if every rule lets it. Returns the resolved path and the text.
pub fn read(path: &Path, home: &Path, settings: &DocumentSettings) -> Result<(PathBuf, String)> {
    let unusable = |error: std::io::Error| Error::unreadable(path, &error);
    let resolved = path.canonicalize().map_err(unusable)?;
    check(&resolved, home, settings)?;
    let file = regular::open(&resolved).map_err(unusable)?;
    // Between the check and the opening the path may have been pointed elsewhere.
    let again = path.canonicalize().map_err(unusable)?;
    if again != resolved || !is_same(&file, &resolved) || is_led(&file, &resolved) {
        return Err(refused(&resolved, "it changed while it was opened"));
    }
    let bytes = regular::bounded(file, settings.max_bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => {
            Error::input(format!("{} is larger than documents.max_bytes", resolved.display()))
        }
        _ => unusable(error),
    })?;
    let text = regular::into_text(bytes).map_err(unusable)?;
    Ok((resolved, text))
}

/// The rule that forbids reading the resolved path, as an error.
pub fn check(resolved: &Path, home: &Path, settings: &DocumentSettings) -> Result<()> {
    let roots = settings.allowed_roots.iter().map(|root| expand(root, home));
    if !roots.into_iter().any(|root| resolved.starts_with(&root)) {
        let hint = "add its folder to documents.allowed_roots";
        return Err(refused(resolved, "it is outside documents.allowed_roots").hint(hint));
    }
    let extension = resolved.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !settings.extensions.iter().any(|allowed| allowed.to_lowercase() == extension) {
        let hint = format!("documents.extensions are: {}", settings.extensions.join(", "));
        let why = format!("`{extension}` is not in documents.extensions");
        return Err(refused(resolved, &why).hint(hint));
    }
    match denied_by(resolved, settings)? {
        Some(pattern) => Err(refused(resolved, &format!("the deny pattern `{pattern}` covers it"))),
        None => Ok(()),
    }
}

fn denied_by(resolved: &Path, settings: &DocumentSettings) -> Result<Option<String>> {
    let patterns: Vec<&str> =
        DENY.iter().copied().chain(settings.deny.iter().map(String::as_str)).collect();
    let hits = globs(&patterns)?.matches(resolved);
    Ok(hits.first().map(|at| patterns[*at].to_string()))
}

/// What is wrong with the patterns of `documents.deny`, before any file is looked at.
///
/// # Errors
/// One of them is no pattern.
pub fn check_patterns(settings: &DocumentSettings) -> Result<()> {
    settings.deny.iter().try_for_each(|pattern| globs(&[pattern]).map(drop))
}

fn globs(patterns: &[&str]) -> Result<GlobSet> {
    let wrong = |error: globset::Error| Error::config(format!("documents.deny: {error}"));
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).case_insensitive(true).build().map_err(wrong)?);
    }
    set.build().map_err(wrong)
}

fn expand(root: &str, home: &Path) -> PathBuf {
    let path = match root.strip_prefix('~') {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(root),
    };
    path.canonicalize().unwrap_or(path)
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Whether the opened file is another than the one at the resolved path: a link came to stand in
/// the path for the moment of opening.
#[cfg(target_os = "linux")]
fn is_led(file: &File, resolved: &Path) -> bool {
    use std::os::fd::AsRawFd;
    let held = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    held.is_ok_and(|held| held != resolved)
}

#[cfg(not(target_os = "linux"))]
fn is_led(_file: &File, _resolved: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_same(_file: &File, path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn refused(path: &Path, why: &str) -> Error {
    Error::refused(format!("{} is not read: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Layers;

    fn settings(root: &Path) -> DocumentSettings {
        let mut settings = Layers::defaults().settings().unwrap().documents;
        settings.allowed_roots = vec![root.display().to_string()];
        settings
    }

    fn message(path: &Path, settings: &DocumentSettings) -> String {
        read(path, Path::new("/nowhere"), settings).unwrap_err().message
    }

    #[test]
    fn each_rule_bites_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join(".ssh")).unwrap();
        let write = |name: &str| {
            let path = root.join(name);
            std::fs::write(&path, "text").unwrap();
            path
        };
        let mut settings = settings(&root);
        assert_eq!(read(&write("a.md"), Path::new("/"), &settings).unwrap().1, "text");
        assert!(message(&write("a.bin"), &settings).contains("documents.extensions"));
        assert!(message(&write(".ssh/notes.md"), &settings).contains("**/.ssh/**"));
        assert!(message(&write("SECRETS.md"), &settings).contains("*secret*"));
        let outside = folder.path().join("b.md");
        std::fs::write(&outside, "text").unwrap();
        assert!(message(&outside, &settings).contains("allowed_roots"));
        settings.deny = vec!["**/a.md".into()];
        assert!(message(&root.join("a.md"), &settings).contains("**/a.md"));
        assert!(message(&root.join(".ssh/notes.md"), &settings).contains("**/.ssh/**"));
        settings.max_bytes = 2;
        assert!(message(&write("c.md"), &settings).contains("max_bytes"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_root_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("out.md"), "text").unwrap();
        std::os::unix::fs::symlink("../out.md", root.join("in.md")).unwrap();
        assert!(message(&root.join("in.md"), &settings(&root)).contains("allowed_roots"));
        assert!(message(&root.join("../out.md"), &settings(&root)).contains("allowed_roots"));
    }
}
