//! Targets as data: `config/targets.toml`, with the user's `[route.targets.NAME]` over it.

use super::Format;
use crate::config::TargetSettings;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

const SHIPPED: &str = include_str!("../../config/targets.toml");

/// Whose entries a target takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Entries of the project with this root.
    Project(String),
    /// Rules seen in at least two projects, and entries that belong to none.
    User,
}

/// One kind of target, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// Its name in the settings.
    pub name: String,
    /// Paths and globs: relative to a project, `~/…`, or absolute.
    pub paths: Vec<String>,
    /// Set where the settings state it; else the path decides.
    pub scope: Option<String>,
    /// Set where the settings state it; else the ending decides.
    pub format: Option<Format>,
    /// Key path of a TOML, YAML or JSON target.
    pub key: Vec<String>,
    /// Takes any fact of its scope.
    pub general: bool,
    /// May be made at the root of a project.
    pub create: bool,
    /// Lines the file must not grow beyond.
    pub max_lines: Option<usize>,
    /// Bytes the file must not grow beyond.
    pub max_bytes: Option<usize>,
    /// Whether `max_bytes` counts the files of that name above.
    pub chain: bool,
}

/// All kinds of targets that are switched on.
#[derive(Clone, Debug)]
pub struct Targets(pub Vec<TargetSpec>);

impl Targets {
    /// The shipped targets with the user's over them.
    ///
    /// # Errors
    /// A target without a path, an unknown scope, or a list format without a key.
    pub fn load(user: &BTreeMap<String, TargetSettings>) -> Result<Self> {
        let mut all: BTreeMap<String, TargetSettings> =
            toml_edit::de::from_str(SHIPPED).expect("config/targets.toml is valid");
        for (name, settings) in user {
            let known = all.remove(name).unwrap_or_default();
            all.insert(name.clone(), over(settings.clone(), known));
        }
        let enabled = all.into_iter().filter(|(_, settings)| settings.enabled.unwrap_or(true));
        Ok(Self(enabled.map(|(name, settings)| complete(name, settings)).collect::<Result<_>>()?))
    }
}

fn over(upper: TargetSettings, lower: TargetSettings) -> TargetSettings {
    TargetSettings {
        about: upper.about.or(lower.about),
        paths: upper.paths.or(lower.paths),
        scope: upper.scope.or(lower.scope),
        format: upper.format.or(lower.format),
        key: upper.key.or(lower.key),
        general: upper.general.or(lower.general),
        create: upper.create.or(lower.create),
        max_lines: upper.max_lines.or(lower.max_lines),
        max_bytes: upper.max_bytes.or(lower.max_bytes),
        chain: upper.chain.or(lower.chain),
        enabled: upper.enabled.or(lower.enabled),
    }
}

fn complete(name: String, settings: TargetSettings) -> Result<TargetSpec> {
    let wrong = |what: String| Error::config(format!("route.targets.{name}: {what}"));
    let paths = settings.paths.unwrap_or_default();
    if paths.is_empty() {
        return Err(wrong("`paths` is missing".to_string()));
    }
    let format = match settings.format.as_deref() {
        None => None,
        Some(word) => {
            Some(Format::named(word).ok_or_else(|| wrong(format!("unknown format `{word}`")))?)
        }
    };
    if settings.scope.as_deref().is_some_and(|scope| scope != "user" && scope != "project") {
        return Err(wrong("`scope` is neither user nor project".to_string()));
    }
    Ok(TargetSpec {
        paths,
        format,
        scope: settings.scope,
        key: settings.key.map_or_else(Vec::new, |key| key_path(&key)),
        general: settings.general.unwrap_or(false),
        create: settings.create.unwrap_or(false),
        max_lines: settings.max_lines,
        max_bytes: settings.max_bytes,
        chain: settings.chain.unwrap_or(false),
        name,
    })
}

/// `a.b."c.d"` as its parts.
fn key_path(key: &str) -> Vec<String> {
    toml_edit::Key::parse(key).map_or_else(
        |_| vec![key.to_string()],
        |parts| parts.iter().map(|part| part.get().to_string()).collect(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_shipped_targets_are_complete() {
        let targets = Targets::load(&BTreeMap::new()).unwrap();
        assert!(targets.0.iter().any(|target| target.name == "claude" && target.create));
        assert!(!targets.0.iter().any(|target| target.name == "claude-local"));
    }

    #[test]
    fn the_user_changes_single_fields() {
        let mine = TargetSettings { max_lines: Some(50), ..TargetSettings::default() };
        let targets = Targets::load(&BTreeMap::from([("claude".to_string(), mine)])).unwrap();
        let claude = targets.0.iter().find(|target| target.name == "claude").unwrap();
        assert_eq!((claude.max_lines, claude.paths.len()), (Some(50), 2));
    }
}
