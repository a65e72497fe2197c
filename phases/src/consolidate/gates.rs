//! The gates: what a text must pass before any source is retired for it. Each is a pure check of
//! the text against its sources; none trusts the model that wrote it.

use super::coverage::capitals_are_grammar;
use super::echo::echo;
use super::facts::{Fact, FactKind, Facts, contains_token, duration_parts, flat};
use super::negation::negations;
use super::note::Note;
use super::sentences::sentences;
use super::swapped::swapped;
use super::values::{Comparison, words};
use super::wording::{bounds, marks_former, multiplier, reversed, unknown_subject, unsupported};
use super::words::{is_stop, stem, unit};
use std::fmt;

/// Why a text was refused; the name is the counter.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A number, name, path, … that is in no source.
    InventedFact(String),
    /// A sentence of which the sources say hardly a word.
    Unsupported(String),
    /// Too little of what the sources state; the share kept.
    Lossy(f64),
    /// A rule lost its "not".
    NegationLost(String),
    /// A rule got a "not".
    NegationAdded(String),
    /// "enabled" became "disabled", "before" became "after".
    Reversed(String),
    /// "at most" became "at least".
    BoundChanged(String),
    /// A value or a name was given to another thing.
    Swapped(String),
    /// A former value is stated as the current one.
    StaleValue(String),
    /// The current value is missing.
    NewestMissing(String),
    /// Words of the instructions, or talk about them.
    LeakedRules(String),
    /// Little else than pieces of the prompt.
    Echo(String),
    /// A text that fits anything.
    SaysNothing,
    /// What a tool was given, or what the user asked for, repeated.
    RepeatsCall(String),
    /// A text that has next to nothing to do with the events.
    NotInEvents(String),
    /// A title that fits anything.
    GenericTitle(String),
    /// "The user …" where no user spoke.
    BadAttribution,
    /// Markup or JSON in the text.
    Markup(String),
    /// Fewer than two sources are covered.
    SingleSource,
    /// Longer than an entry may be (bytes).
    TooLong(usize),
}

impl Refusal {
    /// The counter's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InventedFact(_) => "invented_fact",
            Self::Unsupported(_) => "unsupported",
            Self::Lossy(_) => "lossy_merge",
            Self::NegationLost(_) => "negation_lost",
            Self::NegationAdded(_) => "negation_added",
            Self::Reversed(_) => "reversed",
            Self::BoundChanged(_) => "bound_changed",
            Self::Swapped(_) => "swapped_value",
            Self::StaleValue(_) => "stale_value",
            Self::NewestMissing(_) => "newest_missing",
            Self::LeakedRules(_) => "leaked_rules",
            Self::Echo(_) => "echo_of_prompt",
            Self::SaysNothing => "says_nothing",
            Self::RepeatsCall(_) => "repeats_the_call",
            Self::NotInEvents(_) => "not_in_events",
            Self::GenericTitle(_) => "generic_title",
            Self::BadAttribution => "bad_attribution",
            Self::Markup(_) => "markup",
            Self::SingleSource => "single_source",
            Self::TooLong(_) => "too_long",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::InventedFact(what) => write!(f, ": \"{what}\" is in no source"),
            Self::Lossy(share) => {
                write!(f, ": keeps {:.0} % of what the sources state", share * 100.0)
            }
            Self::Unsupported(what)
            | Self::NegationLost(what)
            | Self::NegationAdded(what)
            | Self::Reversed(what)
            | Self::BoundChanged(what)
            | Self::Swapped(what) => write!(f, ": \"{what}\""),
            Self::StaleValue(what) => write!(f, ": states \"{what}\", which no longer holds"),
            Self::NewestMissing(what) => write!(f, ": does not state \"{what}\""),
            Self::LeakedRules(what)
            | Self::GenericTitle(what)
            | Self::Markup(what)
            | Self::Echo(what)
            | Self::RepeatsCall(what)
            | Self::NotInEvents(what) => write!(f, ": \"{what}\""),
            Self::TooLong(bytes) => write!(f, ": {bytes} bytes"),
            Self::BadAttribution | Self::SingleSource | Self::SaysNothing => Ok(()),
        }
    }
}

