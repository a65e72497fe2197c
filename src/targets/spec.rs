//! Targets as data: `config/targets.toml`, with the user's `[route.targets.NAME]` over it.

use super::Format;
use super::excludes::CLAUDE_MD_EXCLUDES;
use crate::config::TargetSettings;
use crate::error::{Error, Result};
use globset::Glob;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// Whether Claude Code's list of excludes can hide it.
    pub excludable: bool,
}

/// Folders of the assistants that the user keeps elsewhere than below the home folder.
#[derive(Clone, Debug, Default)]
pub struct Moved(Vec<(&'static str, PathBuf)>);

impl Moved {
    /// What the variables of the environment say.
    pub fn from_env() -> Self {
        let folder = |(usual, variable): &(&'static str, &str)| {
            let set = std::env::var_os(variable).filter(|value| !value.is_empty())?;
            Some((*usual, PathBuf::from(set))).filter(|(_, folder)| folder.is_absolute())
        };
        let variables = [(CLAUDE_FOLDER, "CLAUDE_CONFIG_DIR"), (CODEX_FOLDER, "CODEX_HOME")];
        Self(variables.iter().filter_map(folder).collect())
    }

    /// Where Claude Code keeps the user's settings.
    pub fn claude(&self, home: &Path) -> PathBuf {
        let set = self.0.iter().find(|(usual, _)| *usual == CLAUDE_FOLDER);
        set.map_or_else(|| home.join(".claude"), |(_, folder)| folder.clone())
    }

    fn pattern(&self, pattern: &str) -> String {
        let moved = |(usual, folder): &(&str, PathBuf)| {
            let rest = pattern.strip_prefix(*usual)?;
            Some(folder.join(rest).to_string_lossy().into_owned())
        };
        self.0.iter().find_map(moved).unwrap_or_else(|| pattern.to_string())
    }
}

const CLAUDE_FOLDER: &str = "~/.claude/";
const CODEX_FOLDER: &str = "~/.codex/";

/// All kinds of targets that are switched on.
#[derive(Clone, Debug)]
pub struct Targets(pub Vec<TargetSpec>);

impl Targets {
    /// The shipped targets with the user's over them.
    ///
    /// # Errors
    /// A target without a path, an unknown scope, or a list format without a key.
    pub fn load(user: &BTreeMap<String, TargetSettings>, moved: &Moved) -> Result<Self> {
        let mut all: BTreeMap<String, TargetSettings> =
            toml_edit::de::from_str(SHIPPED).expect("config/targets.toml is valid");
        for (name, settings) in user {
            let known = all.remove(name).unwrap_or_default();
            all.insert(name.clone(), over(settings.clone(), known));
        }
        let enabled = all.into_iter().filter(|(_, settings)| settings.enabled.unwrap_or(true));
        Ok(Self(
            enabled
                .map(|(name, settings)| complete(name, settings, moved))
                .collect::<Result<_>>()?,
        ))
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
        hidden_by: upper.hidden_by.or(lower.hidden_by),
        enabled: upper.enabled.or(lower.enabled),
    }
}

fn complete(name: String, settings: TargetSettings, moved: &Moved) -> Result<TargetSpec> {
    let wrong = |what: String| Error::config(format!("route.targets.{name}: {what}"));
    let paths = settings.paths.unwrap_or_default();
    if paths.is_empty() {
        return Err(wrong("`paths` is missing".to_string()));
    }
    for path in paths.iter().filter(|path| super::discover::is_glob(path)) {
        Glob::new(path).map_err(|error| wrong(format!("paths: `{path}`: {}", error.kind())))?;
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
    if settings.hidden_by.as_deref().is_some_and(|list| list != CLAUDE_MD_EXCLUDES) {
        return Err(wrong(format!("`hidden_by` is not {CLAUDE_MD_EXCLUDES}")));
    }
    Ok(TargetSpec {
        paths: paths.iter().map(|path| moved.pattern(path)).collect(),
        format,
        scope: settings.scope,
        key: settings.key.map_or_else(Vec::new, |key| key_path(&key)),
        general: settings.general.unwrap_or(false),
        create: settings.create.unwrap_or(false),
        max_lines: settings.max_lines,
        max_bytes: settings.max_bytes,
        chain: settings.chain.unwrap_or(false),
        excludable: settings.hidden_by.is_some(),
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
        let targets = Targets::load(&BTreeMap::new(), &Moved::default()).unwrap();
        assert!(targets.0.iter().any(|target| target.name == "claude" && target.create));
        assert!(!targets.0.iter().any(|target| target.name == "claude-local"));
    }

    #[test]
    fn folders_kept_elsewhere_are_followed() {
        let moved = Moved(vec![(CLAUDE_FOLDER, PathBuf::from("/elsewhere"))]);
        let targets = Targets::load(&BTreeMap::new(), &moved).unwrap();
        let of = |name: &str| {
            targets.0.iter().find(|target| target.name == name).unwrap().paths[0].clone()
        };
        assert_eq!(of("claude-user"), "/elsewhere/CLAUDE.md");
        assert_eq!(of("codex-user"), "~/.codex/AGENTS.override.md");
        assert_eq!(moved.claude(Path::new("/home/x")), Path::new("/elsewhere"));
    }

    #[test]
    fn the_user_changes_single_fields() {
        let mine = TargetSettings { max_lines: Some(50), ..TargetSettings::default() };
        let mine = BTreeMap::from([("claude".to_string(), mine)]);
        let targets = Targets::load(&mine, &Moved::default()).unwrap();
        let claude = targets.0.iter().find(|target| target.name == "claude").unwrap();
        assert_eq!((claude.max_lines, claude.paths.len()), (Some(50), 2));
    }
}
