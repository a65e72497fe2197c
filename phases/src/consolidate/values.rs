//! Which statement of a cluster replaces which, and which contradict each other.
//!
//! Two clauses state *different values of the same thing* where they share their subject, the unit
//! or counted noun, and the scope ("in winter", "per key"), and differ in the value, and neither is
//! told apart by a qualifier of its own ("API server", "admin server"). Then the newer
//! one holds; without an order in time, and without a word that says which is the change, it is a
//! conflict for people. A clause that says "moved from X to Y" or "X is no longer used" replaces
//! older rules that still tell to use X. A sentence in the past tense is history, never stale.

use super::facts::{Fact, FactKind, Facts, contains_token, flat};
use super::note::Note;
use super::sentences::clauses;
use super::wording::marks_former;
use super::words::{is_change, is_negation, is_past, is_scope, is_stop, stem, unit};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Share of the shorter subject that two clauses must have in common.
const SAME_SUBJECT: f64 = 0.6;
/// The same where the newer one says that something changed.
const SAME_SUBJECT_CHANGED: f64 = 0.4;

/// A statement that a newer one replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// Index of the older note.
    pub old_note: usize,
    /// Index of the sentence in it.
    pub old_sentence: usize,
    /// The value or term that no longer holds.
    pub old_value: Fact,
    /// Index of the newer note.
    pub new_note: usize,
    /// The value or term that holds; `None` where something was only given up.
    pub new_value: Option<Fact>,
}

/// Two statements of which dates do not say which holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Index of the first note.
    pub a: usize,
    /// Index of the sentence in it.
    pub a_sentence: usize,
    /// Index of the second note.
    pub b: usize,
    /// Index of the sentence in it.
    pub b_sentence: usize,
    /// Both statements.
    pub about: String,
}

/// What [`compare`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Statements that no longer hold.
    pub superseded: Vec<Superseded>,
    /// Statements that contradict each other.
    pub contradictions: Vec<Contradiction>,
}

impl Comparison {
    /// Whether that sentence of that note states what no longer holds.
    pub fn is_stale(&self, note: usize, sentence: usize) -> bool {
        self.superseded.iter().any(|s| s.old_note == note && s.old_sentence == sentence)
    }

    /// Whether that value of that note, new at its time, was itself replaced later.
    pub fn is_former(&self, note: usize, value: &Fact) -> bool {
        self.superseded.iter().any(|s| {
            s.old_note == note && s.old_value.key == value.key && s.old_value.unit == value.unit
        })
    }
}

/// A clause prepared for comparison.
struct Clause {
    note: usize,
    sentence: usize,
    text: String,
    facts: Facts,
    /// Stems of what it speaks of.
    subject: BTreeSet<String>,
    /// `preposition noun` pairs.
    scope: BTreeSet<String>,
    changed: bool,
    past: bool,
    negated: bool,
}

/// Compares every clause with every newer one.
pub fn compare(notes: &[Note]) -> Comparison {
    let clauses = all_clauses(notes);
    let mut found = Comparison::default();
    for (i, old) in clauses.iter().enumerate() {
        for new in &clauses[i + 1..] {
            if old.note != new.note {
                pair(old, new, notes, &mut found);
            }
        }
    }
    for new in &clauses {
        replacements(new, &clauses, notes, &mut found);
    }
    settle(&mut found);
    found
}

/// Two values of one day that a later note replaced both contradict nothing any more.
fn settle(found: &mut Comparison) {
    let superseded = &found.superseded;
    let gone = |note: usize, sentence: usize| {
        superseded.iter().any(|s| s.old_note == note && s.old_sentence == sentence)
    };
    found.contradictions.retain(|c| !(gone(c.a, c.a_sentence) && gone(c.b, c.b_sentence)));
}

fn all_clauses(notes: &[Note]) -> Vec<Clause> {
    let mut found = Vec::new();
    for (n, note) in notes.iter().enumerate() {
        for (s, sentence) in note.sentences.iter().enumerate() {
            for text in clauses(&sentence.text) {
                found.push(clause(n, s, text));
            }
        }
    }
    found
}

fn clause(note: usize, sentence: usize, text: &str) -> Clause {
    let words: Vec<String> = words(text);
    let facts = Facts::of(text);
    let mut subject = facts.words.clone();
    subject.extend(facts.facts.iter().filter(|f| is_thing(f.kind)).map(|f| stem(&f.key)));
    Clause {
        note,
        sentence,
        text: text.to_string(),
        subject,
        scope: scope(&words),
        changed: words.iter().any(|word| is_change(word)),
        past: words.iter().any(|word| is_past(word)),
        negated: words.iter().any(|word| is_negation(word)),
        facts,
    }
}