/// A text under examination.
pub struct Claim<'a> {
    /// Heading.
    pub title: &'a str,
    /// The text as the model wrote it.
    pub text: &'a str,
    /// Every note of the cluster.
    pub notes: &'a [Note],
    /// Indices of the notes it is made of.
    pub sources: &'a [usize],
    /// What replaces what among the notes.
    pub found: &'a Comparison,
    /// The rules of the prompt.
    pub rules: &'a str,
}

/// Every gate the claim does not pass, in a fixed order.
pub fn refusals(claim: &Claim<'_>) -> Vec<Refusal> {
    let facts = Facts::of(claim.text);
    let mut found = Vec::new();
    found.extend(invented(claim, &facts));
    found.extend(unsupported(claim).map(Refusal::Unsupported));
    found.extend(negations(claim));
    found.extend(reversed(claim));
    found.extend(bounds(claim));
    found.extend(swapped(claim));
    found.extend(values(claim, &facts));
    found.extend(leaked(claim).or_else(|| echoed(claim)));
    found.extend(generic_title(claim));
    found.extend(attribution(claim));
    found.extend(markup(claim));
    found
}

/// The gates that also hold where a text is made of events instead of notes: nothing invented, no
/// leaked instruction, no echo of the prompt, no markup.
pub(crate) fn of_events(claim: &Claim<'_>) -> Vec<Refusal> {
    let facts = Facts::of(claim.text);
    let told = leaked(claim).or_else(|| echoed(claim));
    let found = [told, invented(claim, &facts), markup(claim)];
    found.into_iter().flatten().collect()
}

/// Whether title or text is little else than pieces of the prompt.
fn echoed(claim: &Claim<'_>) -> Option<Refusal> {
    if claim.rules.is_empty() {
        return None;
    }
    let said: Vec<String> =
        claim.notes.iter().map(|note| format!(" {} ", words(&note.entry.text).join(" "))).collect();
    let known = |run: &str| said.iter().any(|note| note.contains(&format!(" {run} ")));
    let of = |text: &str| echo(text, claim.rules, &known).map(Refusal::Echo);
    of(claim.text).or_else(|| of(claim.title))
}

/// Whether a title would fit anything.
pub(crate) fn is_generic(claim: &Claim<'_>) -> bool {
    claim.title.trim().is_empty() || generic_title(claim).is_some()
}

/// General acronyms that name nothing in particular.
const ACRONYMS: &[&str] =
    &["api", "http", "https", "json", "ci", "sql", "url", "id", "ui", "cli", "os", "db", "ok"];

/// Facts of the text or the title that no note states.
fn invented(claim: &Claim<'_>, facts: &Facts) -> Option<Refusal> {
    let names_count = !capitals_are_grammar(claim.notes);
    let title = Facts::of(claim.title);
    let of_title = title.facts.iter().filter(|fact| fact.kind != FactKind::Name);
    let unknown = facts
        .facts
        .iter()
        .filter(|fact| fact.kind != FactKind::Name || names_count)
        .chain(of_title)
        .find(|fact| !ACRONYMS.contains(&fact.key.as_str()) && !known(claim.notes, fact))
        .map(|fact| fact.shown.clone());
    unknown
        .or_else(|| multiplier(claim))
        .or_else(|| unknown_subject(claim).filter(|_| names_count))
        .map(Refusal::InventedFact)
}

fn known(notes: &[Note], fact: &Fact) -> bool {
    notes.iter().any(|note| {
        (note.facts.states(fact) && has_unit(note, fact))
            || match fact.kind {
                FactKind::Number => {
                    is_part(&note.facts, fact)
                        || is_year(note, &fact.key)
                        || is_small_word(note, &fact.key)
                }
                FactKind::Date => note.day.starts_with(&fact.key) || note.day.ends_with(&fact.key),
                FactKind::Name => note.facts.says(&stem(&fact.key)),
                FactKind::Code => note.facts.flat.contains(&fact.key),
                FactKind::Identifier => {
                    note.facts.flat.contains(&fact.key.replace('-', " "))
                        && !fact.key.chars().any(|ch| ch.is_ascii_digit())
                }
                _ => false,
            }
    })
}

