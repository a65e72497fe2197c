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

    /// The kind of the first mark in `paragraph` and the words that it marks: what follows, or for
    /// a tag everything but the tag.
    pub(super) fn find(&self, paragraph: &str) -> Option<(Kind, String)> {
        let found = self.marks.iter().filter_map(|(kind, regex, is_tag)| {
            let mark = regex.find(paragraph)?;
            let asks = !is_tag && super::cues::is_question(paragraph);
            (!asks).then_some((mark.start(), mark.end(), *kind, *is_tag))
        });
        let (start, end, kind, is_tag) = found.min_by_key(|mark| (mark.0, mark.1))?;
        let before = if is_tag { paragraph[..start].trim() } else { "" };
        let after = paragraph[end..].trim_start_matches([':', ' ', '\t', ',', '：']).trim();
        let space = if before.is_empty() || after.is_empty() { "" } else { " " };
        Some((kind, format!("{before}{space}{after}")))
    }

    /// The kind of a statement without a mark.
    pub(super) fn kind_of(&self, sentence: &str) -> Kind {
        if self.decided.is_match(sentence) { Kind::Decision } else { Kind::Insight }
    }
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
