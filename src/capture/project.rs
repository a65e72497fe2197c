//! The one name of a project, however its folder is written.
//!
//! The name is the real path of the git root, with worktrees folded into the repository that
//! owns them, symbolic links followed, `..` and trailing separators resolved, in Unicode NFC. A
//! folder outside any repository is a project by itself. A folder that is gone keeps its path as
//! text. The home folder and the root of the file system are no project: what is said there
//! belongs to none. No git program is needed.

use std::path::{Component, Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

/// A project with this file at its root, or in a folder on the way to it, is never captured.
pub const OPT_OUT: &str = ".lifecycle-ignore";

/// The files of a repository that are read hold one line each (bytes).
const LONGEST_POINTER: u64 = 64 << 10;

/// The project that the folder `path` belongs to; `None` for the home folder, the root of the
/// file system and a relative or empty path.
pub fn project_of(path: impl AsRef<Path>) -> Option<String> {
    let path = path.as_ref();
    if is_foreign(path) {
        return Some(path.to_string_lossy().trim_end_matches(['\\', '/']).nfc().collect());
    }
    if !path.is_absolute() {
        return None;
    }
    let folder = real(path);
    let existing = folder.ancestors().find(|folder| folder.is_dir())?;
    let home = std::env::home_dir().map(|home| real(&home));
    let root = git_root(existing, home.as_deref()).unwrap_or(folder);
    let is_nowhere = root.parent().is_none() || Some(&root) == home.as_ref();
    (!is_nowhere).then(|| name(&root))
}

/// The folder on this machine that a project's name stands for, found again where the file system
/// spells it in another Unicode form.
pub fn folder_of(project: &str) -> PathBuf {
    let mut folder = PathBuf::new();
    for component in Path::new(project).components() {
        let plain = folder.join(component);
        folder =
            if plain.exists() { plain } else { respelled(&folder, component).unwrap_or(plain) };
    }
    folder
}

/// Whether capture is switched off for the folder by an opt-out file in it or above it, up to the
/// root of its project.
pub fn opted_out(path: impl AsRef<Path>) -> bool {
    let folder = real(path.as_ref());
    let root = project_of(&folder).map(PathBuf::from);
    let mut inside = root.as_ref().is_some_and(|root| root.join(OPT_OUT).exists());
    for ancestor in folder.ancestors() {
        inside |= ancestor.join(OPT_OUT).exists();
        if root.as_deref() == Some(ancestor) {
            break;
        }
    }
    inside
}

fn name(root: &Path) -> String {
    root.to_string_lossy().nfc().collect()
}

/// A path of another platform (`C:\…` or `\\server\…` outside Windows): kept as text.
fn is_foreign(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":\\";
    !cfg!(windows) && (drive || bytes.starts_with(b"\\\\"))
}

/// The real path as far as it exists, the rest as written with `.` and `..` resolved.
fn real(path: &Path) -> PathBuf {
    let path = resolve_dots(path);
    let found = folder_of(&path.to_string_lossy());
    for ancestor in found.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = found.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    found
}

/// `a/link/..` is taken back to where the link points from only if `a/link` does not exist; the
/// file system decides otherwise.
fn resolve_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out = out.canonicalize().unwrap_or(out);
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

fn respelled(folder: &Path, component: Component<'_>) -> Option<PathBuf> {
    let wanted: String = component.as_os_str().to_str()?.nfc().collect();
    if wanted.is_ascii() {
        return None;
    }
    let same = |name: &str| name.nfc().eq(wanted.chars());
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .find(|entry| entry.file_name().to_str().is_some_and(same))
        .map(|entry| entry.path())
}

/// The root of the repository around `folder`; a repository at `home` or above it (kept dotfiles)
/// does not swallow the folders below.
fn git_root(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let below_home = |ancestor: &&Path| home.is_none_or(|home| !home.starts_with(ancestor));
    let ancestors = folder.ancestors().take_while(below_home);
    for ancestor in ancestors {
        let git = ancestor.join(".git");
        if git.is_dir() {
            return Some(ancestor.to_path_buf());
        }
        if git.is_file() {
            return Some(owner_of_worktree(ancestor, &git).unwrap_or_else(|| ancestor.into()));
        }
    }
    None
}

/// The branch that is checked out in `folder` or above it; `None` without a repository, or where a
/// single commit is checked out. Reads one small file.
pub fn branch_of(folder: impl AsRef<Path>) -> Option<String> {
    let git = folder.as_ref().ancestors().map(|at| at.join(".git")).find(|git| git.exists())?;
    let private = if git.is_file() {
        let text = crate::regular::text(&git, LONGEST_POINTER).ok()?;
        git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim())
    } else {
        git
    };
    let head = crate::regular::text(&private.join("HEAD"), LONGEST_POINTER).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    (!branch.is_empty()).then(|| branch.to_string())
}

