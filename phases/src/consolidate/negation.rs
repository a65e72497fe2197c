//! Whether a rule kept its "not" and its "only".

use super::coverage::{current, denies};
use super::gates::{Claim, Refusal};
use super::sentences::sentences;
use super::values::words;
use super::words::{is_negation, is_only, is_stop, stem};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A clause with the stems that it speaks of.
pub struct Clause {
    /// Its words.
    pub text: String,
    /// Stems of its content words.
    pub stems: BTreeSet<String>,
}

/// The clauses of a text: parts between commas, colons and brackets that speak of two things or
/// more.
pub fn fine_clauses(text: &str) -> Vec<Clause> {
    sentences(text).iter().flat_map(|sentence| parts(sentence)).filter(is_clause).collect()
}

fn is_clause(clause: &Clause) -> bool {
    clause.stems.len() >= 2
}

static BUT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:but|mais|aber|sondern|whereas|while)\b").expect("the pattern is valid")
});

fn parts(sentence: &str) -> Vec<Clause> {
    let halves = BUT.split(sentence).flat_map(|half| half.split([';', ':', '(', ')']));
    halves.flat_map(comma_parts).map(|text| Clause { stems: stems(&text), text }).collect()
}

/// Commas between digits belong to a number.
fn comma_parts(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let chars: Vec<char> = text.chars().collect();
    for (i, ch) in chars.iter().enumerate() {
        let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
        if *ch == ',' && !(i > 0 && digit(i - 1) && digit(i + 1)) {
            found.push(String::new());
        } else if let Some(last) = found.last_mut() {
            last.push(*ch);
        }
    }
    found
}

/// Stems of the content words; negations are no content.
pub fn stems(text: &str) -> BTreeSet<String> {
    words(text)
        .iter()
        .filter(|word| !is_stop(word) && !is_negation(word))
        .map(|word| stem(word))
        .collect()
}

/// Share of `a`'s stems that `b` has.
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
pub fn share(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    if a.is_empty() { 0.0 } else { a.intersection(b).count() as f64 / a.len() as f64 }
}

/// Share of stems at which two clauses speak of the same.
pub const SAME_CLAUSE: f64 = 0.75;

/// The clauses of the sources that still hold.
pub fn current_clauses(claim: &Claim<'_>) -> Vec<Clause> {
    claim
        .sources
        .iter()
        .flat_map(|&n| current(n, &claim.notes[n], claim.found))
        .flat_map(|sentence| fine_clauses(&sentence.text))
        .collect()
}

/// A rule that lost its "not" or its "only", or got a "not".
pub fn negations(claim: &Claim<'_>) -> Option<Refusal> {
    let sources = current_clauses(claim);
    let own = own_clauses(claim.text);
    lost(&sources, &own).or_else(|| added(claim, &sources, &own))
}

/// A clause of the claim with the denying clauses of its sentence.
struct Own {
    clause: Clause,
    /// The clause denies, or a part of its sentence that goes on about the same does.
    negated: Vec<BTreeSet<String>>,
    denies: bool,
    restricts: bool,
}

fn own_clauses(text: &str) -> Vec<Own> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let negated: Vec<BTreeSet<String>> = parts(&sentence)
            .into_iter()
            .filter(|part| words(&part.text).iter().any(|word| is_negation(word)))
            .map(|part| part.stems)
            .collect();
        let restricts = words(&sentence).iter().any(|word| is_only(word));
        for clause in parts(&sentence).into_iter().filter(is_clause) {
            let denies = words(&clause.text).iter().any(|word| is_negation(word));
            found.push(Own { clause, negated: negated.clone(), denies, restricts });
        }
    }
    found
}

impl Own {
    /// Whether the clause denies what `stems` speak of: itself, or another part of its sentence
    /// that shares a word with them ("On 409, never retry").
    fn denies_about(&self, stems: &BTreeSet<String>) -> bool {
        self.denies || self.negated.iter().any(|part| part.intersection(stems).next().is_some())
    }
}

fn lost(sources: &[Clause], own: &[Own]) -> Option<Refusal> {
    sources.iter().find_map(|source| {
        let source_words = words(&source.text);
        let only = source_words.iter().any(|word| is_only(word));
        let not = denies(&source.text);
        if !only && !not {
            return None;
        }
        // French "ne … que" is an "only".
        let either = source_words.iter().any(|word| word == "ne" || word.starts_with("n'"));
        let alike = |own: &&Own| share(&source.stems, &own.clause.stems);
        let best = own.iter().map(|own| alike(&own)).max_by(f64::total_cmp)?;
        let same = best >= SAME_CLAUSE;
        let keeps = |own: &Own| {
            let about = own.denies_about(&source.stems);
            about || (own.restricts && (either || !not))
        };
        // Where two clauses are as alike as any, one that keeps the word is enough.
        let kept = own.iter().filter(|own| alike(own) >= best).any(keeps);
        let turned = not && !kept_for_each_fact(source, sources, own);
        ((same && !kept) || turned).then(|| Refusal::NegationLost(source.text.trim().to_string()))
    })
}

/// A number or code that a denying clause names ("do not retry on 409 or 422") must not stand in a
/// clause of the claim that affirms the same.
fn kept_for_each_fact(source: &Clause, sources: &[Clause], own: &[Own]) -> bool {
    let is_code = |stem: &&String| stem.chars().any(|ch| ch.is_ascii_digit());
    let rest: BTreeSet<String> =
        source.stems.iter().filter(|stem| !is_code(stem)).cloned().collect();
    source.stems.iter().filter(is_code).all(|code| {
        let affirms = |clause: &Clause| {
            clause.stems.contains(code) && clause.stems.intersection(&rest).next().is_some()
        };
        let by_source = sources.iter().any(|one| affirms(one) && !denies(&one.text));
        by_source || !own.iter().any(|one| affirms(&one.clause) && !one.denies_about(&source.stems))
    })
}

fn added(claim: &Claim<'_>, sources: &[Clause], own: &[Own]) -> Option<Refusal> {
    own.iter().filter(|one| denies(&one.clause.text)).find_map(|one| {
        let clause = &one.clause;
        let alike: Vec<&Clause> = sources
            .iter()
            .filter(|source| share(&clause.stems, &source.stems) >= SAME_CLAUSE)
            .collect();
        let added = !alike.is_empty()
            && alike.iter().all(|source| !negated_in_sources(claim, &source.text))
            && !words(&clause.text)
                .iter()
                .any(|word| matches!(word.as_str(), "longer" | "anymore" | "plus"));
        added.then(|| Refusal::NegationAdded(clause.text.trim().to_string()))
    })
}

fn negated_in_sources(claim: &Claim<'_>, clause: &str) -> bool {
    claim.notes.iter().flat_map(|note| &note.sentences).any(|sentence| {
        sentence.text.contains(clause) && words(&sentence.text).iter().any(|word| is_negation(word))
    })
}