/// Whether a note that states a number gives it this unit, or none while the unit stands elsewhere
/// in it ("12 to 24 minutes", `timeout_ms = 5000`). A unit that is in no source is invented.
fn has_unit(note: &Note, fact: &Fact) -> bool {
    let Some(wanted) = fact.unit else { return true };
    let same = |own: &&Fact| own.kind == FactKind::Number && own.key == fact.key;
    let own: Vec<&Fact> = note.facts.facts.iter().filter(same).collect();
    let agrees = |own: &&Fact| {
        own.unit.is_some_and(|unit| unit == wanted || (wanted == "min" && unit == "m"))
    };
    let mentioned = || {
        words(&note.facts.flat)
            .iter()
            .flat_map(|word| word.split('_').map(str::to_string).collect::<Vec<_>>())
            .any(|word| {
                let letters = word.trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
                unit(letters) == Some(wanted)
            })
            || (wanted == "%" && note.facts.flat.contains('%'))
    };
    own.is_empty()
        || own.iter().any(agrees)
        || (own.iter().any(|one| one.unit.is_none()) && mentioned())
}

/// `1` and `2` where a source says "one" or "both".
fn is_small_word(note: &Note, key: &str) -> bool {
    const ONE: &[&str] = &["one", "single", "once", "un", "une", "ein", "eine", "einen"];
    const TWO: &[&str] = &["two", "both", "twice", "deux", "zwei", "beide", "beiden"];
    let words = match key {
        "1" => ONE,
        "2" => TWO,
        _ => return false,
    };
    words.iter().any(|word| contains_token(&note.facts.flat, word))
}

/// `14 min` where a source says `14m20s`.
fn is_part(source: &Facts, fact: &Fact) -> bool {
    source.facts.iter().any(|own| {
        duration_parts(&own.key)
            .iter()
            .any(|(number, unit)| *number == fact.key && fact.unit.is_none_or(|u| u == *unit))
    })
}

fn is_year(note: &Note, key: &str) -> bool {
    key.len() == 4
        && (note.day.starts_with(key)
            || note.facts.facts.iter().any(|f| f.kind == FactKind::Date && f.key.starts_with(key)))
}

/// Of two values for the same thing the newest is stated, and the older only as a former one.
fn values(claim: &Claim<'_>, facts: &Facts) -> Vec<Refusal> {
    let mut found = Vec::new();
    for one in &claim.found.superseded {
        let old = &one.old_value;
        if let Some(new) = &one.new_value
            && claim.sources.contains(&one.new_note)
            && !claim.found.is_former(one.new_note, new)
            && !facts.states(new)
        {
            found.push(Refusal::NewestMissing(new.shown.clone()));
        }
        let elsewhere = claim.notes.iter().enumerate().any(|(n, note)| {
            super::coverage::current(n, note, claim.found)
                .any(|sentence| sentence.facts.states(old) && !marks_former(&sentence.text, old))
        });
        let stated = sentences(claim.text)
            .into_iter()
            .chain([claim.title.to_string()])
            .find(|sentence| Facts::of(sentence).states(old) && !marks_former(sentence, old));
        if let (Some(_), false) = (stated, elsewhere) {
            found.push(Refusal::StaleValue(old.shown.clone()));
        }
    }
    found
}

/// Words in a row that a text may share with the rules by chance.
const SHINGLE: usize = 6;
/// Talk about the task instead of its result.
const TALK: &[&str] = &[
    "these notes",
    "the notes",
    "the provided notes",
    "given notes",
    "merged entry",
    "merge the notes",
    "merging notes",
    "merge related notes",
    "json object",
    "as an ai",
    "language model",
    "i'm ready",
    "i am ready",
    "ces notes",
    "les notes fournies",
    "diese notizen",
];

