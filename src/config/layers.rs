//! The layers of settings and where each value came from.

use super::ranges::problem;
use super::{DEFAULTS, Settings};
use crate::error::{Error, Result};
use crate::paths::Paths;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use toml_edit::{DocumentMut, Item, Table, Value};

/// Tables whose keys are the user's own (names of providers and the like).
const OPEN_TABLES: &[&str] = &["consolidate.providers", "route.targets", "redact.patterns"];

/// Likeness (Jaro-Winkler) above which a key may have been meant by another.
const LIKE: f64 = 0.85;

/// The layer a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Compiled in.
    Default,
    /// A settings file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
    /// `--set`.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag => f.write_str("--set"),
        }
    }
}

/// All layers merged.
pub struct Layers {
    document: DocumentMut,
    origins: BTreeMap<String, Origin>,
}

impl Layers {
    /// Merges the user's file, the environment and the flags (`key=value`) over the defaults.
    pub fn load(paths: &Paths, flags: &[String]) -> Result<Self> {
        let mut layers = Self::defaults();
        if let Some(text) = read_optional(&paths.config_file)? {
            layers.merge_text(&text, Origin::File(paths.config_file.clone()))?;
        }
        layers.merge_environment()?;
        for flag in flags {
            let (key, value) = flag.split_once('=').ok_or_else(|| {
                Error::config(format!("--set {flag}: expected section.key=value"))
            })?;
            layers.set(key.trim(), parse_value(value), Origin::Flag)?;
        }
        Ok(layers)
    }

    /// The defaults alone.
    pub fn defaults() -> Self {
        let document: DocumentMut = DEFAULTS.parse().expect("config/default.toml is valid TOML");
        let mut origins = BTreeMap::new();
        for (key, _) in leaves(document.as_table(), "") {
            origins.insert(key, Origin::Default);
        }
        Self { document, origins }
    }

    /// The settings as a type. A value of the wrong type is an error that names its layer.
    pub fn settings(&self) -> Result<Settings> {
        toml_edit::de::from_document(self.document.clone()).map_err(
            |error: toml_edit::de::Error| {
                Error::config(format!("{}{}", self.culprit(), error.message())).hint(
                    "`lifecycle config show --origin` prints each value and where it came from",
                )
            },
        )
    }

    /// The layer and key of the value without which the settings would be right, as the start of a
    /// message.
    fn culprit(&self) -> String {
        let defaults = Self::defaults();
        let changed = self.origins.iter().filter(|(_, origin)| **origin != Origin::Default);
        for (key, origin) in changed {
            let mut alone =
                Self { document: defaults.document.clone(), origins: self.origins.clone() };
            let value =
                leaves(self.document.as_table(), "").into_iter().find(|(name, _)| name == key);
            let Some((_, value)) = value else { continue };
            let set = alone.set(key, value, origin.clone());
            if set.is_err() || toml_edit::de::from_document::<Settings>(alone.document).is_err() {
                return format!("{origin}: {key}: ");
            }
        }
        "settings: ".into()
    }

    /// Whether anything under a key is not the default.
    pub fn is_changed(&self, key: &str) -> bool {
        let is_meant = |name: &str| name == key || is_below(name, key);
        self.origins.iter().any(|(name, from)| is_meant(name) && *from != Origin::Default)
    }