/// The main folder of the repository that a worktree's `.git` file points to; `None` for a
/// submodule, which is a project by itself.
fn owner_of_worktree(worktree: &Path, git: &Path) -> Option<PathBuf> {
    let text = crate::regular::text(git, LONGEST_POINTER).ok()?;
    let private = worktree.join(text.trim().strip_prefix("gitdir:")?.trim());
    let common = crate::regular::text(&private.join("commondir"), LONGEST_POINTER).ok()?;
    let common = private.join(common.trim()).canonicalize().ok()?;
    let is_hidden = common.file_name()?.to_string_lossy().starts_with('.');
    if is_hidden { common.parent().map(Path::to_path_buf) } else { Some(common) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let path = guard.path().canonicalize().unwrap();
        (guard, path)
    }

    #[test]
    fn one_folder_is_one_project() {
        let (_guard, w) = folder();
        fs::create_dir_all(w.join("harbor/src/deep")).unwrap();
        fs::create_dir_all(w.join("harbor/.git")).unwrap();
        fs::create_dir_all(w.join("other")).unwrap();
        let wanted = w.join("harbor").to_string_lossy().into_owned();
        for spelling in [
            "harbor",
            "harbor/",
            "./harbor",
            "other/../harbor",
            "harbor/src/deep",
            "harbor/gone/too",
            "harbor/src/deep/../..",
        ] {
            assert_eq!(project_of(w.join(spelling)).unwrap(), wanted, "{spelling}");
        }
        assert_eq!(project_of(w.join("other")).unwrap(), w.join("other").to_string_lossy());
        assert_eq!(project_of("harbor"), None);
        assert_eq!(project_of("/"), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_worktrees_fold_together() {
        let (_guard, w) = folder();
        let private = w.join("main/.git/worktrees/wt");
        fs::create_dir_all(&private).unwrap();
        fs::write(private.join("commondir"), "../..\n").unwrap();
        fs::create_dir_all(w.join("wt/src")).unwrap();
        fs::write(w.join("wt/.git"), format!("gitdir: {}\n", private.display())).unwrap();
        std::os::unix::fs::symlink("main", w.join("link")).unwrap();
        let wanted = w.join("main").to_string_lossy().into_owned();
        assert_eq!(project_of(w.join("wt/src")).unwrap(), wanted);
        assert_eq!(project_of(w.join("link")).unwrap(), wanted);
    }

    #[test]
    fn a_submodule_is_its_own_project() {
        let (_guard, w) = folder();
        fs::create_dir_all(w.join("main/.git/modules/sub")).unwrap();
        fs::create_dir_all(w.join("main/sub")).unwrap();
        fs::write(w.join("main/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        assert_eq!(project_of(w.join("main/sub")).unwrap(), w.join("main/sub").to_string_lossy());
    }

    #[test]
    fn unicode_forms_are_one_name_and_lead_to_the_same_folder() {
        let (_guard, w) = folder();
        let decomposed = w.join("Projekt Cafe\u{301} \u{2013} 日本語 'x' 🚢");
        fs::create_dir_all(decomposed.join(".git")).unwrap();
        let composed = w.join("Projekt Caf\u{e9} \u{2013} 日本語 'x' 🚢");
        let name = project_of(&composed).unwrap();
        assert_eq!(name, composed.to_string_lossy());
        assert_eq!(project_of(&decomposed).unwrap(), name);
        assert_eq!(folder_of(&name), decomposed);
    }

    #[test]
    fn a_gone_or_foreign_folder_keeps_its_path_as_text() {
        assert_eq!(project_of("/nowhere/a/../b/").unwrap(), "/nowhere/b");
        if cfg!(unix) {
            assert_eq!(
                project_of("C:\\Users\\Zoë\\Hafen – 港\\").unwrap(),
                "C:\\Users\\Zoë\\Hafen – 港"
            );
        }
    }

    #[test]
    fn the_opt_out_covers_the_project() {
        let (_guard, w) = folder();
        fs::create_dir_all(w.join("p/.git")).unwrap();
        fs::create_dir_all(w.join("p/src")).unwrap();
        assert!(!opted_out(w.join("p/src")));
        fs::write(w.join("p").join(OPT_OUT), "").unwrap();
        assert!(opted_out(w.join("p/src")));
        assert!(!opted_out(&w));
    }
}
