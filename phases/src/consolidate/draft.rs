//! A proven entry in the making: text, title, kind and protection from its sources.

use super::coverage::{current, keeps};
use super::facts::{FactKind, Facts};
use super::note::Note;
use super::prompt::rearmed;
use super::values::Comparison;
use super::words::is_stop;
use crate::entry::{Actor, Channel, ContentHash, Entry, EntryId, Kind, Origin, Source, State};
use crate::origin::{Said, origin_of};
use std::collections::BTreeSet;

/// Longest title made by code (characters).
const TITLE_CHARS: usize = 60;

/// Words that a clause must have to stand for the whole as its title.
const CLAUSE_WORDS: usize = 4;

/// A text with its sentences from the sources added where it left something out.
pub struct Composed {
    /// The text.
    pub text: String,
    /// Sentences quoted from the sources.
    pub quoted: usize,
}

/// `text` and, after it, word for word: the notes that must be quoted, and every sentence of a
/// source of which the text lost a fact. What no longer holds is quoted only for a protected note,
/// and marked as former.
pub fn complete(text: &str, notes: &[Note], sources: &[usize], found: &Comparison) -> Composed {
    let mut parts = vec![rearmed(text.trim())];
    let mut facts = Facts::of(&parts[0]);
    let mut quoted = 0;
    for &n in sources {
        let note = &notes[n];
        for sentence in current(n, note, found) {
            let whole = note.entry.is_protected() && !facts.flat.contains(&sentence.facts.flat);
            if whole || !keeps(&facts, sentence) {
                parts.push(sentence.text.clone());
                facts = Facts::of(&parts.join("\n"));
                quoted += 1;
            }
        }
    }
    let former = former_quotes(notes, sources, found);
    quoted += former.len();
    parts.extend(former);
    Composed { text: join(&parts), quoted }
}

/// Protected notes of which a newer one replaced something.
pub fn former_quotes(notes: &[Note], sources: &[usize], found: &Comparison) -> Vec<String> {
    sources
        .iter()
        .map(|&n| (n, &notes[n]))
        .filter(|(_, note)| note.entry.is_protected())
        .filter(|(n, note)| (0..note.sentences.len()).any(|s| found.is_stale(*n, s)))
        .map(|(_, note)| format!("Formerly ({}): \"{}\"", note.day, note.entry.text.trim()))
        .collect()
}

/// Sentences as one text: each ends with a mark, single spaces between.
pub fn join(parts: &[String]) -> String {
    let mut out = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            if !out.ends_with(['.', '!', '?', ':', ';', '"', '”', '»']) {
                out.push('.');
            }
            out.push(' ');
        }
        out.push_str(part);
    }
    out
}

