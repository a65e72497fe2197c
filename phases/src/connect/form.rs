//! Records of a fixed form: session saves, dependency bumps, release lines, pointers to a manual.
//!
//! Two records of one form look alike to an embedding model whatever they are about, so their
//! cosine says little. A text is *formal* when, its slots and the words of the form taken out,
//! hardly a word is left that could state something. Formal texts are compared by what varies
//! between copies of the form (the package, the files), not by their sentence. What the shipped
//! words do not know is learned from copies ([`super::template`]).
//!
//! *Chatter* (`ok, go on`, `pushed the branch`) states nothing either. It is compared by what is
//! left without the words of assent and progress.

use super::tokens::{Parts, fold, stem, take_apart};
use crate::age::{Substance, substance};
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

static FORM_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    include_str!("../../data/form_words.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|word| stem(&fold(word)).to_string())
        .collect()
});

/// Distinct words beyond the form up to which a text is formal: the name of a package or of a
/// project, rarely more.
const MOST_WORDS: usize = 2;

/// Share of the smaller subject that two texts must have in common, and more, to count as alike
/// where one of them states nothing.
const SUBJECT_SHARE: f32 = 0.5;

/// Form words and slots a formal text has for each word beyond the form.
const LEAST_FORM: f32 = 1.5;

/// Words of assent and progress, English, German, French: no subject of a note.
const ASSENT: &[&str] = &[
    "ok",
    "okay",
    "yes",
    "no",
    "fine",
    "good",
    "great",
    "thank",
    "thanks",
    "done",
    "go",
    "going",
    "continue",
    "continued",
    "now",
    "today",
    "tomorrow",
    "later",
    "ran",
    "run",
    "look",
    "looked",
    "started",
    "finished",
    "will",
    "all",
    "green",
    "nothing",
    "do",
    "little",
    "session",
    "again",
    "ja",
    "nein",
    "gut",
    "danke",
    "fertig",
    "erledigt",
    "weiter",
    "jetzt",
    "morgen",
    "alles",
    "grün",
    "begonnen",
    "nichts",
    "tun",
    "schaue",
    "etwas",
    "vorerst",
    "laufen",
    "lassen",
    "sitzung",
    "oui",
    "non",
    "bien",
    "merci",
    "fini",
    "suite",
    "demain",
    "vert",
    "rien",
    "faire",
    "instant",
    "pour",
    "peu",
    "tout",
    "est",
    "regardé",
    "démarrée",
    "lancés",
    "regarderai",
    "je",
    "ich",
    "mir",
];

static ASSENT_STEMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| ASSENT.iter().map(|word| stem(&fold(word)).to_string()).collect());

/// Content words that a piece of chatter must share with another text to be about the same.
const CHATTER_SHARES: usize = 2;

/// What a text is made of, seen as a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether the text is a record of a fixed form that states nothing.
    pub formal: bool,
    /// The form was learned from copies.
    pub learned: bool,
    /// A word on how work goes: no record, and no statement.
    pub chatter: bool,
    /// What varies between copies of the form: slots, and words that are not the form's.
    pub subject: BTreeSet<String>,
    /// The form: its words in order, each run of slots and other words one `#`.
    pub skeleton: String,
}

impl Form {
    /// Looks at `text`.
    pub fn of(text: &str) -> Self {
        let parts = take_apart(text);
        let (form, other): (Vec<&String>, Vec<&String>) =
            parts.words.iter().partition(|word| FORM_WORDS.contains(*word));
        let beyond: BTreeSet<&String> = other.into_iter().collect();
        let frame = (form.len() + parts.slots.len()) as f32;
        let formal = !parts.slots.is_empty()
            && !form.is_empty()
            && beyond.len() <= MOST_WORDS
            && frame >= LEAST_FORM * beyond.len() as f32;
        let chatter = !formal && matches!(substance(text), Substance::Trivial(_));
        let slots = parts.slots.iter().filter(|slot| names_something(slot));
        let mut subject: BTreeSet<String> = slots.chain(beyond).cloned().collect();
        if chatter {
            subject.retain(|word| !ASSENT_STEMS.contains(word));
        }
        Self { formal, learned: false, chatter, subject, skeleton: skeleton(&parts) }
    }

