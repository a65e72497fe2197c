//! Whether each value and each name still belongs to the thing that the sources give it to.
//!
//! Every number and name of a swapped statement occurs in the sources, so no look-up finds the
//! fault. A value is tied to the words before it: where a claim leads to a value with words by
//! which the sources lead to another one, and the sources lead to its own value by words that the
//! claim does not have, the two were swapped.

use super::facts::{Fact, FactKind, Facts, Part};
use super::gates::{Claim, Refusal};
use super::negation::fine_clauses;
use super::note::Note;
use super::values::words;
use super::words::{is_change, is_past, is_stop, stem};
use std::collections::BTreeSet;

/// Weight of a name of code or of a person beside a word.
const THING: f64 = 2.0;
/// Share of the claim's lead from which a source speaks of the same.
const SAME_LEAD: f64 = 0.75;
/// Verbs that say nothing about what a value belongs to.
const VERBS: &[&str] = &[
    "set", "mad", "kept", "keep", "tak", "took", "run", "need", "requir", "get", "got", "go",
    "last", "equal", "hav", "allow", "hold", "stay", "valu", "current",
];

/// A word or thing with its weight.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    name: String,
    weight: f64,
}

/// A number in its clause.
#[derive(Clone, Debug)]
struct Measure {
    number: Fact,
    /// What stands before it, after the number before.
    lead: Vec<Mark>,
    /// The content word right after it.
    noun: Option<String>,
    /// What follows it, where no other number does.
    tail: BTreeSet<String>,
    /// Everything in the clause.
    clause: BTreeSet<String>,
    text: String,
}

/// The numbers of a text, clause by clause.
fn measures(text: &str) -> Vec<Measure> {
    let mut found = Vec::new();
    for clause in fine_clauses(text) {
        let facts = Facts::of(&clause.text);
        let names: BTreeSet<String> =
            facts.order.iter().map(|part| name_of(part, &facts)).collect();
        let mut lead: Vec<Mark> = Vec::new();
        for (i, part) in facts.order.iter().enumerate() {
            match part {
                Part::Fact(at) if facts.facts[*at].kind == FactKind::Number => {
                    let next = facts.order.get(i + 1);
                    let noun = next.and_then(|next| match next {
                        Part::Word(stem) => Some(stem.clone()),
                        Part::Fact(_) => None,
                    });
                    found.push(Measure {
                        number: facts.facts[*at].clone(),
                        lead: std::mem::take(&mut lead),
                        noun,
                        tail: tail(&facts, i + 1),
                        clause: names.clone(),
                        text: clause.text.trim().to_string(),
                    });
                }
                Part::Fact(at) if facts.facts[*at].kind == FactKind::Date => {}
                Part::Fact(_) => lead.push(Mark { name: name_of(part, &facts), weight: THING }),
                Part::Word(stem) => lead.push(Mark { name: stem.clone(), weight: 1.0 }),
            }
        }
    }
    found
}

/// The names from there to the end; none where another number follows.
fn tail(facts: &Facts, from: usize) -> BTreeSet<String> {
    let rest = &facts.order[from..];
    let is_number =
        |part: &Part| matches!(part, Part::Fact(at) if facts.facts[*at].kind == FactKind::Number);
    if rest.iter().any(is_number) {
        return BTreeSet::new();
    }
    rest.iter().map(|part| name_of(part, facts)).collect()
}

impl Measure {
    /// Whether it is told with this word.
    fn has(&self, name: &str) -> bool {
        self.lead.iter().any(|mark| mark.name == name)
            || self.tail.contains(name)
            || self.noun.as_deref() == Some(name)
    }
}

fn name_of(part: &Part, facts: &Facts) -> String {
    match part {
        Part::Fact(at) => facts.facts[*at].key.clone(),
        Part::Word(stem) => stem.clone(),
    }
}

/// A value or a name that was given to another thing.
pub fn swapped(claim: &Claim<'_>) -> Option<Refusal> {
    let sources: Vec<Measure> =
        claim.notes.iter().flat_map(|note| measures(&note.entry.text)).collect();
    let own = measures(claim.text);
    own.iter()
        .find(|one| is_swapped(one, &sources, claim) || is_miscounted(one, &sources))
        .map(|one| one.text.clone())
        .or_else(|| small_miscount(claim, &sources))
        .or_else(|| renamed(claim))
        .map(Refusal::Swapped)
}

fn is_swapped(own: &Measure, sources: &[Measure], claim: &Claim<'_>) -> bool {
    let weight: f64 = own.lead.iter().map(|mark| mark.weight).sum();
    if weight < 2.0 {
        return false;
    }
    let same: Vec<&Measure> =
        sources.iter().filter(|source| source.number.key == own.number.key).collect();
    let others = sources
        .iter()
        .filter(|source| source.number.key != own.number.key && same_class(own, source));
    let led_elsewhere: Vec<&Measure> = others
        .filter(|other| {
            let lead: BTreeSet<&str> = other.lead.iter().map(|mark| mark.name.as_str()).collect();
            let shared: f64 = own
                .lead
                .iter()
                .filter(|mark| lead.contains(mark.name.as_str()))
                .map(|mark| mark.weight)
                .sum();
            shared / weight >= SAME_LEAD && !replaces(claim, other, own)
        })
        .collect();
    !led_elsewhere.is_empty()
        && !same.is_empty()
        && same.iter().all(|source| {
            let missing = own.lead.iter().any(|mark| {
                !source.clause.contains(&mark.name)
                    && led_elsewhere.iter().any(|other| other.lead.contains(mark))
            });
            let foreign = source.lead.iter().any(|mark| {
                !own.has(&mark.name)
                    && !is_change(&mark.name)
                    && !is_past(&mark.name)
                    && !VERBS.contains(&mark.name.as_str())
                    && !words(&source.text)
                        .iter()
                        .any(|word| stem(word) == mark.name && is_change(word))
            });
            missing && foreign
        })
}

