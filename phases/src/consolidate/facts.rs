//! What a text states that can be checked word by word: numbers with their units, dates,
//! identifiers, paths, hashes, addresses, code spans, names. And the content words around them.

mod shape;

use super::numbers::spelled;
use super::words::{is_stop, month, stem, unit};
use regex::Regex;
use shape::{is_hash, is_identifier};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKind {
    /// A number, with its unit where one follows.
    Number,
    /// An ISO date, or a month with a year.
    Date,
    /// A name of code: inner capitals, digits among letters, underscores, dots, `::`.
    Identifier,
    /// A path with at least one slash.
    Path,
    /// Seven or more hex digits.
    Hash,
    /// A web address.
    Url,
    /// Text between backticks.
    Code,
    /// A capitalised word inside a sentence.
    Name,
}

/// One checkable thing in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    /// What it is.
    pub kind: FactKind,
    /// The form in which it is compared: lower case, decimal point, no call brackets.
    pub key: String,
    /// Canonical unit of a number.
    pub unit: Option<&'static str>,
    /// As it stands in the text.
    pub shown: String,
}

/// The facts and words of a text, in order.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// In order of appearance.
    pub facts: Vec<Fact>,
    /// Stems of the content words.
    pub words: BTreeSet<String>,
    /// The text in lower case with single spaces, for literal look-ups.
    pub flat: String,
    /// Neighbouring words as one, with the stem of the first: `time out` is `timeout`.
    pub joined: BTreeSet<(String, String)>,
    /// Facts and content words in order of appearance.
    pub order: Vec<Part>,
}

