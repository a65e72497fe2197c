//! Explicit marks: words by which a speaker says that something is to be kept.

use crate::config::CaptureMarks;
use crate::error::{Error, Result};
use lifecycle_phases::Kind;
use regex::Regex;

/// Words by which a sentence states a decision that was taken.
const DECIDED: &str = r"(?i)^\W*(?:decision|entscheidung|beschluss|décision)\s*[:：]|\b(?:we(?:'ve| have)? (?:decided|agreed|chosen|settled on)|wir haben (?:uns )?[^.!?]{0,60}(?:entschieden|beschlossen|vereinbart|geeinigt)|(?:nous avons|on a) (?:décidé|convenu|choisi))\b";

/// The compiled marks.
pub(super) struct Marks {
    marks: Vec<(Kind, Regex, bool)>,
    decided: Regex,
}

impl Marks {
    pub(super) fn new(settings: &CaptureMarks) -> Result<Self> {
        let lists = [
            (Kind::Decision, &settings.decision),
            (Kind::Thought, &settings.thought),
            (Kind::Insight, &settings.insight),
        ];
        let mut marks = Vec::new();
        for (kind, words) in lists {
            for word in words {
                marks.push((kind, compile(word)?, word.starts_with('#')));
            }
        }
        let decided = Regex::new(DECIDED).expect("DECIDED is a valid expression");
        Ok(Self { marks, decided })
    }

    /// What the marks in `paragraph` mark, each with its kind; `None` where there is no mark.
    ///
    /// A word marks what follows it, up to the next mark. A tag marks what follows it where it begins
    /// a statement, else what stands before it; one that stands alone within a statement, or at
    /// either end of the paragraph, marks all of that.
    pub(super) fn split(&self, paragraph: &str) -> Option<Marked> {
        let found = self.found(paragraph);
        let is_tag = found.first()?.is_tag;
        let begins_another = |mark: &Found| {
            let before = Piece { text: &paragraph[..mark.start], taken: false };
            before.says() && before.is_ended() && speaks(&paragraph[mark.end..])
        };
        if let ([mark], true) = (found.as_slice(), is_tag)
            && !begins_another(mark)
        {
            let parts = [paragraph[..mark.start].trim(), after(&paragraph[mark.end..])];
            return Some(Marked::of(String::new(), vec![(mark.kind, tidy(&parts.join(" ")))]));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut from = 0;
        for mark in &found {
            pieces.push(Piece { text: &paragraph[from..mark.start], taken: false });
            from = mark.end;
        }
        pieces.push(Piece { text: &paragraph[from..], taken: false });
        let mut marked: Vec<(Kind, String)> = Vec::new();
        for (at, mark) in found.iter().enumerate() {
            let (before, follows) = (&pieces[at], pieces[at + 1].says());
            let is_behind =
                mark.is_tag && before.says() && (!follows || !(before.taken || before.is_ended()));
            if !is_behind {
                pieces[at + 1].taken = true;
                marked.push((mark.kind, trimmed(pieces[at + 1].text)));
            } else if before.taken {
                // Two marks for the same words: the stronger kind holds.
                if let Some((kind, _)) = marked.last_mut() {
                    *kind = stronger(*kind, mark.kind);
                }
            } else {
                marked.push((mark.kind, trimmed(before.text)));
                pieces[at].taken = true;
            }
        }
        let free = pieces.iter().filter(|piece| !piece.taken).map(|piece| piece.text.trim());
        Some(Marked::of(free.collect::<Vec<_>>().join(" "), marked))
    }

    /// The marks in order, none inside another. A word in front of a question marks nothing.
    fn found(&self, paragraph: &str) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        for (kind, regex, is_tag) in &self.marks {
            all.extend(regex.find_iter(paragraph).map(|mark| Found {
                start: mark.start(),
                end: mark.end(),
                kind: *kind,
                is_tag: *is_tag,
            }));
        }
        all.sort_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
        let mut found: Vec<Found> = Vec::new();
        for mark in all {
            if found.last().is_none_or(|last| last.end <= mark.start) {
                found.push(mark);
            }
        }
        let ends: Vec<usize> =
            found.iter().skip(1).map(|next| next.start).chain([paragraph.len()]).collect();
        let mut ends = ends.into_iter();
        found.retain(|mark| {
            let end = ends.next().unwrap_or(paragraph.len());
            mark.is_tag || !super::cues::is_question(&paragraph[mark.start..end])
        });
        found
    }