fn leaked(claim: &Claim<'_>) -> Option<Refusal> {
    let text = flat(&format!("{}\n{}", claim.title, claim.text));
    let in_sources = |words: &str| claim.notes.iter().any(|note| note.facts.flat.contains(words));
    if let Some(talk) = TALK.iter().find(|talk| text.contains(*talk) && !in_sources(talk)) {
        return Some(Refusal::LeakedRules((*talk).to_string()));
    }
    let rules = words(claim.rules);
    let own = format!(" {} ", words(&text).join(" "));
    rules.windows(SHINGLE).map(|window| window.join(" ")).find_map(|shingle| {
        let in_text = own.contains(&format!(" {shingle} "));
        let in_notes =
            || claim.notes.iter().any(|note| words(&note.entry.text).join(" ").contains(&shingle));
        (in_text && !in_notes()).then_some(Refusal::LeakedRules(shingle))
    })
}

/// Words that fit any title.
const GENERIC: &[&str] = &[
    "merge",
    "merged",
    "note",
    "notes",
    "session",
    "recap",
    "summary",
    "overview",
    "update",
    "updates",
    "project",
    "entry",
    "knowledge",
    "information",
    "info",
    "details",
    "general",
    "various",
    "title",
    "untitled",
    "several",
    "related",
    "important",
    "facts",
    "changes",
    "résumé",
    "récapitulatif",
    "projet",
    "zusammenfassung",
    "projekt",
    "notizen",
    "software",
    "development",
    "work",
    "log",
    "memory",
    "insight",
    "decision",
    "lasting",
];

/// A title needs one content word that is not generic and that the sources use. An empty title is
/// replaced by code, which is no refusal.
fn generic_title(claim: &Claim<'_>) -> Option<Refusal> {
    if claim.title.trim().is_empty() {
        return None;
    }
    let own = Facts::of(claim.title);
    let stems: Vec<String> = words(claim.title)
        .iter()
        .filter(|word| !is_stop(word) && !GENERIC.contains(&word.as_str()))
        .map(|word| stem(word))
        .collect();
    let used = stems.iter().any(|s| claim.notes.iter().any(|note| note.facts.says(s)))
        || own.hard().any(|fact| known(claim.notes, fact))
        || stems
            .iter()
            .any(|s| claim.notes.iter().any(|note| note.facts.flat.contains(s.as_str())));
    (!used).then(|| Refusal::GenericTitle(claim.title.to_string()))
}

pub(crate) const USER: &[&str] = &[
    "the user",
    "user",
    "l'utilisateur",
    "l'utilisatrice",
    "der nutzer",
    "der benutzer",
    "der anwender",
];

/// Whether a text speaks in the name of the user.
pub fn speaks_of_user(text: &str) -> bool {
    sentences(text).iter().any(|sentence| {
        let sentence = flat(sentence);
        USER.iter().any(|user| {
            sentence.strip_prefix(user).is_some_and(|rest| rest.starts_with([' ', '\'']))
        })
    })
}

fn attribution(claim: &Claim<'_>) -> Option<Refusal> {
    let by_user = claim.sources.iter().any(|&n| claim.notes[n].is_user());
    let told = claim.notes.iter().any(|note| {
        ["user", "users", "utilisateur", "nutzer", "benutzer"]
            .iter()
            .any(|word| contains_token(&note.facts.flat, word))
    });
    (!by_user && !told && speaks_of_user(claim.text)).then_some(Refusal::BadAttribution)
}

/// Traces of the wire in the text.
const MARKUP: &[&str] = &[
    "```",
    "{\"",
    "\"}",
    "<think",
    "</think",
    "begin notes",
    "end notes",
    "begin events",
    "end events",
    "<|",
    "lifecycle:internal",
    "lifecycle:begin",
    "lifecycle:end",
    "<lifecycle",
];

fn markup(claim: &Claim<'_>) -> Option<Refusal> {
    let text = flat(&format!("{}\n{}", claim.title, claim.text));
    MARKUP
        .iter()
        .find(|mark| {
            text.contains(*mark) && !claim.notes.iter().any(|note| note.facts.flat.contains(*mark))
        })
        .map(|mark| Refusal::Markup((*mark).to_string()))
}
