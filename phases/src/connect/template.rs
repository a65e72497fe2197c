//! Templates that a store taught: token skeletons that its texts share.
//!
//! A tool of the user's own that writes notes (a deploy line, the header of a session, a nightly
//! report) is known to no shipped rule, in no language. Its copies look alike to an embedding model
//! whatever they are about, so they turn up as each other's neighbours, and that is where a
//! template is learned: from a text and the texts near it.
//!
//! A template is the *frame*, the words that all copies have in the same order, and the *fields*
//! between them. Five wordings of one fact share many words in order, too. What tells them apart:
//!
//! - in copies every field is filled, in (nearly) every copy, and hardly a word stands elsewhere;
//!   wordings have something here or there;
//! - the fields hold names, numbers, paths; what wordings add is ordinary words;
//! - the fields of two copies differ; two wordings name the same things;
//! - a frame states nothing: it gives no cause and no rule, and it has no run of words without a
//!   field that is long enough for a clause, as a fact has that is told again with another remark.
//!
//! Copies that differ in nothing but one number are no template: that is an old and a new value
//! (see [`mod@super::differing`]).

use super::form::Form;
use super::lexical::is_common;
use super::sequence::Tokens;
use super::tokens::stem;
use crate::age::substance;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Copies from which a template is learned.
pub const COPIES: usize = 5;

/// Texts near a newcomer that are looked at, and those of them that are compared word by word.
pub const NEAR: usize = 24;
const PEERS: usize = 12;

/// Words of a frame, at least.
const LEAST_WORDS: usize = 3;

/// Share of the tokens of a copy that the frame has, names and numbers in the fields not counted.
const COVERAGE: f32 = 0.5;

/// Share of the frame of a text and its first copy that further copies must have.
const STAYS: f32 = 0.75;

/// Share of copies in which a gap is filled, so that it is a field.
const FILLED: f32 = 0.8;

/// Tokens outside frame and fields, as a share of all.
const MISFIT: f32 = 0.15;

/// Share of the tokens in fields that name something.
const NAMING: f32 = 0.6;

/// Words of a frame in a row without a field, at most.
const LONGEST_RUN: usize = 4;

/// Stands for a field in the text of a template.
const FIELD: &str = "*";

/// Words in order, with fields between them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template {
    frame: Vec<String>,
    /// Whether there is a field before the n-th word of the frame; one more for the end.
    fields: Vec<bool>,
}

/// What a text says beyond the template that it is a copy of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The template, as [`Templates::texts`] writes it.
    pub template: String,
    /// The names in its fields: not the bare numbers.
    pub subject: BTreeSet<String>,
}

/// The templates that a store taught.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    known: BTreeMap<String, Template>,
}

impl Templates {
    /// Those with these texts (see [`Self::texts`]).
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let known = texts.into_iter().map(|text| (text.clone(), Template::parse(&text)));
        Self { known: known.collect() }
    }

    /// Each template as its words with `*` for a field, sorted.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// `text` as a record: by the shipped rules, else as a copy of a template.
    pub fn form(&self, text: &str) -> Form {
        let form = Form::of(text);
        if form.formal {
            return form;
        }
        match self.copied(text) {
            Some(Copied { template, subject }) => {
                let subject = subject.iter().map(|word| subject_word(word)).collect();
                Form { formal: true, learned: true, chatter: false, subject, skeleton: template }
            }
            None => form,
        }
    }

    /// What `text` says beyond the template that it is a copy of; the longest one where there are
    /// several.
    pub fn copied(&self, text: &str) -> Option<Copied> {
        if self.known.is_empty() {
            return None;
        }
        let tokens = Tokens::of(text).words;
        let set: HashSet<&str> = tokens.iter().map(String::as_str).collect();
        let fits = |template: &&(&String, &Template)| {
            template.1.frame.iter().all(|word| set.contains(word.as_str()))
        };
        let mut fitting: Vec<(&String, &Template)> = self.known.iter().collect();
        fitting.retain(|template| fits(&template));
        fitting.sort_by_key(|(text, template)| (std::cmp::Reverse(template.frame.len()), *text));
        fitting.into_iter().find_map(|(text, template)| {
            let subject = template.subject_of(&tokens)?;
            Some(Copied { template: text.clone(), subject })
        })
    }

    /// Learns a template from `tokens` and those of the texts near it, where [`COPIES`] of them are
    /// copies of one. Returns its text if it is new.
    pub fn learn(&mut self, tokens: &Tokens, near: &[&Tokens]) -> Option<String> {
        let mut known = tokens.keys.clone();
        known.sort_unstable();
        let shares_enough =
            |shared: usize, other: &Tokens| 3 * shared >= tokens.len().max(other.len());
        let mut peers: Vec<(usize, &Tokens)> = near
            .iter()
            .map(|other| (other.among(&known), *other))
            .filter(|(shared, other)| shares_enough(*shared, other) && *other != tokens)
            .collect();
        peers.sort_unstable_by(|(x, a), (y, b)| y.cmp(x).then_with(|| a.words.cmp(&b.words)));
        peers.dedup();
        peers.truncate(PEERS);
        let peers: Vec<&Tokens> = peers.into_iter().map(|(_, peer)| peer).collect();
        if peers.len() + 1 < COPIES || tokens.len() <= LEAST_WORDS {
            return None;
        }
        // One peer may by chance share more than the template: another one is tried first.
        let template = (0..peers.len().min(3)).find_map(|first| {
            let start = first * (peers.len() - 1) / 2;
            let order: Vec<&Tokens> =
                peers[start..].iter().chain(&peers[..start]).copied().collect();
            of_copies(tokens, &order)
        })?;
        let text = template.text();
        let is_new = self.known.insert(text.clone(), template).is_none();
        is_new.then_some(text)
    }
}

