//! Small words that turn a statement around: opposites, bounds, "twice", "formerly".

use super::coverage::denies;
use super::facts::{Fact, FactKind, Facts};
use super::gates::{Claim, Refusal};
use super::negation::{SAME_CLAUSE, current_clauses, fine_clauses, share};
use super::sentences::sentences;
use super::values::words;
use super::words::{is_former, is_stop, is_strict_negation, stem};
use std::collections::BTreeSet;

/// Pairs of opposites by their stems; either may stand for the other only by mistake.
const OPPOSITES: &[(&str, &str)] = &[
    ("enabl", "disabl"),
    ("activ", "inactiv"),
    ("allow", "disallow"),
    ("allow", "forbidden"),
    ("allow", "forbid"),
    ("requir", "optional"),
    ("mandator", "optional"),
    ("public", "privat"),
    ("sync", "async"),
    ("synchronou", "asynchronou"),
    ("includ", "exclud"),
    ("accept", "reject"),
    ("accept", "refus"),
    ("increas", "decreas"),
    ("increas", "reduc"),
    ("rais", "lower"),
    ("rais", "lowered"),
    ("before", "after"),
    ("above", "below"),
    ("succe", "fail"),
    ("succeed", "fail"),
    ("pass", "fail"),
    ("start", "stop"),
    ("open", "clos"),
    ("true", "fals"),
    ("ascend", "descend"),
    ("first", "last"),
    ("oldest", "newest"),
    ("minimum", "maximum"),
    ("fast", "slow"),
    ("faster", "slower"),
    ("local", "remot"),
    ("upload", "download"),
    ("read", "writ"),
    ("push", "pull"),
    ("add", "remov"),
    ("avant", "après"),
    ("activé", "désactivé"),
    ("activée", "désactivée"),
    ("autorisé", "interdit"),
    ("obligatoir", "facultatif"),
    ("vor", "nach"),
    ("aktiviert", "deaktiviert"),
    ("erlaubt", "verboten"),
];

fn opposites(word: &str) -> impl Iterator<Item = &'static str> {
    let (word, stem) = (word.to_string(), stem(word));
    OPPOSITES.iter().filter_map(move |(a, b)| {
        if *a == stem || *a == word {
            Some(*b)
        } else if *b == stem || *b == word {
            Some(*a)
        } else {
            None
        }
    })
}

/// A clause that says the opposite of the source clause it is made of.
pub fn reversed(claim: &Claim<'_>) -> Option<Refusal> {
    let sources = current_clauses(claim);
    let has = |text: &str, wanted: &str| {
        words(text).iter().any(|word| word == wanted || stem(word) == wanted)
    };
    fine_clauses(claim.text).into_iter().find_map(|own| {
        let own_denies = denies(&own.text);
        let turned = words(&own.text).iter().any(|word| {
            let without = |stems: &BTreeSet<String>, word: &str| {
                stems.iter().filter(|one| **one != stem(word) && *one != word).cloned().collect()
            };
            opposites(word).any(|other| {
                let alike: Vec<_> = sources
                    .iter()
                    .filter(|source| {
                        let own_rest: BTreeSet<String> = without(&own.stems, word);
                        let rest: BTreeSet<String> = without(&source.stems, other);
                        let near =
                            |a: &BTreeSet<String>, b| a.len() >= 2 && share(a, b) >= SAME_CLAUSE;
                        near(&own_rest, &source.stems) || near(&rest, &own.stems)
                    })
                    .collect();
                let says_other = alike
                    .iter()
                    .any(|source| has(&source.text, other) && denies(&source.text) == own_denies);
                let says_same = alike.iter().any(|source| has(&source.text, word));
                !has(&own.text, other) && says_other && !says_same
            })
        });
        turned.then(|| Refusal::Reversed(own.text.trim().to_string()))
    })
}

/// On which side of a number things lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtMost,
    AtLeast,
}

