//! Redaction: secrets leave a text before it is stored, embedded, sent to a model or written to a
//! file.
//!
//! A secret is known by the shape of its value: an issuer's prefix and length ([`rules`]), or a
//! value of enough variety assigned to something called a password, token or key. What has no such
//! sign stays: hashes, UUIDs, file names, names in programs. A secret is replaced by
//! `[redacted:rule]`; the counts say which rule fired how often, never what it took.
//!
//! ```
//! let (text, counts) = lifecycle::redact::redact("use ghp_0123456789abcdefghijABCDEFGHIJ456789");
//! assert_eq!(text, "use [redacted:github-token]");
//! assert_eq!(counts.total(), 1);
//! ```

mod check;
mod rules;

use self::check::Check;
use self::rules::RULES;
use crate::error::{Error, Result};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// How often each rule fired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// Secrets taken by all rules together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Rule and count, by name of the rule.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(rule, count)| (rule.as_str(), *count))
    }

    /// Adds the counts of another text.
    pub fn add(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.0.entry(rule.to_string()).or_insert(0) += count;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The built-in rules, and those of the user.
#[derive(Default)]
pub struct Redactor {
    own: Vec<(String, Regex)>,
}

impl Redactor {
    /// With the user's own patterns, by name (`[redact.patterns]`). A pattern with a group named
    /// `v` takes that group, any other takes the whole match.
    ///
    /// # Errors
    /// A pattern that is no regular expression.
    pub fn new(patterns: &BTreeMap<String, String>) -> Result<Self> {
        let compile = |(name, pattern): (&String, &String)| {
            let regex = Regex::new(pattern)
                .map_err(|error| Error::config(format!("redact.patterns.{name}: {error}")))?;
            if regex.is_match("") {
                let text = format!("redact.patterns.{name}: it matches where there is nothing");
                return Err(Error::config(text).hint("say what it must find: `+` instead of `*`"));
            }
            Ok((name.clone(), regex))
        };
        Ok(Self { own: patterns.iter().map(compile).collect::<Result<_>>()? })
    }

    /// `text` with every secret replaced, and what was found.
    pub fn redact(&self, text: &str) -> (String, Counts) {
        let mut counts = Counts::default();
        let mut out = Cow::Borrowed(text);
        for (name, regex) in &self.own {
            replace(&mut out, name, regex, Check::None, &mut counts);
        }
        let lower = text.to_ascii_lowercase();
        for (at, rule) in RULES.iter().enumerate() {
            if rule.hints.iter().any(|hint| lower.contains(hint)) {
                replace(&mut out, rule.name, compiled(at), rule.check, &mut counts);
            }
        }
        (out.into_owned(), counts)
    }
}

/// `text` with every secret replaced by the built-in rules, and what was found.
pub fn redact(text: &str) -> (String, Counts) {
    static BUILT_IN: LazyLock<Redactor> = LazyLock::new(Redactor::default);
    BUILT_IN.redact(text)
}

/// The expression of a rule, compiled at its first use: a short-lived process pays only for the
/// rules whose hints its text contains.
fn compiled(rule: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    COMPILED[rule].get_or_init(|| Regex::new(RULES[rule].pattern).expect("rules are valid"))
}

fn replace(text: &mut Cow<'_, str>, name: &str, regex: &Regex, check: Check, counts: &mut Counts) {
    let mut out = String::new();
    let mut copied = 0;
    for found in regex.captures_iter(text) {
        let Some(value) = value_of(&found).filter(|value| check.holds(value.as_str())) else {
            continue;
        };
        out.push_str(&text[copied..value.start()]);
        out.push_str(&format!("[redacted:{name}]"));
        copied = value.end();
        *counts.0.entry(name.to_string()).or_insert(0) += 1;
    }
    if copied > 0 {
        out.push_str(&text[copied..]);
        *text = Cow::Owned(out);
    }
}

fn value_of<'t>(found: &Captures<'t>) -> Option<regex::Match<'t>> {
    ["v", "w", "x"].iter().find_map(|name| found.name(name)).or_else(|| found.get(0))
}

#[cfg(test)]
mod tests;