/// The template that `tokens` and at least `COPIES - 1` of `peers` are copies of.
fn of_copies(tokens: &Tokens, peers: &[&Tokens]) -> Option<Template> {
    let mut frame = tokens.common(peers[0]);
    let mut copies = vec![tokens, peers[0]];
    for peer in &peers[1..] {
        let shared = frame.common(peer);
        if shared.len() as f32 >= STAYS * frame.len() as f32 {
            frame = shared;
            copies.push(peer);
        }
    }
    let frame = frame.words;
    let words = frame.iter().filter(|word| word.chars().all(char::is_alphabetic)).count();
    if copies.len() < COPIES || words < LEAST_WORDS {
        return None;
    }
    let gaps: Vec<Vec<Vec<&str>>> =
        copies.iter().filter_map(|copy| gaps(&frame, &copy.words)).collect();
    let filled = |place: usize| gaps.iter().filter(|gaps| !gaps[place].is_empty()).count();
    let fields: Vec<bool> =
        (0..=frame.len()).map(|place| filled(place) as f32 >= FILLED * gaps.len() as f32).collect();
    let template = Template { frame, fields };
    template.is_sound(&gaps).then_some(template)
}

impl Template {
    fn parse(text: &str) -> Self {
        let (mut frame, mut fields) = (Vec::new(), vec![false]);
        for word in text.split(' ') {
            if word == FIELD {
                if let Some(last) = fields.last_mut() {
                    *last = true;
                }
            } else {
                frame.push(word.to_string());
                fields.push(false);
            }
        }
        Self { frame, fields }
    }

