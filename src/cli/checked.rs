//! Settings that make sense one by one and are wrong all the same: expressions, patterns, folders,
//! words. They are looked at when settings are read, in every command, so that a wrong one is told
//! then and there with its key, and not in the middle of a tick or never. What is not the user's own
//! is not looked at again.

use crate::config::{Layers, Settings};
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::redact::Redactor;
use crate::targets::{Confinement, Moved, Targets};
use crate::tick::buffer::Gate;
use crate::{capture, documents, schedule};
use std::collections::BTreeMap;

/// Looks at the settings of one key.
type Check<'a> = &'a dyn Fn(&Settings) -> Result<()>;

/// The settings of all layers, whole.
///
/// # Errors
/// One of them is wrong: the layer, the key, the reason.
pub fn settings(layers: &Layers, paths: &Paths) -> Result<Settings> {
    let settings = layers.settings()?;
    let checks: [(&str, Check<'_>); 10] = [
        ("schedule.cron", &|all| schedule::Expression::parse(&all.schedule.cron).map(drop)),
        ("schedule.by", &|all| schedule::check(&all.schedule.by)),
        ("capture.exclude", &|all| Gate::new(&all.capture, paths).map(drop)),
        ("capture.scan", &|all| assistants(&all.capture.scan)),
        ("capture.marks", &|all| capture::extract::check(&all.capture.marks)),
        ("redact.patterns", &|all| Redactor::new(&all.redact.patterns).map(drop)),
        ("route.targets", &|all| Targets::load(&all.route.targets, &Moved::from_env()).map(drop)),
        ("route.deny", &|all| Confinement::check(&all.route.deny)),
        ("route.roots", &|all| folders("route.roots", &all.route.roots)),
        ("documents", &|all| {
            folders("documents.allowed_roots", &all.documents.allowed_roots)?;
            documents::confine::check_patterns(&all.documents)
        }),
    ];
    for (key, check) in checks {
        if layers.is_changed(key) {
            check(&settings).map_err(|error| placed(layers, key, error))?;
        }
    }
    let names = [settings.consolidate.model.list(), settings.age.model.list()].concat();
    crate::model::provider::check(&settings.consolidate, &names)?;
    Ok(settings)
}

/// The error with the layer that the value comes from, and where to read on.
fn placed(layers: &Layers, key: &str, error: Error) -> Error {
    let named = error.message.split(": ").next().unwrap_or(key);
    let named = if named.starts_with(key) { named } else { key };
    let hint = format!("`lifecycle config explain {named}` says what it is for");
    let from = layers.origin(named).map(|origin| format!("{origin}: ")).unwrap_or_default();
    let message = format!("{from}{}", error.message);
    Error { message, hint: error.hint.or(Some(hint)), ..Error::config("") }
}

fn assistants(words: &[String]) -> Result<()> {
    let known: BTreeMap<&str, ()> =
        capture::Assistant::ALL.iter().map(|one| (one.as_str(), ())).collect();
    let unknown = words.iter().find(|word| !known.contains_key(word.as_str()));
    unknown.map_or(Ok(()), |word| {
        let all: Vec<&str> = known.into_keys().collect();
        Err(Error::config(format!("capture.scan: `{word}` is none of {}", all.join(", "))))
    })
}

/// A folder that is meant from wherever a command happens to be called would be another one each
/// time.
fn folders(key: &str, roots: &[String]) -> Result<()> {
    let is_fixed = |root: &String| {
        root == "~" || root.starts_with("~/") || std::path::Path::new(root).is_absolute()
    };
    let wrong = roots.iter().find(|root| !is_fixed(root));
    wrong.map_or(Ok(()), |root| {
        Err(Error::config(format!("{key}: `{root}` is neither absolute nor below ~/")))
    })
}
