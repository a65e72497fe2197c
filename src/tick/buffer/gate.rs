//! Which folders are captured.

use crate::capture::project;
use crate::config::CaptureSettings;
use crate::error::{Error, Result};
use crate::paths::Paths;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Path, PathBuf};

/// Says of a folder whether anything that is said there may be kept.
pub struct Gate {
    excluded: GlobSet,
    own: PathBuf,
}

impl Gate {
    /// # Errors
    /// A pattern in `capture.exclude` that is no glob.
    pub fn new(settings: &CaptureSettings, paths: &Paths) -> Result<Self> {
        let mut globs = GlobSetBuilder::new();
        for pattern in &settings.exclude {
            let expanded = match pattern.strip_prefix("~/") {
                Some(rest) => paths.home.join(rest).to_string_lossy().into_owned(),
                None => pattern.clone(),
            };
            let glob = GlobBuilder::new(expanded.trim_end_matches('/'))
                .literal_separator(true)
                .build()
                .map_err(|error| {
                    Error::config(format!("capture.exclude: {pattern}: {}", error.kind()))
                })?;
            globs.add(glob);
        }
        let excluded =
            globs.build().map_err(|error| Error::config(format!("capture.exclude: {error}")))?;
        let own = paths.data.canonicalize().unwrap_or_else(|_| paths.data.clone());
        Ok(Self { excluded, own })
    }

    /// Whether `folder` belongs to the engine itself.
    pub fn is_own(&self, folder: &Path) -> bool {
        folder.starts_with(&self.own)
            || folder.canonicalize().is_ok_and(|folder| folder.starts_with(&self.own))
    }

    /// Whether nothing of `folder` may be kept: the engine's own folder, an opt-out file in it or
    /// above it, or a pattern that matches it, its project or a folder between.
    pub fn is_closed(&self, folder: &Path) -> bool {
        let project = project::project_of(folder).map(PathBuf::from);
        let ancestors = folder.ancestors().chain(project.iter().flat_map(|p| p.ancestors()));
        self.is_own(folder)
            || project::opted_out(folder)
            || ancestors.into_iter().any(|folder| self.excluded.is_match(folder))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Layers;

    #[test]
    fn excluded_and_own_folders_are_closed() {
        let mut settings = Layers::defaults().settings().unwrap().capture;
        settings.exclude = vec!["~/private".into(), "/w/*/secret".into()];
        let paths = Paths { data: "/d/own".into(), config_file: "/c".into(), home: "/h".into() };
        let gate = Gate::new(&settings, &paths).unwrap();
        for closed in ["/h/private/x", "/w/a/secret", "/d/own", "/d/own/inbox"] {
            assert!(gate.is_closed(Path::new(closed)), "{closed}");
        }
        for open in ["/h/privates", "/w/a/b/secret", "/d/other"] {
            assert!(!gate.is_closed(Path::new(open)), "{open}");
        }
        settings.exclude = vec!["a[".into()];
        assert!(Gate::new(&settings, &paths).is_err());
    }
}
