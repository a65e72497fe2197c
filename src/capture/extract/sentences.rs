//! Paragraphs and sentences of a message.

use unicode_segmentation::UnicodeSegmentation;

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "z.", "b.", "d.", "h.", "u.", "a.", "i.", "e.", "g.", "e.g.", "i.e.", "z.b.", "d.h.", "u.a.",
    "etc.", "vs.", "bzw.", "ca.", "nr.", "no.", "usw.", "ggf.", "evtl.", "inkl.", "cf.", "p.",
    "ex.", "dr.", "mr.", "st.", "approx.",
];

/// A paragraph of prose, or one item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// Its text, hard line ends joined, the list mark cut off.
    pub text: String,
    /// Whether it is an item of a list.
    pub is_item: bool,
}

/// The paragraphs of `text`. Fenced code, quotations, headings and table rows are no prose.
pub fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut is_open, mut fence) = (false, None);
    for line in text.lines() {
        let line = line.trim();
        if let Some(mark) = fence_mark(line) {
            fence = if fence.is_none() { Some(mark) } else { fence.filter(|open| *open != mark) };
            is_open = false;
            continue;
        }
        if fence.is_some() || line.is_empty() || is_no_prose(line) {
            is_open = false;
            continue;
        }
        let item = item_text(line);
        match found.last_mut().filter(|_| is_open && item.is_none()) {
            Some(paragraph) => {
                paragraph.text.push(' ');
                paragraph.text.push_str(line);
            }
            None => found.push(Paragraph {
                text: item.unwrap_or(line).to_string(),
                is_item: item.is_some(),
            }),
        }
        is_open = true;
    }
    found
}

fn fence_mark(line: &str) -> Option<char> {
    ['`', '~'].into_iter().find(|mark| line.chars().take(3).filter(|ch| ch == mark).count() == 3)
}

fn is_no_prose(line: &str) -> bool {
    let is_heading = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    is_heading || line.starts_with('>') || line.starts_with('|')
}

/// The text of a list item without its mark.
fn item_text(line: &str) -> Option<&str> {
    let marked = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let rest = line.trim_start_matches(|ch: char| ch.is_ascii_digit());
        let has_number = rest.len() < line.len() && line.len() - rest.len() <= 3;
        rest.strip_prefix(". ").or(rest.strip_prefix(") ")).filter(|_| has_number)
    };
    marked.or_else(numbered).map(str::trim)
}

/// The sentences of a paragraph (Unicode UAX 29), with abbreviations and what holds no letter
/// joined to the sentence before.
pub fn sentences(paragraph: &str) -> Vec<&str> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut joins = false;
    for (at, piece) in paragraph.split_sentence_bound_indices() {
        let end = at + piece.len();
        let is_wordless = !piece.chars().any(char::is_alphanumeric);
        match found.last_mut() {
            Some(last) if joins || is_wordless => last.1 = end,
            _ => found.push((at, end)),
        }
        joins = ends_in_abbreviation(piece);
    }
    let pieces = found.into_iter().map(|(from, to)| paragraph[from..to].trim());
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn ends_in_abbreviation(piece: &str) -> bool {
    let last = piece.split_whitespace().next_back().unwrap_or("").to_lowercase();
    ABBREVIATIONS.contains(&last.trim_start_matches(['(', '"', '„', '«']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_stops() {
        let text = "Right. Keep 18.6 years, z. B. im `eta.rs`: nie raten! Das Datum. 🚢";
        let wanted = ["Right.", "Keep 18.6 years, z. B. im `eta.rs`: nie raten!", "Das Datum. 🚢"];
        assert_eq!(sentences(text), wanted);
    }

    #[test]
    fn code_and_quotations_are_no_prose() {
        let text =
            "One\ntwo\n\n```sh\nnever run\n```\n> quoted\n# Head\n- first\n  more\n2. second";
        let texts: Vec<_> = paragraphs(text).into_iter().map(|p| (p.text, p.is_item)).collect();
        let wanted = [("One two", false), ("first more", true), ("second", true)];
        assert_eq!(texts, wanted.map(|(text, item)| (text.to_string(), item)));
    }
}
