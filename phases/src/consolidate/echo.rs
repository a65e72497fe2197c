//! The echo of the prompt: a weak model that has nothing to say repeats what it was told.
//!
//! Six words in a row of the rules are refused wherever they stand ([`super::gates`]). What is
//! shorter than that is told by how much of a text it makes up: the description of a field ("a cause,
//! a setting, a command, a limit"), the definition of a kind ("a fault and its mending"), names of
//! fields and kinds, an example that was filled in. What the sources say themselves is no echo.

use super::facts::{Facts, flat};
use super::schema;
use super::values::words;
use super::words::{is_stop, stem};
use crate::entry::{Actor, Kind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Words in a row by which a piece is recognised.
const RUN: usize = 3;

/// Share of a text's words from which such pieces make it an echo.
const ECHOED: f64 = 0.6;

/// Placeholders that stand where a value should.
const PLACEHOLDERS: &[&str] =
    &["string", "text", "value", "null", "none", "n/a", "array", "boolean", "object", "json"];

/// The words of the wire: names of fields, kinds and actors, and placeholders.
static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names: BTreeSet<String> = PLACEHOLDERS.iter().map(|word| (*word).to_string()).collect();
    for schema in [schema::schema(&[], false), crate::observe::schema(&[], false)] {
        fields(&schema["properties"], &mut names);
    }
    names.extend(Kind::ALL.iter().map(|kind| kind.as_str().to_string()));
    names.extend(Actor::ALL.iter().map(|actor| actor.as_str().to_string()));
    names
});

fn fields(properties: &Value, names: &mut BTreeSet<String>) {
    for (name, of) in properties.as_object().into_iter().flatten() {
        names.insert(name.clone());
        names.insert(name.trim_end_matches('s').to_string());
        fields(&of["items"]["properties"], names);
    }
}

/// What of `prompt` makes up `text`, if that is most of it. `is_known` says of some words in a row
/// whether the sources hold them.
pub(crate) fn echo(text: &str, prompt: &str, is_known: &dyn Fn(&str) -> bool) -> Option<String> {
    let own = words(text);
    if own.is_empty() || is_known(&own.join(" ")) {
        return None;
    }
    let is_name = |word: &String| NAMES.contains(word) || is_stop(word);
    if own.iter().all(is_name) && own.iter().any(|word| NAMES.contains(word)) {
        return Some(flat(text));
    }
    let prompt = words(prompt);
    let runs: BTreeSet<String> = prompt.windows(RUN).map(|run| run.join(" ")).collect();
    let (share, first) = covered(&own, &|run| runs.contains(run) && !is_known(run));
    let whole = own.len() < RUN
        && own.iter().any(|word| !is_stop(word))
        && prompt.windows(own.len()).any(|run| run == own)
        && !own.iter().any(|word| is_known(word));
    if share >= ECHOED { first } else { whole.then(|| own.join(" ")) }
}

/// Share of the words that stand in runs of [`RUN`] for which `holds` is true, and the first such run.
pub(crate) fn covered(words: &[String], holds: &dyn Fn(&str) -> bool) -> (f64, Option<String>) {
    let mut is_covered = vec![false; words.len()];
    let mut first = None;
    for (at, run) in words.windows(RUN).enumerate() {
        let run = run.join(" ");
        if holds(&run) {
            is_covered[at..at + RUN].fill(true);
            first.get_or_insert(run);
        }
    }
    let count = is_covered.iter().filter(|covered| **covered).count();
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = count as f64 / words.len().max(1) as f64;
    (share, first)
}

/// Words that say of a thing no more than that something was done with it.
const VAGUE: &[&str] = &[
    "make",
    "makes",
    "made",
    "making",
    "do",
    "doing",
    "perform",
    "performed",
    "complete",
    "completed",
    "execute",
    "executed",
    "run",
    "ran",
    "running",
    "call",
    "called",
    "calls",
    "tool",
    "tools",
    "command",
    "commands",
    "task",
    "tasks",
    "work",
    "works",
    "worked",
    "change",
    "changes",
    "changed",
    "update",
    "updated",
    "updates",
    "modify",
    "modified",
    "file",
    "files",
    "code",
    "project",
    "result",
    "results",
    "output",
    "input",
    "success",
    "successful",
    "successfully",
    "happen",
    "happened",
    "thing",
    "things",
    "something",
    "following",
    "step",
    "steps",
    "session",
    "give",
    "gave",
    "back",
    "succeeded",
    "failed",
    "various",
    "several",
    "observation",
    "event",
    "events",
];

/// Whether a text says something of its own: content words that are not vague, not the wire's, and
/// not in `told`, which every text of its kind could say.
pub(crate) fn says_something(text: &Facts, told: &Facts) -> bool {
    static EMPTY: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        VAGUE.iter().copied().chain(NAMES.iter().map(String::as_str)).map(stem).collect()
    });
    let own =
        text.words.iter().filter(|word| !EMPTY.contains(*word) && !told.words.contains(*word));
    match own.count() {
        0 => false,
        1 => text.hard().next().is_some(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = include_str!("../../../config/prompts/observe.md");
    const MERGE: &str = include_str!("../../../config/prompts/merge.md");

    fn is_echo(text: &str, prompt: &str) -> bool {
        echo(text, prompt, &|_| false).is_some()
    }

    #[test]
    fn descriptions_definitions_and_field_names_are_echoes() {
        for text in [
            "a cause, a setting, a command, a limit",
            "Short facts that help later, such as a cause, a setting, a command, a limit.",
            "a fault and its mending",
            "A choice and its reason.",
            "something to know about security",
            "two to four plain sentences",
            "narrative",
            "Title: string",
            "bugfix",
            "e2 assistant bugfix narrative title".trim_start_matches("e2 "),
            "how something works",
        ] {
            assert!(is_echo(text, RULES), "{text}");
        }
        assert!(is_echo("One entry per subject, in plain full sentences.", MERGE));
        assert!(is_echo("insight", MERGE));
    }

    #[test]
    fn what_the_sources_say_and_what_is_new_are_none() {
        assert!(!is_echo("Rows without offset land in `quarantine_rows`.", RULES));
        assert!(!is_echo("The decision: one writer connection behind a mutex.", MERGE));
        assert!(!is_echo("The cause was a stale lock in the cache folder.", RULES));
        assert!(!is_echo("The user's token is checked before the tool starts.", RULES));
        let known = |run: &str| "we record a choice and its reason".contains(run);
        assert_eq!(echo("a choice and its reason", RULES, &known), None);
    }

    #[test]
    fn a_text_that_fits_anything_says_nothing() {
        let told = Facts::of("the assistant called the tool Edit, which succeeded");
        for text in [
            "The assistant made changes to the file `src/a.rs`.",
            "The tool Edit was called successfully.",
            "The assistant updated the project.",
            "",
        ] {
            assert!(!says_something(&Facts::of(text), &told), "{text}");
        }
        for text in ["Rows land in `quarantine_rows`.", "The table part_0 was filled."] {
            assert!(says_something(&Facts::of(text), &told), "{text}");
        }
    }
}