    /// The layer that the value of a key comes from; of a table, that of its first key that is not
    /// the default.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        let is_meant = |name: &str| name == key || is_below(name, key);
        let mut of_key = self.origins.iter().filter(|(name, _)| is_meant(name)).map(|(_, it)| it);
        of_key.find(|origin| **origin != Origin::Default)
    }

    /// Every key with its value as TOML and its origin, sorted by key.
    pub fn values(&self) -> Vec<(String, String, Origin)> {
        leaves(self.document.as_table(), "")
            .into_iter()
            .map(|(key, value)| {
                let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
                (key, value.to_string().trim().to_string(), origin)
            })
            .collect()
    }

    /// Merges the text of a settings file.
    pub fn merge_text(&mut self, text: &str, origin: Origin) -> Result<()> {
        let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            Error::config(format!("{origin}: {}", error.to_string().trim_end()))
        })?;
        for (key, value) in leaves(document.as_table(), "") {
            self.set(&key, value, origin.clone())?;
        }
        Ok(())
    }

    fn merge_environment(&mut self) -> Result<()> {
        let names: Vec<(String, String)> = self
            .origins
            .keys()
            .map(|key| {
                (key.clone(), format!("LIFECYCLE_{}", key.replace('.', "__").to_uppercase()))
            })
            .collect();
        for (key, name) in names {
            if let Ok(text) = std::env::var(&name) {
                self.set(&key, parse_value(&text), Origin::Variable(name))?;
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: Value, origin: Origin) -> Result<()> {
        if !self.origins.contains_key(key) && !OPEN_TABLES.iter().any(|open| is_below(key, open)) {
            return Err(self.unknown(key, &origin));
        }
        if let Some(problem) = problem(key, &value) {
            return Err(Error::config(format!("{origin}: {key}: {problem}"))
                .hint(format!("`lifecycle config explain {key}` says what it is for")));
        }
        let mut table = self.document.as_table_mut();
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or(key);
        for part in parts {
            table =
                table.entry(part).or_insert(Item::Table(Table::new())).as_table_mut().ok_or_else(
                    || Error::config(format!("{origin}: {key}: {part} is not a section")),
                )?;
        }
        table.insert(last, Item::Value(value));
        self.origins.insert(key.to_string(), origin);
        Ok(())
    }

    fn unknown(&self, key: &str, origin: &Origin) -> Error {
        let error = self.unknown_key(key);
        Error { message: format!("{origin}: {}", error.message), ..error }
    }

    /// That nothing has this key, with the nearest that is one.
    pub fn unknown_key(&self, key: &str) -> Error {
        let nearest = self
            .origins
            .keys()
            .map(|known| (strsim::jaro_winkler(known, key), known))
            .max_by(|x, y| x.0.total_cmp(&y.0))
            .filter(|(likeness, _)| *likeness > LIKE)
            .map_or("`lifecycle config show` lists every setting".into(), |(_, known)| {
                format!("did you mean `{known}`?")
            });
        Error::config(format!("unknown setting `{key}`")).hint(nearest)
    }
}

/// The table with keys of the user's own that a key is, or is part of.
pub fn open_table(key: &str) -> Option<&'static str> {
    OPEN_TABLES.iter().copied().find(|table| *table == key || is_below(key, table))
}

fn is_below(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

fn leaves(table: &Table, prefix: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, item) in table {
        let key = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        match item {
            Item::Table(inner) => found.extend(leaves(inner, &key)),
            Item::Value(Value::InlineTable(inner)) => {
                found.extend(leaves(&inner.clone().into_table(), &key));
            }
            Item::Value(value) => found.push((key, value.clone().decorated("", ""))),
            Item::ArrayOfTables(tables) => {
                found.push((key, Value::Array(tables.clone().into_array())))
            }
            Item::None => {}
        }
    }
    found
}

fn parse_value(text: &str) -> Value {
    text.trim().parse().unwrap_or_else(|_| Value::from(text))
}

fn read_optional(path: &std::path::Path) -> Result<Option<String>> {
    // The usual way to say "no settings".
    if path == std::path::Path::new("/dev/null") {
        return Ok(None);
    }
    match crate::regular::text(path, crate::regular::SMALL) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::config(format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_settings() {
        let settings = Layers::defaults().settings().expect("defaults are complete");
        assert_eq!(settings.connect.link_similarity, 0.75);
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let mut layers = Layers::defaults();
        let error = layers
            .merge_text("[age]\nnewer_entry = 3\n", Origin::Flag)
            .expect_err("the key is unknown");
        assert!(error.message.contains("age.newer_entry"));
        assert_eq!(error.hint.as_deref(), Some("did you mean `age.newer_entries`?"));
        let far = layers.unknown_key("nonsense.key");
        assert!(far.hint.is_some_and(|hint| hint.contains("config show")), "no guess from afar");
    }

    #[test]
    fn a_later_layer_wins_and_is_named() {
        let mut layers = Layers::defaults();
        layers.merge_text("[age]\nnewer_entries = 5\n", Origin::Flag).expect("known key");
        assert_eq!(layers.settings().expect("valid").age.newer_entries, 5);
        assert!(layers.values().contains(&("age.newer_entries".into(), "5".into(), Origin::Flag)));
    }
}
