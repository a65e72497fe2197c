//! Records of a fixed form: session saves, dependency bumps, release lines, pointers to a manual.
//!
//! Two records of one form look alike to an embedding model whatever they are about, so their
//! cosine says little. A text is *formal* when, its slots and the words of the form taken out,
//! hardly a word is left that could state something. Formal texts are compared by what varies
//! between copies of the form (the package, the files), not by their sentence.

use super::tokens::{Parts, fold, stem, take_apart};
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

/// Form words and slots a formal text has for each word beyond the form.
const LEAST_FORM: f32 = 1.5;

/// What a text is made of, seen as a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether the text is a record of a fixed form that states nothing.
    pub formal: bool,
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
        let slots = parts.slots.iter().filter(|slot| names_something(slot));
        let subject = slots.chain(beyond).cloned().collect();
        Self { formal, subject, skeleton: skeleton(&parts) }
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