fn is_thing(kind: FactKind) -> bool {
    !matches!(kind, FactKind::Number | FactKind::Date)
}

/// Words in lower case, numbers included.
pub fn words(text: &str) -> Vec<String> {
    text.replace('’', "'")
        .split(|ch: char| !(ch.is_alphanumeric() || matches!(ch, '_' | '-' | '\'' | '.')))
        .map(|word| word.trim_matches(['.', '-', '\'']).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Words before an "in FILE" that says where a value is written down, not where it holds.
const WRITTEN: &[&str] = &[
    "set",
    "defined",
    "configured",
    "stated",
    "declared",
    "found",
    "kept",
    "stored",
    "documented",
    "written",
    "lives",
    "gesetzt",
    "definiert",
    "steht",
    "eingestellt",
    "défini",
    "définie",
    "fixé",
    "fixée",
    "configuré",
    "configurée",
];

fn scope(words: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let is_file = |at: usize| words.get(at).is_some_and(|word| word.contains('.'));
    for (i, word) in words.iter().enumerate() {
        let is_written = i > 0 && WRITTEN.contains(&words[i - 1].as_str());
        if is_scope(word) && !(is_written && (is_file(i + 1) || is_file(i + 2))) {
            let noun = (i + 1..words.len()).take(3).find(|&at| !is_stop(&words[at]));
            // "on port 8080" names what is counted, not where it holds.
            let counted = |at: usize| words.get(at + 1).is_some_and(|next| is_digits(next));
            let noun = noun.filter(|&at| unit(&words[at]).is_none() && !counted(at));
            found.extend(noun.map(|at| stem(&words[at])));
        }
    }
    found
}

fn is_digits(word: &str) -> bool {
    word.starts_with(|ch: char| ch.is_ascii_digit())
}

/// Whether `stem` is in `subject`: as it is, abbreviated (`dev`), or as `time out` for `timeout`.
fn speaks(clause: &Clause, stem: &str) -> bool {
    let short = |a: &str, b: &str| is_short(a, b) || is_short(b, a);
    clause.subject.iter().any(|own| own == stem || short(own, stem))
        || clause.facts.joined.iter().any(|(_, joined)| joined == stem)
}

/// Words that developers cut short.
fn is_short(short: &str, long: &str) -> bool {
    matches!(short, "dev" | "prod" | "env" | "config" | "doc" | "repo" | "auth" | "max" | "min")
        && long.len() > short.len()
        && long.starts_with(short)
}

/// How many words of `a` the other clause has as well.
fn common(a: &Clause, b: &Clause) -> usize {
    let joined = |word: &String| {
        a.facts.joined.iter().any(|(first, joined)| first == word && b.subject.contains(joined))
    };
    a.subject.iter().filter(|word| speaks(b, word) || joined(word)).count()
}

/// Words of which a statement about one thing has one: another one speaks of another thing.
const ALTERNATIVES: &[&[&[&str]]] = &[
    &[
        &["dev", "development", "local", "locally"],
        &["prod", "production"],
        &["staging"],
        &["test", "tests", "testing"],
    ],
    &[&["min", "minimum", "least", "lower"], &["max", "maximum", "most", "upper"]],
    &[&["read"], &["write"], &["connect"], &["idle"]],
    &[&["soft"], &["hard"]],
];

fn alternatives(old: &Clause, new: &Clause) -> bool {
    let (old, new) = (words(&old.text), words(&new.text));
    ALTERNATIVES.iter().any(|group| {
        let of = |words: &[String]| -> Vec<usize> {
            let has = |i: &usize| words.iter().any(|word| group[*i].contains(&word.as_str()));
            (0..group.len()).filter(has).collect()
        };
        let (a, b) = (of(&old), of(&new));
        !a.is_empty() && !b.is_empty() && !a.iter().any(|i| b.contains(i))
    })
}

/// Whether a word that both have is qualified in each by a word that the other one does not have:
/// "the API server" and "the admin server".
fn named_apart(old: &Clause, new: &Clause) -> bool {
    let (a, b) = (qualified(old), qualified(new));
    a.iter().any(|(qualifier, head)| {
        b.iter().any(|(other, same)| head == same && !speaks(new, qualifier) && !speaks(old, other))
    })
}

/// Neighbouring content words, as stems.
fn qualified(clause: &Clause) -> Vec<(String, String)> {
    let plain = |word: &String| {
        !is_stop(word)
            && !is_change(word)
            && !is_digits(word)
            && word != "set"
            && unit(word).is_none()
    };
    let words = words(&clause.text);
    let pairs = words.windows(2).filter(|pair| pair.iter().all(plain));
    pairs.map(|pair| (stem(&pair[0]), stem(&pair[1]))).collect()
}

/// Whether all that limits `a` is said by `b` too, there as a scope or as part of the name.
fn scope_within(a: &Clause, b: &Clause) -> bool {
    a.scope.iter().all(|word| b.scope.contains(word) || speaks(b, word))
}

/// Two clauses of different notes, `old` the earlier one in order.
fn pair(old: &Clause, new: &Clause, notes: &[Note], found: &mut Comparison) {
    let shared = common(old, new).min(common(new, old));
    let least = old.subject.len().min(new.subject.len());
    if shared == 0 || least == 0 {
        return;
    }
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = shared as f64 / least as f64;
    let differ = values_differ(old, new, share, shared).or_else(|| denied(old, new));
    let Some((old_value, new_value)) = differ else { return };
    let ordered = notes[old.note].time < notes[new.note].time;
    if ordered || (new.changed && !old.changed) {
        found.superseded.push(superseded(old, new, old_value, new_value));
    } else if old.changed && !new.changed {
        if let Some(value) = new_value {
            found.superseded.push(superseded(new, old, value, Some(old_value)));
        }
    } else {
        found.contradictions.push(Contradiction {
            a: old.note,
            a_sentence: old.sentence,
            b: new.note,
            b_sentence: new.sentence,
            about: format!("\"{}\" against \"{}\"", old.text, new.text),
        });
    }
}

fn superseded(old: &Clause, new: &Clause, old_value: Fact, new_value: Option<Fact>) -> Superseded {
    Superseded {
        old_note: old.note,
        old_sentence: old.sentence,
        old_value,
        new_note: new.note,
        new_value,
    }
}

/// The values in which two clauses about the same thing differ.
fn values_differ(
    old: &Clause,
    new: &Clause,
    share: f64,
    shared: usize,
) -> Option<(Fact, Option<Fact>)> {
    let needed = if new.changed { SAME_SUBJECT_CHANGED } else { SAME_SUBJECT };
    let same_scope = scope_within(old, new) && (new.changed || scope_within(new, old));
    if share < needed
        || !same_scope
        || old.past
        || things_differ(old, new)
        || alternatives(old, new)
        || named_apart(old, new)
    {
        return None;
    }
    let old_values = numbers(old);
    // "30 days now, no longer 14" says itself what it replaces.
    let replaces = old_values.iter().any(|a| gives_up(new, a));
    if shared < 2 && old.subject.len() > 1 && !replaces {
        return None;
    }
    let new_values = numbers(new);
    let (before, after) = old_values.iter().find_map(|a| {
        let b = new_values
            .iter()
            .find(|b| !(b.key == a.key && gives_up(new, b)) && same_slot(old, a, new, b))?;
        (a.key != b.key).then_some((a, b))
    })?;
    let restated = (new.facts.states(before) && !gives_up(new, before)) || old.facts.states(after);
    (!restated).then(|| ((*before).clone(), Some((*after).clone())))
}

/// Whether a clause names the value as one that held before.
fn gives_up(clause: &Clause, value: &Fact) -> bool {
    clause.facts.states(value) && marks_former(&clause.text, value)
}

/// The values of a clause; a number that only tells one thing from the next ("Ticket 12: …",
/// "run 07") is none.
fn numbers(clause: &Clause) -> Vec<&Fact> {
    let is_value = |fact: &&Fact| fact.kind == FactKind::Number && !is_label(clause, fact);
    clause.facts.facts.iter().filter(is_value).collect()
}

fn is_label(clause: &Clause, number: &Fact) -> bool {
    let padded = number.shown.len() > 1
        && number.shown.starts_with('0')
        && number.shown.bytes().all(|byte| byte.is_ascii_digit());
    padded || clause.text.contains(&format!(" {}: ", number.shown))
}

/// Each names a thing that the other does not: then they speak of two things.
fn things_differ(old: &Clause, new: &Clause) -> bool {
    let alone = |a: &Clause, b: &Clause| {
        a.facts.facts.iter().any(|fact| is_thing(fact.kind) && !b.facts.states(fact))
    };
    alone(old, new) && alone(new, old)
}

/// Whether two numbers fill the same place: the same unit or counted noun after them, and a common
/// content word before them.
fn same_slot(old: &Clause, a: &Fact, new: &Clause, b: &Fact) -> bool {
    let (before_a, after_a) = around(&old.text, a);
    let (before_b, after_b) = around(&new.text, b);
    let led = before_a.iter().any(|word| before_b.contains(word));
    let followed = match (a.unit, b.unit) {
        (Some(x), Some(y)) => x == y && !measures_other(&old.text, a, &new.text, b),
        (None, None) => after_a == after_b,
        _ => false,
    };
    led && followed
}

/// "512 MB of memory" and "20 MB of swap".
fn measures_other(old: &str, a: &Fact, new: &str, b: &Fact) -> bool {
    let of = |text: &str, number: &Fact| {
        let after = words(text.split_once(number.shown.as_str())?.1);
        let of = after.iter().take(2).position(|word| matches!(word.as_str(), "of" | "de"))?;
        after.get(of + 1).map(|noun| stem(noun))
    };
    matches!((of(old, a), of(new, b)), (Some(a), Some(b)) if a != b)
}

/// Stems before a number, and the stem of the noun after it.
fn around(text: &str, number: &Fact) -> (BTreeSet<String>, Option<String>) {
    let (before, after) = text.split_once(number.shown.as_str()).unwrap_or((text, ""));
    let before =
        words(before).iter().filter(|word| !is_stop(word)).map(|word| stem(word)).collect();
    let after = after.split(['.', ',', ';', ')']).next().unwrap_or("");
    let noun = words(after).into_iter().next().filter(|word| !is_stop(word) && !is_scope(word));
    (before, noun.map(|noun| stem(&noun)))
}

/// One states what the other denies, in nearly the same words.
fn denied(old: &Clause, new: &Clause) -> Option<(Fact, Option<Fact>)> {
    let shared = old.subject.intersection(&new.subject).count();
    let all = old.subject.union(&new.subject).count();
    let same = shared >= 2 && shared * 5 >= all * 4 && old.scope == new.scope;
    if !same || old.negated == new.negated || old.past {
        return None;
    }
    let whole =
        Fact { kind: FactKind::Code, key: flat(&old.text), unit: None, shown: old.text.clone() };
    Some((whole, None))
}

static REPLACES: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    let term = r"`?([\p{L}\p{N}_@./+-]*[\p{L}\p{N}_])`?";
    [
        format!(r"(?i)\b(?:moved|switched|migrated|changed|passés?|passé)\s+(?:from|de)\s+{term}\s+(?:to|à|vers)\s+{term}"),
        format!(r"(?i)\b(?:replaced|remplacé|ersetzt)\s+(?:the\s+|le\s+|la\s+)?{term}\s+(?:by|with|par|durch)\s+(?:an?\s+|the\s+|un\s+|une\s+)?{term}"),
        format!(r"(?i)\b{term}\s+(?:is|are|was|were)\s+(?:no longer used|not used any ?more|deprecated|given up|dropped|abandoned)"),
        format!(r"(?i)\bno longer use[sd]?\s+{term}"),
        format!(r"(?i)\buse[sd]?\s+{term}\s+instead of\s+{term}"),
    ]
    .map(|pattern| Regex::new(&pattern).expect("the pattern is valid"))
});