    fn text(&self) -> String {
        let mut words = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            if *field {
                words.push(FIELD);
            }
            words.extend(self.frame.get(place).map(String::as_str));
        }
        words.join(" ")
    }

    /// Whether texts with these gaps are copies, and not wordings of one thing.
    fn is_sound(&self, gaps: &[Vec<Vec<&str>>]) -> bool {
        let inside = |gaps: &Vec<Vec<&str>>| -> Vec<String> {
            let places = gaps.iter().zip(&self.fields).filter(|(_, field)| **field);
            places.map(|(gap, _)| gap.join(" ")).collect()
        };
        let held: BTreeSet<Vec<String>> = gaps.iter().map(inside).collect();
        let words: Vec<&str> = gaps
            .iter()
            .flat_map(|gaps| gaps.iter().zip(&self.fields).filter(|(_, field)| **field))
            .flat_map(|(gap, _)| gap.iter().copied())
            .collect();
        let naming = words.iter().filter(|word| names_something(word)).count();
        let all: usize = gaps.iter().flatten().map(Vec::len).sum();
        let plain = words.iter().filter(|word| !is_slot(word)).count() as f32 / gaps.len() as f32;
        let one_number = self.fields.iter().filter(|field| **field).count() == 1
            && words.iter().all(|word| is_number(word));
        let outside = all - words.len();
        let tokens = gaps.len() * self.frame.len() + all;
        !words.is_empty()
            && !one_number
            && !self.states_something()
            && held.len() as f32 >= FILLED * gaps.len() as f32
            && naming as f32 >= NAMING * words.len() as f32
            && outside as f32 <= MISFIT * tokens as f32
            && self.frame.len() as f32 >= COVERAGE * (self.frame.len() as f32 + plain)
    }

    fn states_something(&self) -> bool {
        let mut run = 0;
        let runs = self.fields[..self.frame.len()].iter().map(|field| {
            run = if *field { 1 } else { run + 1 };
            run
        });
        runs.max() > Some(LONGEST_RUN) || substance(&self.frame.join(" ")).is_stated()
    }

    /// The names in the fields of `tokens`, where those are a copy.
    fn subject_of(&self, tokens: &[String]) -> Option<BTreeSet<String>> {
        let gaps = gaps(&self.frame, tokens)?;
        let (mut subject, mut outside) = (BTreeSet::new(), 0);
        for (gap, field) in gaps.iter().zip(&self.fields) {
            if *field {
                subject.extend(gap.iter().filter(|word| !is_number(word)).map(|w| w.to_string()));
            } else {
                outside += gap.len();
            }
        }
        (outside as f32 <= MISFIT * tokens.len() as f32).then_some(subject)
    }
}

/// What of `tokens` stands before, between and after the words of `frame`; `None` where they are
/// not all there in order.
fn gaps<'a>(frame: &[String], tokens: &'a [String]) -> Option<Vec<Vec<&'a str>>> {
    let mut gaps = vec![Vec::new()];
    let mut left = frame.iter();
    let mut wanted = left.next();
    for token in tokens {
        if wanted == Some(token) {
            gaps.push(Vec::new());
            wanted = left.next();
        } else if let Some(gap) = gaps.last_mut() {
            gap.push(token.as_str());
        }
    }
    wanted.is_none().then_some(gaps)
}

/// A word of a field as the subject of an ordinary text has it.
fn subject_word(word: &str) -> String {
    if is_slot(word) { word.to_string() } else { stem(word).to_string() }
}

fn is_number(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits > 0 && word.chars().filter(|ch| ch.is_alphabetic()).count() <= 2
}

/// Not a word: a number, a path, an identifier.
fn is_slot(word: &str) -> bool {
    word.chars().any(|ch| ch.is_ascii_digit() || "/._@#-".contains(ch))
}