/// A heading from a sentence: its date and end mark taken off, cut at a word.
pub fn title_from(sentence: &str) -> String {
    let text = sentence.trim();
    let text = text.get(10..).filter(|_| starts_with_date(text)).unwrap_or(text);
    let text = text.trim_start_matches([' ', ':', '-', ',']).trim_end_matches(['.', ';', ',', '!']);
    if text.chars().count() <= TITLE_CHARS {
        return text.to_string();
    }
    let mut title = String::new();
    for word in text.split_whitespace() {
        if title.chars().count() + word.chars().count() + 1 > TITLE_CHARS {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    if let Some(clause) = whole_clause(&title) {
        return clause.to_string();
    }
    while let Some((head, last)) = title.rsplit_once(' ') {
        if !is_stop(&last.to_lowercase()) {
            break;
        }
        title = head.to_string();
    }
    title.trim_end_matches([',', ';', ':', '(']).to_string()
}

/// The part of a cut title that ends where a clause ends, if it says enough.
fn whole_clause(title: &str) -> Option<&str> {
    let ends = title.char_indices().filter(|&(at, ch)| {
        let before_space = title[at + ch.len_utf8()..].starts_with(' ');
        ch == '(' || (matches!(ch, ',' | ';' | ':' | '–' | '—') && before_space)
    });
    let mut heads = ends.map(|(at, _)| title[..at].trim_end());
    heads.rfind(|head| head.split_whitespace().count() >= CLAUSE_WORDS)
}

fn starts_with_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// A title that no other has: the first fact that the title does not name is added to it.
pub fn distinct_title(title: &str, text: &str, taken: &BTreeSet<String>) -> (String, bool) {
    if !taken.contains(&title.to_lowercase()) {
        return (title.to_string(), false);
    }
    let own = Facts::of(title);
    let facts = Facts::of(text);
    let added = facts
        .hard()
        .filter(|fact| !own.states(fact))
        .map(|fact| format!("{title} ({})", fact.shown));
    let numbered = (2..1000).map(|n| format!("{title} ({n})"));
    let distinct = added.chain(numbered).find(|title| !taken.contains(&title.to_lowercase()));
    (distinct.unwrap_or_else(|| title.to_string()), true)
}

/// The kind a merge must have for the sake of its sources: never weaker than what they need.
pub fn needed_kind(notes: &[Note], sources: &[usize]) -> Option<Kind> {
    let has = |kind: Kind| sources.iter().any(|&n| notes[n].entry.kind == kind);
    [Kind::Sensitive, Kind::Decision, Kind::Thought, Kind::SecurityAlert, Kind::SecurityNote]
        .into_iter()
        .find(|kind| has(*kind))
}

/// The kind that most sources have; the newest decides between equals. Sessions make insights.
pub fn common_kind(notes: &[Note], sources: &[usize]) -> Kind {
    let count = |kind: Kind| sources.iter().filter(|&&n| notes[n].entry.kind == kind).count();
    sources
        .iter()
        .map(|&n| notes[n].entry.kind)
        .max_by_key(|kind| count(*kind))
        .filter(|kind| *kind != Kind::Session)
        .unwrap_or(Kind::Insight)
}

/// The proven entry for `text` made of these sources.
pub fn proven(
    text: &str,
    title: String,
    kind: Kind,
    notes: &[Note],
    sources: &[usize],
    generated_by: &str,
) -> Entry {
    let entries: Vec<&Entry> = sources.iter().map(|&n| &notes[n].entry).collect();
    let project = entries.first().and_then(|entry| entry.project.clone());
    let content_hash = ContentHash::of(text);
    let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id.clone()).collect();
    Entry {
        id: EntryId::of_merge(project.as_deref(), &content_hash, &ids),
        text: text.to_string(),
        title: Some(title),
        content_hash,
        kind,
        project,
        state: State::Proven,
        created: entries.iter().map(|entry| entry.created).max().unwrap_or(0),
        source: Source {
            files: files(notes, sources),
            ..Source::new(Channel::Tick, actor(&entries)).with_origin(origin(text, notes, sources))
        },
        generated_by: Some(generated_by.to_string()),
        recalls: entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.recalls)),
        reprieves: 0,
        protected: entries.iter().any(|entry| entry.protected)
            || (!kind.is_protected() && entries.iter().any(|entry| entry.is_protected())),
    }
}

/// The speaker that all sources share; the assistant where they differ, so that nothing is put
/// into the user's mouth.
fn actor(entries: &[&Entry]) -> Actor {
    let first = entries.first().map_or(Actor::Assistant, |entry| entry.source.actor);
    if entries.iter().all(|entry| entry.source.actor == first) { first } else { Actor::Assistant }
}

/// The weakest hand among those that the text needs: what the user or the assistant states as well
/// does not become weaker by a tool's repeating it.
fn origin(text: &str, notes: &[Note], sources: &[usize]) -> Origin {
    let said: Vec<Said<'_>> = sources
        .iter()
        .map(|&n| Said { origin: notes[n].entry.source.origin(), facts: &notes[n].facts })
        .collect();
    origin_of(text, &said)
}

/// Union of the files of the sources: recorded ones, and paths in their texts.
fn files(notes: &[Note], sources: &[usize]) -> Vec<String> {
    let mut files = BTreeSet::new();
    for &n in sources {
        files.extend(notes[n].entry.source.files.iter().cloned());
        let paths = notes[n].facts.facts.iter().filter(|fact| fact.kind == FactKind::Path);
        files.extend(paths.map(|fact| fact.shown.clone()));
    }
    files.into_iter().collect()
}