/// Older rules that still tell to use what this clause gave up.
fn replacements(new: &Clause, clauses: &[Clause], notes: &[Note], found: &mut Comparison) {
    for (old_term, new_term) in terms(&new.text) {
        for old in clauses {
            let earlier = notes[old.note].time <= notes[new.note].time && old.note != new.note;
            let text = flat(&old.text);
            let uses = contains_token(&text, &old_term)
                && new_term.as_ref().is_none_or(|term| !contains_token(&text, term));
            if earlier && uses && !old.past && !old.changed && !old.negated {
                let fact = |term: &str| Fact {
                    kind: FactKind::Name,
                    key: term.to_string(),
                    unit: None,
                    shown: term.to_string(),
                };
                let entry = superseded(old, new, fact(&old_term), new_term.as_deref().map(fact));
                if !found.is_stale(old.note, old.sentence) {
                    found.superseded.push(entry);
                }
            }
        }
    }
}

/// `(given up, taken instead)` pairs that a clause names.
fn terms(text: &str) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for (i, pattern) in REPLACES.iter().enumerate() {
        for captures in pattern.captures_iter(text) {
            let one = flat(&captures[1]);
            let two = captures.get(2).map(|term| flat(term.as_str()));
            let (old, new) = match (i, two) {
                (4, Some(two)) => (two, Some(one)),
                (_, two) => (one, two),
            };
            if !is_stop(&old) && !found.iter().any(|(known, _)| *known == old) {
                found.push((old, new));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