/// Words before a number that bound it; longer ones first, since "no more than" ends in "more than".
const BEFORE: &[(&str, Bound)] = &[
    ("no more than", Bound::AtMost),
    ("not more than", Bound::AtMost),
    ("never more than", Bound::AtMost),
    ("no less than", Bound::AtLeast),
    ("not less than", Bound::AtLeast),
    ("no fewer than", Bound::AtLeast),
    ("at most", Bound::AtMost),
    ("maximum of", Bound::AtMost),
    ("maximum", Bound::AtMost),
    ("max", Bound::AtMost),
    ("up to", Bound::AtMost),
    ("less than", Bound::AtMost),
    ("fewer than", Bound::AtMost),
    ("below", Bound::AtMost),
    ("höchstens", Bound::AtMost),
    ("maximal", Bound::AtMost),
    ("bis zu", Bound::AtMost),
    ("weniger als", Bound::AtMost),
    ("au plus", Bound::AtMost),
    ("jusqu'à", Bound::AtMost),
    ("moins de", Bound::AtMost),
    ("at least", Bound::AtLeast),
    ("minimum of", Bound::AtLeast),
    ("minimum", Bound::AtLeast),
    ("more than", Bound::AtLeast),
    ("above", Bound::AtLeast),
    ("exceeds", Bound::AtLeast),
    ("mindestens", Bound::AtLeast),
    ("mehr als", Bound::AtLeast),
    ("au moins", Bound::AtLeast),
    ("plus de", Bound::AtLeast),
];
const AFTER: &[(&str, Bound)] = &[
    ("or more", Bound::AtLeast),
    ("or less", Bound::AtMost),
    ("or fewer", Bound::AtMost),
    ("oder mehr", Bound::AtLeast),
    ("ou plus", Bound::AtLeast),
    ("at most", Bound::AtMost),
    ("at least", Bound::AtLeast),
    ("maximum", Bound::AtMost),
];

/// The bounded numbers of a text.
fn bounded(text: &str) -> Vec<(String, Bound)> {
    let text = text
        .replace("<=", " at most ")
        .replace('≤', " at most ")
        .replace(">=", " at least ")
        .replace('≥', " at least ");
    let mut found = Vec::new();
    for sentence in sentences(&text) {
        for fact in Facts::of(&sentence).facts {
            if fact.kind == FactKind::Number
                && let Some((before, after)) = sentence.split_once(fact.shown.as_str())
            {
                found.extend(bound(before, after).map(|bound| (fact.key.clone(), bound)));
            }
        }
    }
    found
}

fn bound(before: &str, after: &str) -> Option<Bound> {
    let before = words(before);
    let near = before[before.len().saturating_sub(3)..].join(" ");
    let ends = |phrase: &str| near == phrase || near.ends_with(&format!(" {phrase}"));
    if let Some((_, bound)) = BEFORE.iter().find(|(phrase, _)| ends(phrase)) {
        return Some(*bound);
    }
    let clause = after.split([',', ';', '.', ')']).next().unwrap_or("");
    let after = words(clause).into_iter().take(4).collect::<Vec<_>>().join(" ");
    AFTER.iter().find(|(phrase, _)| after.contains(phrase)).map(|(_, bound)| *bound)
}

/// A number whose bound was turned around.
pub fn bounds(claim: &Claim<'_>) -> Option<Refusal> {
    let sources: Vec<(String, Bound)> =
        claim.notes.iter().flat_map(|note| bounded(&note.entry.text)).collect();
    bounded(claim.text).into_iter().find_map(|(key, bound)| {
        let of_key: Vec<Bound> =
            sources.iter().filter(|(known, _)| *known == key).map(|(_, bound)| *bound).collect();
        let turned = !of_key.is_empty() && !of_key.contains(&bound);
        turned.then_some(Refusal::BoundChanged(key))
    })
}

/// Words that multiply, by what they stand for.
const MULTIPLIERS: &[(&str, &[&str])] = &[
    (
        "twice",
        &[
            "twice",
            "double",
            "doubles",
            "doubled",
            "doubling",
            "doppelt",
            "verdoppelt",
            "doublé",
            "doublée",
        ],
    ),
    ("thrice", &["thrice", "triple", "triples", "tripled", "dreifach", "verdreifacht", "triplé"]),
    ("half", &["half", "halves", "halved", "halving", "hälfte", "halbiert", "moitié"]),
    ("fourfold", &["quadruple", "quadruples", "quadrupled", "fourfold", "vierfach"]),
    ("tenfold", &["tenfold", "zehnfach", "décuple"]),
    ("dozen", &["dozen", "dozens", "dutzend", "douzaine"]),
];

fn multipliers(text: &str) -> Vec<(&'static str, String)> {
    let found = words(text).into_iter().filter_map(|word| {
        let entry = MULTIPLIERS.iter().find(|(_, forms)| forms.contains(&word.as_str()))?;
        Some((entry.0, word))
    });
    found.collect()
}

/// A multiplier that no source states.
pub fn multiplier(claim: &Claim<'_>) -> Option<String> {
    let known: Vec<&str> = claim
        .notes
        .iter()
        .flat_map(|note| multipliers(&note.entry.text))
        .map(|(name, _)| name)
        .collect();
    multipliers(claim.text)
        .into_iter()
        .find(|(name, _)| !known.contains(name))
        .map(|(_, word)| word)
}