    /// The kind of a statement without a mark.
    pub(super) fn kind_of(&self, sentence: &str) -> Kind {
        if self.decided.is_match(sentence) { Kind::Decision } else { Kind::Insight }
    }
}

/// A mark at its place.
struct Found {
    start: usize,
    end: usize,
    kind: Kind,
    is_tag: bool,
}

/// What stands between two marks.
struct Piece<'a> {
    text: &'a str,
    /// Whether a mark holds it.
    taken: bool,
}

impl Piece<'_> {
    fn says(&self) -> bool {
        speaks(self.text)
    }

    /// Whether a statement is complete before the next mark.
    fn is_ended(&self) -> bool {
        self.text.trim_end().ends_with(['.', '!', '?', ';', ':', '…', '。', ')'])
    }
}

/// A paragraph with marks.
pub(super) struct Marked {
    /// What no mark holds.
    pub(super) free: String,
    /// What is marked.
    pub(super) texts: Vec<(Kind, String)>,
    /// A mark at the end, which marks what follows the paragraph.
    pub(super) open: Option<Kind>,
}

impl Marked {
    fn of(free: String, mut texts: Vec<(Kind, String)>) -> Self {
        let is_empty = |text: &str| !speaks(text);
        let open = texts.last().filter(|(_, text)| is_empty(text)).map(|(kind, _)| *kind);
        texts.retain(|(_, text)| !is_empty(text));
        Self { free, texts, open }
    }
}

/// Whether a text is more than marks of punctuation.
fn speaks(text: &str) -> bool {
    text.chars().any(|ch| !ch.is_whitespace() && !ch.is_ascii_punctuation())
}

/// The kind that is protected, else the first.
fn stronger(a: Kind, b: Kind) -> Kind {
    if b.is_protected() && !a.is_protected() { b } else { a }
}

/// What follows a mark, without its colon.
fn after(text: &str) -> &str {
    text.trim_start_matches([':', ' ', '\t', ',', '：']).trim()
}

/// A piece between marks without what ties it to them: a colon before, a comma or "and" behind.
fn trimmed(text: &str) -> String {
    const TIES: &[&str] = &["and", "also", "und", "auch", "sowie", "et", "aussi"];
    let is_edge = |ch: char| matches!(ch, ',' | ';' | '–' | '-' | ' ');
    let mut text = after(text).trim_end_matches(is_edge);
    while let Some((head, _)) = text.rsplit_once(' ').filter(|(_, last)| TIES.contains(last)) {
        text = head.trim_end_matches(is_edge);
    }
    let first = text.split_once(' ').filter(|(first, _)| TIES.contains(first));
    tidy(first.map_or(text, |(_, rest)| rest))
}

/// `We take Postgres .` without the space that a tag before the full stop left.
fn tidy(text: &str) -> String {
    let text = text.trim();
    text.strip_suffix(" .").map_or_else(|| text.to_string(), |head| format!("{head}."))
}

/// A mark as an expression: without case, at word boundaries; a colon at its end may have spaces
/// before it, as French sets it.
fn compile(mark: &str) -> Result<Regex> {
    let word = mark.trim().trim_end_matches(':').trim_end();
    if word.is_empty() || word == "#" {
        return Err(Error::config("capture.marks: a mark is empty"));
    }
    let colon = if mark.trim().ends_with(':') { r"\s*[:：]" } else { "" };
    let start = if word.starts_with(|ch: char| ch.is_alphanumeric()) { r"\b" } else { "" };
    let end = if colon.is_empty() { r"(?:\b|$)" } else { "" };
    let pattern = format!("(?i){start}{}{colon}{end}", regex::escape(word));
    Regex::new(&pattern).map_err(|error| Error::config(format!("capture.marks: {mark}: {error}")))
}
