//! Word lists of the gates: English, French, German. A list is a hint about wording, never a
//! judgement about content; a word that is missing makes a gate stricter, not laxer.

/// Words that carry no fact of their own.
const STOP: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "these", "those", "from", "into", "onto", "than",
    "then", "are", "was", "were", "been", "being", "has", "have", "had", "its", "it's", "our",
    "ours", "your", "their", "them", "they", "you", "but", "not", "nor", "any", "all", "one",
    "two", "too", "also", "only", "over", "under", "per", "via", "when", "while", "which", "who",
    "whom", "whose", "what", "where", "there", "here", "because", "since", "so", "as", "at", "by",
    "in", "is", "it", "of", "on", "or", "to", "an", "be", "do", "does", "did", "done", "we", "he",
    "she", "his", "her", "him", "if", "no", "yes", "can", "could", "will", "would", "should",
    "shall", "may", "might", "must", "just", "more", "most", "much", "very", "such", "some",
    "same", "other", "each", "every", "both", "about", "after", "before", "again", "still", "now",
    "up", "out", "off", "down", "between", "through", "during", "without", "within", "don't",
    "doesn't", "isn't", "use", "used", "uses", "using", "le", "la", "les", "un", "une", "des",
    "du", "de", "et", "ou", "où", "en", "dans", "pour", "par", "sur", "avec", "sans", "est",
    "sont", "été", "être", "qui", "que", "quoi", "dont", "ce", "cet", "cette", "ces", "il", "elle",
    "ils", "elles", "on", "nous", "vous", "ne", "pas", "plus", "au", "aux", "se", "sa", "son",
    "ses", "der", "die", "das", "den", "dem", "und", "oder", "ein", "eine", "einen", "einem",
    "einer", "ist", "sind", "war", "wird", "mit", "von", "für", "auf", "aus", "bei", "nach",
    "nicht", "zu", "zum", "zur", "im", "am", "dass", "auch", "noch", "nur", "wenn", "wie", "als",
];

/// Further words that deny, or that a sentence can do without.
const SOFT_NEGATION: &[&str] = &[
    "none",
    "nothing",
    "nor",
    "avoid",
    "ban",
    "banned",
    "prohibited",
    "disallow",
    "disallowed",
    "disallows",
    "refuse",
    "refuses",
    "refused",
    "reject",
    "rejected",
    "rejects",
    "lacks",
    "lack",
    "missing",
    "ignores",
    "ignore",
    "ignored",
    "postponed",
    "abandoned",
    "unable",
    "fails",
    "instead",
    "stop",
    "stopped",
    "removed",
    "ni",
    "interdit",
    "interdite",
    "non",
    "exclude",
    "excludes",
    "excluded",
    "except",
    "exclus",
    "exclut",
    "sauf",
    "außer",
    "ausgenommen",
    "ausgeschlossen",
];

/// Denials that turn a rule around: when these are lost the sentence says the opposite.
const STRICT_NEGATION: &[&str] = &[
    "not",
    "no",
    "never",
    "without",
    "cannot",
    "neither",
    "forbid",
    "forbids",
    "forbidden",
    "pas",
    "jamais",
    "aucun",
    "aucune",
    "sans",
    "nicht",
    "nie",
    "niemals",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "keiner",
    "keines",
    "nichts",
    "niemand",
    "weder",
    "ohne",
    "verboten",
    "ne",
    "rien",
];

/// Words in a newer note that say that a value was changed.
const CHANGE: &[&str] = &[
    "raised",
    "lowered",
    "increased",
    "decreased",
    "reduced",
    "changed",
    "bumped",
    "moved",
    "switched",
    "updated",
    "renamed",
    "replaced",
    "migrated",
    "upgraded",
    "downgraded",
    "now",
    "anymore",
    "longer",
    "instead",
    "became",
    "désormais",
    "passe",
    "passé",
    "passée",
    "remplacé",
    "remplacée",
    "augmenté",
    "augmentée",
    "réduit",
    "réduite",
    "maintenant",
    "jetzt",
    "geändert",
    "erhöht",
    "gesenkt",
    "ersetzt",
    "umgestellt",
    "nunmehr",
];

/// Words that mark a value as a former one.
const FORMER: &[&str] = &[
    "former",
    "formerly",
    "previously",
    "previous",
    "earlier",
    "was",
    "were",
    "had",
    "before",
    "old",
    "older",
    "originally",
    "initially",
    "until",
    "instead",
    "longer",
    "from",
    "replaced",
    "replaces",
    "replacing",
    "superseded",
    "deprecated",
    "dropped",
    "abandoned",
    "used",
    "up",
    "raised",
    "lowered",
    "auparavant",
    "avant",
    "ancien",
    "ancienne",
    "était",
    "étaient",
    "plus",
    "früher",
    "vorher",
    "zuvor",
    "war",
    "waren",
    "alte",
    "alten",
    "statt",
    "ehemals",
];

/// Words that tell a story of the past: such a sentence is history and never a stale rule.
const PAST: &[&str] = &[
    "was", "were", "had", "took", "went", "tried", "failed", "saw", "did", "used", "found",
    "caused", "fixed", "broke", "were", "était", "étaient", "avait", "faisait", "war", "waren",
    "hatte", "wurde", "wurden",
];

/// Prepositions that open a scope: `in winter`, `on CI`, `per key`.
const SCOPE: &[&str] = &[
    "in", "on", "for", "during", "at", "when", "if", "unless", "while", "under", "within",
    "inside", "per", "except", "only", "dans", "pour", "pendant", "lors", "si", "quand", "sur",
    "par", "en", "im", "für", "bei", "wenn", "während", "pro", "auf",
];

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

