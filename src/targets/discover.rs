//! The target files of a project, or of the user, that exist; and the one that may be made.

use super::{Confinement, Denied, Format, Scope, TargetSpec, Targets};
use globset::{GlobBuilder, GlobMatcher, GlobSet};
use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How deep below a project's root instruction files are looked for (folders).
const MAX_DEPTH: usize = 12;

/// A target file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Path as found; it may be a symbolic link.
    pub path: PathBuf,
    /// The file behind it, or why it may not be written.
    pub resolved: Result<PathBuf, Denied>,
    /// Path relative to the project's root, with `/`; for the user's files, the whole path.
    pub relative: String,
    /// Whose entries it takes.
    pub scope: Scope,
    /// How it is edited.
    pub format: Format,
    /// The kind of target it is.
    pub spec: TargetSpec,
    /// Whether the file is there; `false` for the one that would be made.
    pub exists: bool,
}

/// The targets of the project at `root`; with `None` the user's own, below `home`. Sorted by path;
/// several names of one file count once, under the first.
/// `hidden` are the files that Claude Code does not load.
pub fn discover(
    targets: &Targets,
    root: Option<&Path>,
    home: &Path,
    confinement: &Confinement,
    hidden: &GlobSet,
) -> Vec<Found> {
    let scope = root.map_or(Scope::User, |root| Scope::Project(root.display().to_string()));
    let mut search = Search { scope, root, home, confinement, hidden, found: BTreeMap::new() };
    for spec in &targets.0 {
        search.literal_paths(spec);
    }
    search.walk(targets);
    search.offer_new(targets);
    let mut seen = std::collections::BTreeSet::new();
    let mut found: Vec<Found> = search.found.into_values().collect();
    // A real file goes before a link to it, whatever their names.
    found.sort_by_key(|target| (target.path.is_symlink(), target.relative.clone()));
    found.retain(|target| target.resolved.as_ref().map_or(true, |real| seen.insert(real.clone())));
    found.sort_by(|one, other| one.relative.cmp(&other.relative));
    found
}

struct Search<'a> {
    scope: Scope,
    root: Option<&'a Path>,
    home: &'a Path,
    confinement: &'a Confinement,
    hidden: &'a GlobSet,
    found: BTreeMap<PathBuf, Found>,
}

impl Search<'_> {
    /// Paths without a glob are looked at directly, so that ignored files count when named.
    fn literal_paths(&mut self, spec: &TargetSpec) {
        for pattern in spec.paths.iter().filter(|pattern| !is_glob(pattern)) {
            if let Some(path) = self.place(spec, pattern)
                && path.symlink_metadata().is_ok()
            {
                self.add(spec, path, true);
            }
        }
    }

    /// Where a pattern points within this search's scope.
    fn place(&self, spec: &TargetSpec, pattern: &str) -> Option<PathBuf> {
        let absolute = expand(pattern, self.home);
        let path = match (&absolute, self.root) {
            (Some(path), Some(root)) if spec.scope.is_none() => {
                path.starts_with(root).then(|| path.clone())
            }
            (Some(_), Some(_)) => None,
            (None, Some(root)) if spec.scope.as_deref() != Some("user") => Some(root.join(pattern)),
            (Some(path), None) if spec.scope.as_deref() != Some("project") => Some(path.clone()),
            _ => None,
        };
        path.filter(|path| !path.as_os_str().is_empty())
    }

    fn add(&mut self, spec: &TargetSpec, path: PathBuf, exists: bool) {
        let Some(format) = spec.format.or_else(|| Format::of(&path)) else { return };
        let relative = self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
        let hidden = spec.excludable && self.hidden.is_match(&path);
        let found = Found {
            resolved: match hidden {
                true => Err(Denied::Hidden),
                false => self.confinement.resolve(&path),
            },
            relative: relative.to_string_lossy().replace('\\', "/"),
            scope: self.scope.clone(),
            format,
            spec: spec.clone(),
            exists,
            path: path.clone(),
        };
        self.found.entry(path).or_insert(found);
    }

    fn walk(&mut self, targets: &Targets) {
        let globs: Vec<(&TargetSpec, PathBuf, GlobMatcher)> = targets
            .0
            .iter()
            .flat_map(|spec| spec.paths.iter().map(move |pattern| (spec, pattern)))
            .filter(|(_, pattern)| is_glob(pattern))
            .filter_map(|(spec, pattern)| {
                let place = self.place(spec, pattern)?;
                Some((spec, fixed_part(&place), matcher(&place)?))
            })
            .collect();
        let mut starts: Vec<&PathBuf> = globs.iter().map(|(_, start, _)| start).collect();
        starts.sort();
        starts.dedup_by(|inner, outer| inner.starts_with(outer));
        let starts: Vec<PathBuf> = starts.into_iter().cloned().collect();
        for start in starts.iter().filter(|start| start.is_dir()) {
            for path in self.files_below(start) {
                if let Some((spec, ..)) = globs.iter().find(|(.., glob)| glob.is_match(&path)) {
                    self.add(spec, path, true);
                }
            }
        }
    }

    /// Files below a folder that are not ignored. What cannot be known to be ignored or not, because
    /// a pipe or the like has the name of a list of what is, is not among them.
    fn files_below(&self, start: &Path) -> Vec<PathBuf> {
        if !start.ancestors().all(can_be_asked) {
            return Vec::new();
        }
        let confinement = self.confinement.clone();
        let walker = WalkBuilder::new(start)
            .hidden(false)
            .git_global(false)
            .require_git(false)
            .max_depth(Some(MAX_DEPTH))
            .filter_entry(move |entry| {
                entry.depth() == 0
                    || !confinement.denies_name(&entry.file_name().to_string_lossy())
                        && (entry.path().is_file() || can_be_asked(entry.path()))
            })
            .sort_by_file_name(Ord::cmp)
            .build();
        let entries = walker.filter_map(Result::ok).filter(|entry| entry.depth() > 0);
        entries.filter(|entry| !entry.path().is_dir()).map(ignore::DirEntry::into_path).collect()
    }

    /// A project without any general file gets one at its root, once there is something to say.
    fn offer_new(&mut self, targets: &Targets) {
        let Some(root) = self.root.filter(|root| root.is_dir()) else { return };
        if self.found.values().any(|found| found.spec.general) {
            return;
        }
        let creatable = targets.0.iter().find(|spec| spec.create);
        if let Some((spec, name)) = creatable.and_then(|spec| Some((spec, spec.paths.first()?))) {
            self.add(spec, root.join(name), false);
        }
    }
}

/// Whether what a folder says of ignored files can be read: the walk opens such files by itself, and
/// would wait for a pipe or read a device without end.
fn can_be_asked(folder: &Path) -> bool {
    let names = [".git", ".gitignore", ".ignore", ".git/info/exclude"];
    names.iter().all(|name| match folder.join(name).metadata() {
        Ok(meta) => meta.is_dir() || meta.is_file() && meta.len() <= crate::regular::SMALL,
        Err(_) => true,
    })
}

/// `~/…` and absolute patterns as a path; `None` for one relative to a project.
pub fn expand(pattern: &str, home: &Path) -> Option<PathBuf> {
    match pattern.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None => Path::new(pattern).is_absolute().then(|| PathBuf::from(pattern)),
    }
}

pub(super) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

/// The folders of a pattern before its first glob.
fn fixed_part(pattern: &Path) -> PathBuf {
    pattern.components().take_while(|part| !is_glob(&part.as_os_str().to_string_lossy())).collect()
}

fn matcher(pattern: &Path) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(&pattern.to_string_lossy()).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}