/// A fact or a content word at its place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Index into [`Facts::facts`].
    Fact(usize),
    /// A stem.
    Word(String),
}

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<url>[a-z][a-z0-9+.-]*://[^\s<>"'`)\]]+)
      | `(?P<code>[^`\n]+)`
      | (?P<date>\b\d{4}-\d{2}-\d{2}\b)(?:[T\ ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?Z?)?
      | (?P<flag>(?:^|[\s("'])--?\p{L}[\p{L}\p{N}-]*)
      | (?P<path>(?:~|\.{1,2}|[\p{L}\p{N}_.@+-]+)?(?:/[\p{L}\p{N}_.@%+*-]+)+/?)
      | (?P<word>[\p{L}\p{N}_]+(?:(?:::|->|[.\-'’:,])[\p{L}\p{N}_]+)*(?:\(\))?)
      | (?P<percent>%)
      | (?P<money>[$€£¥])
      | (?P<stop>[.!?:;\n]+)
        "#,
    )
    .expect("the pattern is valid")
});

impl Facts {
    /// The facts of `text`.
    pub fn of(text: &str) -> Self {
        let flat = flat(text);
        let found = Self { joined: joined(&flat), flat, ..Self::default() };
        let mut scan = Scan { found, fresh: true, first: None };
        let tokens: Vec<regex::Captures<'_>> = TOKEN.captures_iter(text).collect();
        let mut i = 0;
        while let Some(token) = tokens.get(i) {
            if let Some(used) = scan.spelled(&tokens[i..]) {
                i += used;
                continue;
            }
            let next = tokens.get(i + 1).map(|next| &next[0]);
            i += scan.token(token, next);
        }
        scan.found
    }

    /// Facts that a merge must keep: all but dates, which come with every note anyway.
    pub fn hard(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|fact| fact.kind != FactKind::Date)
    }

    /// Whether this text states `fact` in the same or an equivalent form.
    pub fn states(&self, fact: &Fact) -> bool {
        if self.facts.iter().any(|own| equivalent(own, fact)) {
            return true;
        }
        match fact.kind {
            FactKind::Number => fact.key.len() > 2 && self.parts_of(&fact.key),
            FactKind::Date => self.dates_cover(&fact.key),
            _ => contains_token(&self.flat, &fact.key),
        }
    }

    /// Whether the content word with this stem occurs, in this or a close inflection.
    pub fn says(&self, stem: &str) -> bool {
        self.words.contains(stem)
            || (stem.chars().count() >= 5
                && (self.words.iter().any(|own| near(own, stem))
                    || self.joined.iter().any(|(_, joined)| joined == stem)))
    }

    /// `14m20s` is stated by `14 min 20 s`.
    fn parts_of(&self, composite: &str) -> bool {
        let parts = duration_parts(composite);
        parts.len() > 1
            && parts.iter().all(|(number, unit)| {
                self.facts.iter().any(|own| {
                    own.kind == FactKind::Number
                        && (own.key == *number
                            || duration_parts(&own.key).contains(&(number.clone(), *unit)))
                })
            })
    }

    fn dates_cover(&self, key: &str) -> bool {
        self.facts.iter().any(|own| {
            own.kind == FactKind::Date && (own.key.starts_with(key) || own.key.ends_with(key))
        })
    }
}

/// Pairs of words of which the second one is an adverb that is often written together with a verb.
fn joined(flat: &str) -> BTreeSet<(String, String)> {
    const ADVERBS: &[&str] = &["out", "up", "off", "down", "in", "on", "over", "back"];
    let words: Vec<&str> =
        flat.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words
        .windows(2)
        .filter(|pair| ADVERBS.contains(&pair[1]) && !is_stop(pair[0]))
        .map(|pair| (stem(pair[0]), stem(&pair.concat())))
        .collect()
}

/// Whether two facts state the same: same key and no contradiction of units; a path is stated by
/// its own tail, a duration by its spelled form.
fn equivalent(own: &Fact, other: &Fact) -> bool {
    use FactKind::{Number, Path};
    match (own.kind, other.kind) {
        (Number, Number) => own.key == other.key && units_agree(own.unit, other.unit),
        (Number, _) | (_, Number) => version(&own.key) == version(&other.key),
        (Path, _) | (_, Path) => {
            own.key == other.key
                || own.key.ends_with(&format!("/{}", other.key))
                || other.key.ends_with(&format!("/{}", own.key))
        }
        _ => own.key == other.key,
    }
}

/// `v1.90` is `1.90`.
fn version(key: &str) -> &str {
    key.strip_prefix('v')
        .filter(|rest| rest.starts_with(|ch: char| ch.is_ascii_digit()))
        .unwrap_or(key)
}

fn units_agree(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || matches!((a, b), ("m", "min") | ("min", "m")),
        _ => true,
    }
}

/// The text in lower case with single spaces and straight quotes.
pub fn flat(text: &str) -> String {
    crate::text::normalise(text).to_lowercase().replace('’', "'")
}

/// Whether `token` occurs in `flat` with no letter, digit or underscore touching it.
pub fn contains_token(flat: &str, token: &str) -> bool {
    if token.is_empty() {
        return false;
    }
    let inner = |ch: char| ch.is_alphanumeric() || ch == '_';
    flat.match_indices(token).any(|(at, _)| {
        let before = flat[..at].chars().next_back();
        let mut rest = flat[at + token.len()..].chars();
        let after = rest.next();
        // `v1.2` does not occur in `v1.2.3`.
        let goes_on = after == Some('.') && rest.next().is_some_and(|ch| ch.is_ascii_digit());
        if goes_on && token.ends_with(|ch: char| ch.is_ascii_digit()) {
            return false;
        }
        let guard = |edge: Option<char>, own: Option<char>| {
            !(own.is_some_and(inner) && edge.is_some_and(inner))
        };
        guard(before, token.chars().next()) && guard(after, token.chars().next_back())
    })
}

/// Whether two stems are inflections of one word: five letters in common, at most three more.
fn near(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    common >= 5 && a.chars().count().max(b.chars().count()) - common <= 3
}

/// `14m20s` as `[("14","m"), ("20","s")]`; empty where the text is no chain of numbers and units.
pub fn duration_parts(text: &str) -> Vec<(String, &'static str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits =
            rest.find(|ch: char| !(ch.is_ascii_digit() || ch == '.')).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|ch: char| !ch.is_alphabetic()).unwrap_or(tail.len());
        let (suffix, tail) = tail.split_at(letters);
        let known = if suffix == "m" { Some("min") } else { unit(suffix) };
        match known {
            Some(name) if !number.is_empty() => parts.push((number.to_string(), name)),
            _ => return Vec::new(),
        }
        rest = tail;
    }
    parts
}

struct Scan {
    found: Facts,
    /// At the start of a sentence, where a capital names nothing.
    fresh: bool,
    /// The capitalised word that began the sentence, which is a name if another one follows.
    first: Option<String>,
}

/// Most tokens that one number in words takes.
const SPELLED: usize = 8;

impl Scan {
    /// Takes a number in words, with the unit after it; returns how many tokens that were.
    fn spelled(&mut self, tokens: &[regex::Captures<'_>]) -> Option<usize> {
        let is_word = |token: &&regex::Captures<'_>| token.name("word").is_some();
        let words: Vec<String> = tokens
            .iter()
            .take(SPELLED)
            .take_while(is_word)
            .map(|token| token[0].to_lowercase())
            .collect();
        let (value, used) = spelled(&words)?;
        let following = tokens.get(used).and_then(|next| unit(&next[0].to_lowercase()));
        let shown = tokens[..used].iter().map(|token| &token[0]).collect::<Vec<_>>().join(" ");
        self.put(Fact { kind: FactKind::Number, key: value.to_string(), unit: following, shown });
        (self.fresh, self.first) = (false, None);
        Some(used + usize::from(following.is_some()))
    }

    fn put(&mut self, fact: Fact) {
        self.found.order.push(Part::Fact(self.found.facts.len()));
        self.found.facts.push(fact);
    }

    fn say(&mut self, lower: &str) {
        let stem = stem(lower);
        self.found.order.push(Part::Word(stem.clone()));
        self.found.words.insert(stem);
    }

    /// Takes a token; returns how many tokens it used.
    fn token(&mut self, token: &regex::Captures<'_>, next: Option<&str>) -> usize {
        let whole = token.get(0).map_or("", |found| found.as_str());
        if token.name("stop").is_some() {
            (self.fresh, self.first) = (true, None);
            return 1;
        }
        if token.name("percent").is_some() {
            return 1;
        }
        if token.name("money").is_some() {
            return self.money(whole, next);
        }
        let used = if token.name("url").is_some() {
            self.push(FactKind::Url, whole.trim_end_matches(['.', ',', ';', ':']))
        } else if let Some(code) = token.name("code") {
            self.push(FactKind::Code, code.as_str())
        } else if let Some(date) = token.name("date") {
            self.push(FactKind::Date, date.as_str())
        } else if token.name("flag").is_some() {
            self.push(
                FactKind::Identifier,
                whole.trim_start_matches([' ', '\t', '\n', '(', '"', '\'']),
            )
        } else if let Some(path) = token.name("path") {
            self.path(path.as_str())
        } else {
            self.word(whole, next)
        };
        self.fresh = false;
        used
    }

    /// `$5`: the sign before a number is its unit.
    fn money(&mut self, sign: &str, next: Option<&str>) -> usize {
        let number = next.filter(|next| next.starts_with(|ch: char| ch.is_ascii_digit()));
        number.map_or(1, |number| {
            self.add(FactKind::Number, number, unit(sign));
            2
        })
    }

    fn push(&mut self, kind: FactKind, shown: &str) -> usize {
        self.add(kind, shown, None);
        1
    }

    fn add(&mut self, kind: FactKind, shown: &str, unit: Option<&'static str>) {
        let key = key_of(kind, shown);
        if !key.is_empty() {
            self.put(Fact { kind, key, unit, shown: shown.to_string() });
        }
    }

    /// `and/or` and `502/503/504` are words, `src/a.rs` and `/etc/x` are paths.
    fn path(&mut self, text: &str) -> usize {
        let text = text.trim_end_matches('.');
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let rooted = text.starts_with(['/', '~', '.']);
        let numbers = parts.iter().all(|part| part.starts_with(|ch: char| ch.is_ascii_digit()));
        let shaped = parts.len() > 2 || parts.iter().any(|part| part.contains(['.', '_']));
        if !numbers && (rooted || shaped) {
            return self.push(FactKind::Path, text);
        }
        for part in parts {
            self.word(part, None);
        }
        1
    }

    fn word(&mut self, text: &str, next: Option<&str>) -> usize {
        let text = elided(text.trim_end_matches("()"));
        let text = text.strip_suffix("'s").or(text.strip_suffix("’s")).unwrap_or(text);
        if text.starts_with(|ch: char| ch.is_ascii_digit()) {
            return self.number(text, next);
        }
        if let Some(year) = Self::month_and_year(text, next) {
            self.add(FactKind::Date, &year, None);
            return 2;
        }
        if text.contains(',') {
            for part in text.split(',') {
                self.word(part, None);
            }
        } else if is_identifier(text) {
            self.add(FactKind::Identifier, text, None);
        } else {
            self.plain(text);
        }
        1
    }

    /// `May 2026` as `2026-05`, `May 20` as `-05-20`.
    fn month_and_year(text: &str, next: Option<&str>) -> Option<String> {
        let number = month(&text.to_lowercase())?;
        let next = next.filter(|next| next.chars().all(|ch| ch.is_ascii_digit()))?;
        match next.len() {
            4 if next.starts_with(['1', '2']) => Some(format!("{next}-{number:02}")),
            1 | 2 => Some(format!("-{number:02}-{next:0>2}")),
            _ => None,
        }
    }

    fn plain(&mut self, text: &str) {
        let capital = text.chars().next().is_some_and(char::is_uppercase);
        let named = capital && !is_stop(&text.to_lowercase());
        if named && !self.fresh {
            if let Some(first) = self.first.take() {
                self.add(FactKind::Name, &first, None);
            }
            self.add(FactKind::Name, text, None);
        }
        self.first = Some(text.to_string()).filter(|_| named && self.fresh);
        for part in text.split(['-', '\'', '’', ':']) {
            let lower = part.to_lowercase();
            if let Some((value, _)) = spelled(std::slice::from_ref(&lower)) {
                self.put(Fact {
                    kind: FactKind::Number,
                    key: value.to_string(),
                    unit: None,
                    shown: part.to_string(),
                });
            } else if !is_stop(&lower) {
                self.say(&lower);
            }
        }
    }

    fn number(&mut self, text: &str, next: Option<&str>) -> usize {
        if is_hash(text) {
            return self.push(FactKind::Hash, text);
        }
        let digits = text
            .find(|ch: char| !(ch.is_ascii_digit() || matches!(ch, '.' | ',')))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        let day =
            number.len() <= 2 && next.is_some_and(|next| month(&next.to_lowercase()).is_some());
        if suffix.is_empty() && day {
            return 1;
        }
        if suffix.is_empty() {
            let following = next.and_then(|next| unit(&next.to_lowercase()));
            self.add(FactKind::Number, number, following);
            return if following.is_some() { 2 } else { 1 };
        }
        if let Some(name) = unit(&suffix.to_lowercase()) {
            self.add(FactKind::Number, number, Some(name));
        } else if let Some(noun) = suffix.strip_prefix('-') {
            let name = unit(&noun.to_lowercase());
            self.add(FactKind::Number, number, name);
            self.plain(noun);
        } else if duration_parts(&text.to_lowercase()).len() > 1 {
            self.add(FactKind::Number, text, None);
        } else {
            self.add(FactKind::Identifier, text, None);
        }
        1
    }
}

/// `l'index` without its article.
fn elided(text: &str) -> &str {
    match text.split_once(['\'', '’']) {
        Some((article, rest)) if article.chars().count() <= 2 && rest.chars().count() > 1 => rest,
        _ => text,
    }
}

fn key_of(kind: FactKind, shown: &str) -> String {
    let lower = flat(shown);
    match kind {
        FactKind::Number => number_key(&lower),
        FactKind::Path => lower.trim_start_matches("./").trim_end_matches('/').to_string(),
        FactKind::Identifier => lower.trim_end_matches("()").trim_end_matches('.').to_string(),
        _ => lower,
    }
}

/// `10,000` is `10000`, `2,8` is `2.8`, `5.` is `5`.
fn number_key(text: &str) -> String {
    let text = text.trim_end_matches(['.', ',']);
    let groups: Vec<&str> = text.split(',').collect();
    let thousands = groups.len() > 1
        && (1..=3).contains(&groups[0].len())
        && groups[0] != "0"
        && groups[1..]
            .iter()
            .all(|group| group.len() == 3 && group.chars().all(|ch| ch.is_ascii_digit()));
    if thousands { groups.concat() } else { text.replace(',', ".") }
}

#[cfg(test)]
mod tests;