    /// Whether the text is compared by its subject alone.
    pub fn is_empty_of_fact(&self) -> bool {
        self.formal || self.chatter
    }

    /// Whether so much of the subject is shared that two texts, one of which states nothing, are
    /// about one thing.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        let enough = !(self.chatter || other.chatter)
            || self.subject.intersection(&other.subject).count() >= CHATTER_SHARES;
        enough && self.overlap(other) > SUBJECT_SHARE
    }

    /// Share of the smaller subject that is in the other one, 0 where one has none.
    pub fn overlap(&self, other: &Self) -> f32 {
        let smaller = self.subject.len().min(other.subject.len());
        if smaller == 0 {
            return 0.0;
        }
        self.subject.intersection(&other.subject).count() as f32 / smaller as f32
    }
}

/// Whether a slot can be what a record is about: not a date, a time or a bare count.
fn names_something(slot: &str) -> bool {
    let dated = slot.len() >= 10 && slot.as_bytes()[4] == b'-' && slot.as_bytes()[7] == b'-';
    !dated && slot.chars().any(|ch| !ch.is_ascii_digit() && !"+-:".contains(ch))
}

/// Form words in alphabetical order, so that `bump x from 1 to 2` and `bump x from 1 to 2 in /ui`
/// differ while the order of slots does not matter.
fn skeleton(parts: &Parts) -> String {
    let words: BTreeSet<&str> =
        parts.words.iter().filter(|word| FORM_WORDS.contains(*word)).map(String::as_str).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formal(text: &str) -> bool {
        Form::of(text).formal
    }

    #[test]
    fn records_of_a_fixed_form_are_formal() {
        assert!(formal("chore(deps): bump ruby/setup-ruby from 1.269.0 to 1.270.0"));
        assert!(formal("harbor: release: 6.2.1"));
        assert!(formal("More information: https://example.org/manual/wc.html."));
        assert!(formal(
            "AUTO-SESSION-SAVE 2026-05-04 06:24 project=harbor files changed: 2 (+3 -173): \
             docs/development.md, go.mod; decisions: none; open questions: none"
        ));
        assert!(formal("Merge branch 'main' into release/2.1"));
    }

    #[test]
    fn statements_are_not_formal_even_if_short_or_full_of_numbers() {
        assert!(!formal("The staging database listens on port 5433"));
        assert!(!formal("Deploys happen on Tuesdays"));
        assert!(!formal("Update the retry budget to 5 because the vendor limits requests"));
        assert!(!formal("Keep `flow_run_id` stable until version 2.0"));
    }

    #[test]
    fn chatter_is_about_its_content_words() {
        let same = |a: &str, b: &str| Form::of(a).is_about_the_same(&Form::of(b));
        for (a, b) in [
            ("ok, go on", "ok, importer done"),
            ("ok, importer done", "ok, importer fine"),
            ("Pushed the branch.", "Started the session."),
            ("weiter mit dem Importer", "ok, Importer vorerst fertig"),
        ] {
            assert!(Form::of(a).chatter && Form::of(b).chatter, "{a} / {b}");
            assert!(!same(a, b), "{a} / {b}");
        }
        assert!(same("No trailing slash in berth URLs", "Berth URLs have no trailing slash"));
    }

    #[test]
    fn only_the_subject_of_two_records_is_compared() {
        let bump = |name: &str| Form::of(&format!("Bump {name} from 5.1.4 to 5.1.6 in /ui"));
        let save = |files: &str| {
            Form::of(&format!("AUTO-SESSION-SAVE 2026-05-04 project=harbor files changed: {files}"))
        };
        assert!(save("src/a.rs, src/b.rs").overlap(&save("docs/c.md, docs/d.md")) < 0.5);
        assert_eq!(bump("vite").overlap(&bump("vite")), 1.0);
        assert_eq!(Form::of("").overlap(&bump("vite")), 0.0);
    }
}
