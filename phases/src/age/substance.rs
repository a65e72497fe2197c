//! Does a text hold knowledge? Signals that need no model, in English, German and French.
//!
//! The rule is built to err on the side of keeping: only a text with no signal of knowledge *and* a
//! sign of being chatter is called trivial; everything between is undecided.

use regex::Regex;
use std::sync::LazyLock;

/// What the signals say of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substance {
    /// It states something, and which sign shows it.
    Substantial(&'static str),
    /// It states nothing, and which sign shows it.
    Trivial(&'static str),
    /// The signals do not decide.
    Undecided,
}

const SOMETHING_SPECIFIC: &str = "it names something specific";

impl Substance {
    /// Whether a sign other than a name shows that the text states something.
    pub fn is_stated(self) -> bool {
        matches!(self, Self::Substantial(why) if why != SOMETHING_SPECIFIC)
    }
}

/// What the signals say of `text`.
pub fn substance(text: &str) -> Substance {
    let words = text.split_whitespace().count();
    if let Some(why) = chatter(text, words) {
        return Substance::Trivial(why);
    }
    if let Some(why) = knowledge(text, words) {
        return Substance::Substantial(why);
    }
    Substance::Undecided
}

fn chatter(text: &str, words: usize) -> Option<&'static str> {
    if words <= 2 && !SPECIFIC.is_match(text) {
        return Some("too short to state anything");
    }
    if words <= 12 && PROGRESS.is_match(text) && !CAUSE.is_match(text) && !RULE.is_match(text) {
        return Some("reports progress, states nothing");
    }
    if EMPTY_RECORD.is_match(text) && !CAUSE.is_match(text) {
        return Some("a session record without content");
    }
    None
}

fn knowledge(text: &str, words: usize) -> Option<&'static str> {
    if words < 4 {
        return None;
    }
    if CAUSE.is_match(text) {
        return Some("it gives a cause");
    }
    if RULE.is_match(text) {
        return Some("it states a rule or a choice");
    }
    if MEASURE.is_match(text) {
        return Some("it gives a measure");
    }
    if SPECIFIC.is_match(text) && words >= 6 {
        return Some(SOMETHING_SPECIFIC);
    }
    None
}

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the pattern is fixed and valid")
}

/// Words of cause and of remedy.
static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(because|since|due\ to|cause[sd]?|reason|turns\ out|therefore|so\ that|fix(ed|es)?
        |remedy|workaround|otherwise|weil|denn|grund|ursache|deshalb|daher|abhilfe|lösung|sonst
        |parce\ que|car|cause|raison|remède|sinon|donc)\b",
    )
});

/// Words of rule, need and choice.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(must|never|always|should|need(s|ed)?|require[sd]?|only|instead|prefer[s]?
        |convention|decid(e|ed)|do\ not|don't|must\ not|relies|limit|before|after|unless|until
        |muss|müssen|darf|nie(mals)?|immer|soll(te)?|nur|statt|braucht|benötigt|bevor|grenze
        |doit|doivent|jamais|toujours|seulement|seules?|avant|besoin|limite|au\ lieu)\b",
    )
});

/// A number with a unit, a version, a percentage.
static MEASURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b\d+([.,]\d+)?\s*(ms|s|sec|seconds?|min(utes?)?|h|hours?|days?|mb|gb|kb|mib|gib|kib
        |%|rows?|requests?|entries|lines?|zeilen|anfragen|lignes|requêtes|x|times)(\b|\W|$)
        |\bv?\d+\.\d+(\.\d+)?\b",
    )
});

/// Something that can be looked up: a code span, a path, a flag, an identifier, a variable.
static SPECIFIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)`[^`]+` | \b[\w-]+/[\w./-]+ | --[a-z][\w-]+ | \b[a-z]+_[a-z_]+\b | \b[a-z]+[A-Z]\w+
        | \b[A-Z]{2,}_[A-Z_]+\b | \b\w+\.(rs|py|ts|js|go|toml|yaml|yml|json|md|sql|sh|c|h|cpp)\b
        | \b\w+\(\) | \b[0-9a-f]{7,40}\b | \w+::\w+",
    )
});

/// What people say about going on.
static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)^\W*(ok(ay)?|done|fine|thanks?|good|great|yes|no|continue[d]?|go\ on|ran|pushed
        |looked\ at|started|will\ look|tidied|weiter|tests\ laufen|zweig|sitzung|danke|erledigt
        |suite|tests\ lancés|branche|session\ démarrée|regardé|je\ regarderai|un\ peu|merci)\b
        | nothing\ to\ do | nichts\ zu\ tun | rien\ à\ faire | for\ now\W*$ | vorerst
        | pour\ l.instant | morgen\ an | aufgeräumt | angesehen | all\ green | alles\ grün",
    )
});

/// A record in which every field says *none*, or that lists nothing but files and counts.
static EMPTY_RECORD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(summary|decisions|open questions|zusammenfassung|résumé)\s*:\s*(none|keine?|aucune?)\b",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    fn is_trivial(text: &str) -> bool {
        matches!(substance(text), Substance::Trivial(_))
    }

    fn is_substantial(text: &str) -> bool {
        matches!(substance(text), Substance::Substantial(_))
    }

    #[test]
    fn chatter_is_trivial_in_three_languages() {
        for text in [
            "Ran the tests, all green.",
            "Pushed the branch.",
            "ok, install done for now",
            "Sitzung begonnen, urls.py gelesen.",
            "Regardé cache.py, rien à faire.",
            "thanks",
        ] {
            assert!(is_trivial(text), "{text}");
        }
    }

    #[test]
    fn facts_are_substantial_in_three_languages() {
        for text in [
            "The berth importer drops rows because the ETA has no offset",
            "Only 2700 of 640 rows of cacheprovider have `Update` set",
            "Die Grenze des Anbieters liegt bei 1400 Anfragen je Minute",
            "Gemessen: vorher 1950 ms, mit `Select` 1120 ms",
            "`init` dans boot.rs doit être appelé avant le pool",
        ] {
            assert!(is_substantial(text), "{text}");
        }
    }

    #[test]
    fn what_gives_no_sign_is_left_open() {
        assert_eq!(substance("The harbour looks nice in the evening"), Substance::Undecided);
    }

    #[test]
    fn an_empty_session_record_is_trivial() {
        assert!(is_trivial("SESSION messages: 163 tools: Read 10x; created: a.py; summary: none"));
    }
}