fn names_something(word: &str) -> bool {
    is_slot(word) || !is_common(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(texts: &[&str]) -> Templates {
        let tokens: Vec<Tokens> = texts.iter().map(|text| Tokens::of(text)).collect();
        let mut templates = Templates::default();
        for (place, text) in tokens.iter().enumerate() {
            let near: Vec<&Tokens> = tokens[..place].iter().collect();
            templates.learn(text, &near);
        }
        templates
    }

    /// Lines of tools that no rule knows, in four languages.
    const TOOLS: &[&[&str]] = &[
        &[
            "kestrel finished rollout of billing-api onto sapphire by mareike",
            "kestrel finished rollout of ledger-sync onto obsidian by tobiasz",
            "kestrel finished rollout of webhooks onto sapphire by ngozi",
            "kestrel finished rollout of imgproxy onto garnet by mareike",
            "kestrel finished rollout of authz onto obsidian by ilse",
        ],
        &[
            "Nachtlauf 2201: Mandant Hofmeier geprüft, 12 Belege übernommen",
            "Nachtlauf 2202: Mandant Ratzinger geprüft, 40 Belege übernommen",
            "Nachtlauf 2203: Mandant Ostwald geprüft, 3 Belege übernommen",
            "Nachtlauf 2204: Mandant Brinkmann geprüft, 77 Belege übernommen",
            "Nachtlauf 2205: Mandant Hofmeier geprüft, 9 Belege übernommen",
        ],
        &[
            "relevé du poste quimper : aiguillage 14 vu par yannick",
            "relevé du poste lannion : aiguillage 3 vu par gwenola",
            "relevé du poste brest : aiguillage 22 vu par yannick",
            "relevé du poste roscoff : aiguillage 8 vu par erwan",
            "relevé du poste morlaix : aiguillage 5 vu par gwenola",
        ],
        &[
            "sesja zamknięta dla modułu płatności, plik pay/core.ml",
            "sesja zamknięta dla modułu raportów, plik rep/out.ml",
            "sesja zamknięta dla modułu kolejek, plik mq/pull.ml",
            "sesja zamknięta dla modułu czatu, plik chat/ws.ml",
            "sesja zamknięta dla modułu wyszukiwania, plik idx/scan.ml",
        ],
    ];

    #[test]
    fn five_copies_of_an_unknown_line_are_a_template() {
        for lines in TOOLS {
            let templates = learned(lines);
            assert_eq!(templates.texts().count(), 1, "{lines:?}");
            for line in *lines {
                assert!(templates.copied(line).is_some(), "{line}");
            }
            assert!(learned(&lines[..4]).is_empty(), "{lines:?}");
        }
    }

    #[test]
    fn a_copy_is_about_what_its_fields_name() {
        let copied =
            learned(TOOLS[1]).copied("Nachtlauf 2300: Mandant Adler geprüft, 1 Belege übernommen");
        assert_eq!(copied.map(|copied| copied.subject), Some(["adler".to_string()].into()));
        let other = "Der Mandant Adler wird im Nachtlauf nicht geprüft, weil Belege fehlen";
        assert_eq!(learned(TOOLS[1]).copied(other), None);
    }

    #[test]
    fn wordings_of_one_fact_are_no_template() {
        let wordings = [
            "the export job deadlocks because the lock is held across an await",
            "found out why: the export job deadlocks because the lock is held across an await",
            "again the export job deadlocks because the lock is held across an await, so release it",
            "note: the export job deadlocks when busy because the lock is held across an await",
            "the export job often deadlocks because the lock is held across an await in the loop",
            "today the export job deadlocks because the lock is held across an await",
            "the export job deadlocks because the lock is held across an await: drop it first",
        ];
        assert!(learned(&wordings).is_empty());
    }

    #[test]
    fn a_fact_that_is_told_again_with_another_remark_is_no_template() {
        let fact = "berth import rejects valid tokens, the glob is expanded ahead of the chdir";
        let told: Vec<String> = ["signal.rs", "session.py", "status.go", "logging.yml", "a.ts"]
            .iter()
            .enumerate()
            .map(|(n, file)| format!("{fact}. Seen again in {file}, {n} times."))
            .collect();
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        assert!(learned(&told).is_empty());
    }

    #[test]
    fn facts_that_share_a_clause_are_no_template() {
        let clauses = [
            "gfmt verdoppelt den speicherbedarf: die stapelgröße übersteigt die seitengrenze",
            "router verdoppelt den speicherbedarf, weiß ulf, die stapelgröße übersteigt die seitengrenze",
            "jfrog verdoppelt den speicherbedarf; die stapelgröße übersteigt die seitengrenze",
            "nix verdoppelt den speicherbedarf: die stapelgröße übersteigt die seitengrenze",
            "useradd verdoppelt den speicherbedarf: die stapelgröße übersteigt die seitengrenze",
            "gnproc verdoppelt den speicherbedarf: die stapelgröße übersteigt die seitengrenze",
        ];
        assert!(learned(&clauses).is_empty());
    }

    #[test]
    fn an_old_and_a_new_value_are_no_template() {
        let values: Vec<String> = (0..8)
            .map(|n| format!("the api of the quay gate listens on port {}", 8080 + n))
            .collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert!(learned(&values).is_empty());
    }

    #[test]
    fn the_text_of_a_template_is_the_template() {
        for lines in TOOLS {
            let templates = learned(lines);
            let again = Templates::new(templates.texts().map(str::to_string));
            for line in *lines {
                assert_eq!(again.copied(line), templates.copied(line));
            }
        }
    }

    #[test]
    fn nothing_is_learned_from_nothing() {
        assert!(learned(&[]).is_empty());
        assert!(learned(&["", " ", "a", "a b", "…", "x"]).is_empty());
        assert_eq!(Templates::default().copied("anything"), None);
    }
}