/// Verbs after which the first word of a sentence must be its subject.
const VERBS: &[&str] = &[
    "is", "has", "was", "will", "must", "can", "requires", "uses", "says", "needs", "runs",
    "stores", "ist", "hat", "wird", "muss", "kann", "est", "doit", "peut", "utilise",
];
/// Subjects that name nothing.
const GENERAL: &[&str] = &[
    "nothing",
    "everything",
    "everyone",
    "something",
    "cause",
    "reason",
    "result",
    "problem",
    "issue",
    "goal",
    "default",
    "value",
    "either",
    "neither",
    "otherwise",
    "today",
    "currently",
    "alles",
    "nichts",
    "grund",
    "ursache",
    "rien",
    "tout",
    "raison",
];

/// The first word of a sentence where it is a subject that no source knows: "Rotterdam says …". A
/// capital there says nothing by itself, so names of one word would slip through.
pub fn unknown_subject(claim: &Claim<'_>) -> Option<String> {
    sentences(claim.text).into_iter().find_map(|sentence| {
        let own = words(&sentence);
        let (first, second) = (own.first()?, own.get(1)?);
        let shown = sentence.trim_start_matches(|ch: char| !ch.is_alphanumeric());
        let abstract_noun = ["ing", "tion", "sion", "ment", "ness", "ity", "ung", "heit", "keit"];
        let is_subject = VERBS.contains(&second.as_str())
            && shown.chars().next().is_some_and(char::is_uppercase)
            && first.chars().count() >= 4
            && !is_stop(first)
            && !GENERAL.contains(&first.as_str())
            && !abstract_noun.iter().any(|ending| first.ends_with(ending));
        let known = claim
            .notes
            .iter()
            .any(|note| note.facts.says(&stem(first)) || note.facts.flat.contains(first.as_str()));
        (is_subject && !known).then(|| first.clone())
    })
}

/// Content words from which a sentence is long enough to be judged by them.
const LONG_ENOUGH: usize = 5;

/// Share of its content words that the sources must say.
const SUPPORT: f64 = 0.35;

/// A sentence that no source supports: general talk with no number or name in it that could be
/// looked up ("This is a common practice, especially when performance matters").
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
pub fn unsupported(claim: &Claim<'_>) -> Option<String> {
    sentences(claim.text).into_iter().find(|sentence| {
        let words = Facts::of(sentence).words;
        let said = |word: &&String| claim.notes.iter().any(|note| note.facts.says(word));
        let supported = words.iter().filter(said).count() as f64;
        words.len() >= LONG_ENOUGH && supported < SUPPORT * words.len() as f64
    })
}

/// Words that say that what follows holds now; what marks a former value does not reach beyond.
const PRESENT: &[&str] = &[
    "is",
    "are",
    "now",
    "currently",
    "today",
    "to",
    "ist",
    "sind",
    "jetzt",
    "est",
    "sont",
    "maintenant",
    "désormais",
    "auf",
    "à",
];

/// Whether a sentence names this value or term only as a former one, wherever it states it.
pub fn marks_former(sentence: &str, value: &Fact) -> bool {
    let shown: Vec<String> = Facts::of(sentence)
        .facts
        .into_iter()
        .filter(|own| own.key == value.key)
        .map(|own| own.shown)
        .collect();
    let needles = if shown.is_empty() { vec![value.shown.clone()] } else { shown };
    let lower = sentence.to_lowercase();
    needles.iter().all(|needle| {
        let needle = needle.to_lowercase();
        let mut places = lower.match_indices(&needle).filter(|(at, _)| {
            let touches = |ch: Option<char>| ch.is_some_and(char::is_alphanumeric);
            !touches(lower[..*at].chars().next_back())
                && !touches(lower[at + needle.len()..].chars().next())
        });
        places.all(|(at, _)| {
            is_former_place(&words(&lower[..at]), &words(&lower[at + needle.len()..]))
        })
    })
}

fn is_former_place(before: &[String], after: &[String]) -> bool {
    let ends = |word: &str| {
        PRESENT.contains(&word) || word.chars().next().is_some_and(|ch| ch.is_ascii_digit())
    };
    for (distance, word) in before.iter().rev().take(5).enumerate() {
        if ends(word) {
            break;
        }
        let near_from = word == "from" && distance > 1;
        if (is_former(word) && !near_from) || (is_strict_negation(word) && distance < 3) {
            return true;
        }
    }
    for (distance, word) in after.iter().take(6).enumerate() {
        let denied = after[distance + 1..].iter().take(2).any(|next| is_strict_negation(next));
        if ends(word) && !denied {
            break;
        }
        // "from" before a value marks it; after one it says whose value it is.
        if (is_former(word) && word != "from") || is_strict_negation(word) {
            return true;
        }
    }
    false
}