/// Values of one kind: the same unit, or the same noun, or neither.
fn same_class(a: &Measure, b: &Measure) -> bool {
    match (a.number.unit, b.number.unit) {
        (Some(x), Some(y)) => x == y || is_time(x) == is_time(y),
        (None, None) => a.noun == b.noun || a.noun.is_none() || b.noun.is_none(),
        _ => false,
    }
}

fn is_time(unit: &str) -> bool {
    matches!(unit, "s" | "ms" | "min" | "h" | "d" | "week" | "month" | "year" | "m")
}

/// Whether the claim's value is the newer one of the same thing.
fn replaces(claim: &Claim<'_>, old: &Measure, new: &Measure) -> bool {
    claim.found.superseded.iter().any(|one| {
        let newer = one.new_value.as_ref().is_some_and(|value| value.key == new.number.key);
        newer && one.old_value.key == old.number.key
    })
}

/// A count of things of which the sources give another count, and none this one.
fn is_miscounted(own: &Measure, sources: &[Measure]) -> bool {
    let Some(noun) = own.noun.as_ref().filter(|_| own.number.unit.is_none()) else { return false };
    counted_otherwise(noun, &own.number.key, sources)
}

fn counted_otherwise(noun: &str, key: &str, sources: &[Measure]) -> bool {
    let counted = sources.iter().any(|source| source.noun.as_deref() == Some(noun));
    let fits =
        sources.iter().any(|source| source.number.key == key && source.clause.contains(noun));
    counted && !fits
}

/// "two attempts" where the sources say "3 attempts"; one and two are no facts of their own.
fn small_miscount(claim: &Claim<'_>, sources: &[Measure]) -> Option<String> {
    const SMALL: &[&str] = &["one", "two", "deux", "zwei", "both"];
    let own = words(claim.text);
    own.iter().enumerate().find_map(|(i, word)| {
        let small = SMALL.iter().find(|small| **small == word.as_str())?;
        let noun = own.get(i + 1).filter(|next| !is_stop(next)).map(|next| stem(next))?;
        let key = if *small == "one" { "1" } else { "2" };
        let said = claim.notes.iter().any(|note| {
            let source = words(&note.entry.text);
            source
                .windows(2)
                .any(|pair| SMALL.contains(&pair[0].as_str()) && stem(&pair[1]) == noun)
        });
        (!said && counted_otherwise(&noun, key, sources)).then(|| format!("{word} {}", own[i + 1]))
    })
}

/// A clause with its names and its other words.
struct Named {
    names: BTreeSet<String>,
    /// A name begins it: what it says, it says of that.
    leads: bool,
    words: BTreeSet<String>,
    text: String,
}

fn named(text: &str) -> Vec<Named> {
    let clauses = fine_clauses(text).into_iter().map(|clause| {
        let facts = Facts::of(&clause.text);
        let is_name = |fact: &&Fact| matches!(fact.kind, FactKind::Name | FactKind::Identifier);
        let names: BTreeSet<String> =
            facts.facts.iter().filter(is_name).map(|fact| fact.key.clone()).collect();
        let own: BTreeSet<String> = names.iter().map(|name| stem(name)).collect();
        let words = facts.words.difference(&own).cloned().collect();
        let leads = match facts.order.first() {
            Some(Part::Fact(at)) => is_name(&&facts.facts[*at]),
            Some(Part::Word(word)) => own.contains(word),
            None => false,
        };
        Named { names, leads, words, text: clause.text.trim().to_string() }
    });
    clauses.filter(|clause| clause.leads && clause.words.len() >= 2).collect()
}

/// A clause that says of one name what the sources say of another.
fn renamed(claim: &Claim<'_>) -> Option<String> {
    if super::coverage::capitals_are_grammar(claim.notes) {
        return None;
    }
    let sources: Vec<Named> = claim.notes.iter().flat_map(|note| named(&note.entry.text)).collect();
    named(claim.text).into_iter().find_map(|own| {
        let share = |source: &Named| super::negation::share(&own.words, &source.words);
        let meets = |source: &Named| !own.names.is_disjoint(&source.names);
        let best = sources.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let high = share(best);
        let told =
            |note: &Note| own.names.iter().any(|name| note.facts.flat.contains(name.as_str()));
        let own_best = sources.iter().filter(|source| meets(source)).map(share).fold(0.0, f64::max);
        let known = claim.notes.iter().any(told);
        let swapped = high >= SAME_LEAD && known && !meets(best) && own_best <= high - 0.5;
        swapped.then(|| own.text.clone())
    })
}
