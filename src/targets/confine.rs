//! Where the engine may write: under the roots it was given, after resolving symbolic links, and
//! never to what the deny list names. Settings can add to the deny list, not take away from it.

use globset::{Glob, GlobBuilder, GlobMatcher};
use std::path::{Component, Path, PathBuf};

/// Names of files and folders that are never touched, wherever they lie below a root.
const NEVER: &[&str] = &[
    ".env*",
    "*.env",
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "*.asc",
    "*.gpg",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "authorized_keys",
    "known_hosts",
    "credentials*",
    ".credentials*",
    "secrets",
    "secrets.*",
    "secret.*",
    "node_modules",
    "target",
    "vendor",
    ".venv",
    "venv",
    "__pycache__",
    "dist",
    "site-packages",
];

/// Why a path is off limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It resolves to a place outside every root.
    #[error("lies outside the folders that may be written to (it resolves to {0})")]
    Outside(String),
    /// The deny list names it.
    #[error("is on the list of what is never written (`{0}`)")]
    Listed(String),
    /// It cannot be resolved.
    #[error("cannot be resolved: {0}")]
    Unresolved(String),
    /// A folder has the file's name.
    #[error("is a folder")]
    Folder,
    /// A pipe, a socket or a device has the file's name.
    #[error("is not a regular file")]
    NoFile,
    /// Its assistant was told not to load it.
    #[error("is hidden from Claude Code by claudeMdExcludes")]
    Hidden,
}

/// The roots and the deny list.
#[derive(Clone, Debug)]
pub struct Confinement {
    roots: Vec<PathBuf>,
    deny: Vec<GlobMatcher>,
}

impl Confinement {
    /// `roots` that do not exist are dropped; `more` are name globs that join the deny list.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>, more: &[String]) -> Self {
        let names = NEVER.iter().map(ToString::to_string).chain(more.iter().cloned());
        Self {
            roots: roots.into_iter().filter_map(|root| root.canonicalize().ok()).collect(),
            deny: names.filter_map(|name| matcher(&name)).collect(),
        }
    }

    /// Whether every name of `more` is a pattern.
    ///
    /// # Errors
    /// One is none: as part of the deny list it would deny nothing.
    pub fn check(more: &[String]) -> crate::Result<()> {
        let wrong = more.iter().find_map(|name| Some((name, Glob::new(name).err()?)));
        wrong.map_or(Ok(()), |(name, error)| {
            Err(crate::Error::config(format!("route.deny: `{name}`: {}", error.kind())))
        })
    }

    /// The file that `path` stands for, symbolic links followed, if it may be written. It need not
    /// exist, but its folder must.
    ///
    /// # Errors
    /// Why it may not.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, Denied> {
        let resolved = resolve(path)?;
        match resolved.metadata() {
            Ok(meta) if meta.is_dir() => return Err(Denied::Folder),
            Ok(meta) if !meta.is_file() => return Err(Denied::NoFile),
            _ => {}
        }
        let Some(root) = self.roots.iter().find(|root| resolved.starts_with(root)) else {
            return Err(Denied::Outside(resolved.display().to_string()));
        };
        let below = resolved.strip_prefix(root).unwrap_or(&resolved);
        let named = path.file_name().and_then(|name| self.listed(Path::new(name)));
        match self.listed(below).or(named) {
            Some(name) => Err(Denied::Listed(name)),
            None => Ok(resolved),
        }
    }

    /// Whether the deny list names a folder or file of this name.
    pub fn denies_name(&self, name: &str) -> bool {
        self.deny.iter().any(|deny| deny.is_match(name))
    }

    fn listed(&self, below: &Path) -> Option<String> {
        below.components().find_map(|part| match part {
            Component::Normal(name) if self.denies_name(&name.to_string_lossy()) => {
                Some(name.to_string_lossy().into_owned())
            }
            _ => None,
        })
    }
}

fn matcher(name: &str) -> Option<GlobMatcher> {
    let glob: Result<Glob, _> = GlobBuilder::new(name).case_insensitive(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

fn resolve(path: &Path) -> Result<PathBuf, Denied> {
    let unresolved = |error: std::io::Error| Denied::Unresolved(error.to_string());
    match path.canonicalize() {
        Ok(resolved) => Ok(resolved),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(unresolved(error));
            };
            Ok(folder.canonicalize().map_err(unresolved)?.join(name))
        }
        Err(error) => Err(unresolved(error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn setup() -> (tempfile::TempDir, PathBuf, Confinement) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("p");
        std::fs::create_dir_all(root.join("sub/.git")).unwrap();
        let confinement = Confinement::new([root.clone()], &["private*".to_string()]);
        (folder, root, confinement)
    }

    #[test]
    fn only_below_a_root_after_links() {
        let (folder, root, confinement) = setup();
        let outside = folder.path().join("outside.md");
        std::fs::write(&outside, "x").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("CLAUDE.md")).unwrap();
        assert!(matches!(confinement.resolve(&root.join("CLAUDE.md")), Err(Denied::Outside(_))));
        assert!(matches!(
            confinement.resolve(&root.join("../outside.md")),
            Err(Denied::Outside(_))
        ));
        assert_eq!(confinement.resolve(&root.join("AGENTS.md")).unwrap(), root.join("AGENTS.md"));
    }

    #[test]
    fn the_deny_list_holds_and_grows() {
        let (_folder, root, confinement) = setup();
        for name in [".env", ".ENV.local", "server.pem", "sub/.git/x.md", "private.md"] {
            let denied = confinement.resolve(&root.join(name));
            assert!(matches!(denied, Err(Denied::Listed(_))), "{name}");
        }
        assert_eq!(confinement.resolve(&root.join("sub")), Err(Denied::Folder));
    }
}