/// Whether a word (lower case) carries no fact.
pub fn is_stop(word: &str) -> bool {
    word.chars().count() < 2 || has(STOP, word)
}

/// Whether a word (lower case) denies.
pub fn is_negation(word: &str) -> bool {
    has(SOFT_NEGATION, word) || has(STRICT_NEGATION, word) || is_contracted(word)
}

/// `don't`, `dont`, `n'est`.
fn is_contracted(word: &str) -> bool {
    const BARE: &[&str] = &[
        "dont", "cant", "wont", "doesnt", "isnt", "didnt", "mustnt", "shouldnt", "arent", "wasnt",
    ];
    word.ends_with("n't") || (word.starts_with("n'") && word.len() > 2) || has(BARE, word)
}

/// Whether a word (lower case) restricts: without it the statement holds for more.
pub fn is_only(word: &str) -> bool {
    const ONLY: &[&str] = &[
        "only",
        "solely",
        "exclusively",
        "nur",
        "ausschließlich",
        "lediglich",
        "seulement",
        "uniquement",
        "exclusivement",
        "just",
    ];
    has(ONLY, word)
}

/// Whether losing the word (lower case) turns a rule into its opposite.
pub fn is_strict_negation(word: &str) -> bool {
    has(STRICT_NEGATION, word) || is_contracted(word)
}

/// Whether the word (lower case) says that something was changed.
pub fn is_change(word: &str) -> bool {
    has(CHANGE, word)
}

/// Whether the word (lower case) marks a former value.
pub fn is_former(word: &str) -> bool {
    has(FORMER, word)
}

/// Whether the word (lower case) tells of the past.
pub fn is_past(word: &str) -> bool {
    has(PAST, word)
}

/// Whether the word (lower case) opens a scope.
pub fn is_scope(word: &str) -> bool {
    has(SCOPE, word)
}

/// The canonical name of a unit of measure, or `None` where the word is none.
pub fn unit(word: &str) -> Option<&'static str> {
    const UNITS: &[(&[&str], &str)] = &[
        (
            &[
                "s", "sec", "secs", "second", "seconds", "seconde", "secondes", "sekunde",
                "sekunden",
            ],
            "s",
        ),
        (&["ms", "msec", "millisecond", "milliseconds", "millisecondes", "millisekunden"], "ms"),
        (&["min", "mins", "minute", "minutes", "minuten"], "min"),
        (&["h", "hr", "hrs", "hour", "hours", "heure", "heures", "stunde", "stunden"], "h"),
        (&["d", "day", "days", "jour", "jours", "tag", "tage", "tagen"], "d"),
        (&["week", "weeks", "semaine", "semaines", "woche", "wochen"], "week"),
        (&["month", "months", "mois", "monat", "monate", "monaten"], "month"),
        (&["year", "years", "an", "ans", "année", "années", "jahr", "jahre", "jahren"], "year"),
        (&["%", "percent", "pourcent", "prozent"], "%"),
        (&["kb", "kib", "kilobytes", "ko"], "kb"),
        (&["mb", "mib", "megabytes", "mo"], "mb"),
        (&["gb", "gib", "gigabytes", "go"], "gb"),
        (&["m", "metre", "metres", "meter", "meters", "mètre", "mètres"], "m"),
        (&["km"], "km"),
        (&["px"], "px"),
        (&["hz"], "hz"),
        (&["khz"], "khz"),
        (&["mhz"], "mhz"),
        (&["ghz"], "ghz"),
        (&["µs", "μs", "microsecond", "microseconds"], "µs"),
        (&["ns", "nanosecond", "nanoseconds"], "ns"),
        (&["tb", "tib", "terabytes"], "tb"),
        (&["byte", "bytes", "octet", "octets"], "byte"),
        (&["cm"], "cm"),
        (&["mm"], "mm"),
        (&["$", "usd", "dollar", "dollars"], "$"),
        (&["€", "eur", "euro", "euros"], "€"),
        (&["£", "gbp"], "£"),
        (&["¥", "jpy", "yen"], "¥"),
    ];
    UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, name)| *name)
}

/// The month that a name in English, French or German stands for.
pub fn month(word: &str) -> Option<u32> {
    const MONTHS: &[&[&str]] = &[
        &["january", "jan", "janvier", "januar"],
        &["february", "feb", "février", "februar"],
        &["march", "mar", "mars", "märz"],
        &["april", "apr", "avril"],
        &["may", "mai"],
        &["june", "jun", "juin", "juni"],
        &["july", "jul", "juillet", "juli"],
        &["august", "aug", "août"],
        &["september", "sep", "sept", "septembre"],
        &["october", "oct", "octobre", "oktober"],
        &["november", "nov", "novembre"],
        &["december", "dec", "décembre", "dezember"],
    ];
    MONTHS.iter().position(|names| names.contains(&word)).and_then(|i| u32::try_from(i + 1).ok())
}

/// The stem by which two words count as the same: lower case, common endings taken off.
pub fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    for ending in
        ["ations", "ation", "ings", "ing", "ies", "ied", "ers", "es", "ed", "er", "y", "s", "e"]
    {
        if let Some(rest) = lower.strip_suffix(ending)
            && rest.chars().count() >= 3
        {
            return rest.to_string();
        }
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_stem() {
        assert_eq!(stem("retries"), stem("retry"));
        assert_eq!(stem("limits"), stem("limit"));
        assert_eq!(stem("requests"), stem("request"));
        assert_ne!(stem("cache"), stem("catch"));
    }

    #[test]
    fn units_have_one_name() {
        assert_eq!(unit("minutes"), unit("min"));
        assert_ne!(unit("s"), unit("ms"));
        assert_eq!(unit("requests"), None);
    }
}
