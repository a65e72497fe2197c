//! Markdown in pieces: cut at headings, then by length, so that each piece can be embedded and
//! shown by itself.

use unicode_segmentation::UnicodeSegmentation;

/// About how many characters a piece has.
const LENGTH: usize = 1800;
/// How many characters of a piece the next one repeats, so that no sentence is lost between.
const OVERLAP: usize = 180;
/// Sections shorter than this join the next one under the same parent.
const SMALL: usize = 300;

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Headings above it, outermost first, joined by ` > `; may be empty.
    pub heading: String,
    /// Its text, the last heading included.
    pub text: String,
}

impl Piece {
    /// What is embedded: the heading path, then the text.
    pub fn embedded_text(heading: &str, text: &str) -> String {
        if heading.is_empty() { text.to_string() } else { format!("{heading}\n\n{text}") }
    }
}

/// The pieces of `markdown` in order. A blank text has none. Every character that is not white
/// space is in at least one piece.
pub fn chunk(markdown: &str) -> Vec<Piece> {
    merge_small(sections(markdown)).iter().flat_map(split_long).collect()
}

/// One section a heading. A `#` inside a code block is no heading.
fn sections(markdown: &str) -> Vec<Section> {
    let mut found = vec![Section::default()];
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in markdown.split_inclusive('\n') {
        let bare = line.trim();
        match fence {
            Some(mark) if bare.starts_with(mark) => fence = None,
            None => fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)),
            Some(_) => {}
        }
        if let (None, Some((level, title))) = (fence, heading(line)) {
            path.retain(|(above, _)| *above < level);
            path.push((level, title));
            let titles = path.iter().map(|(_, title)| title.clone()).collect();
            found.push(Section { path: titles, text: String::new() });
        }
        if let Some(last) = found.last_mut() {
            last.text.push_str(line);
        }
    }
    found.retain(|section| !section.text.trim().is_empty());
    found
}

#[derive(Clone, Debug, Default)]
struct Section {
    path: Vec<String>,
    text: String,
}

fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line[level..].trim_end();
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim().to_string()))
}

/// Joins a small section with the one before it where both stand under the same parent, or the
/// second stands under the first.
fn merge_small(sections: Vec<Section>) -> Vec<Section> {
    let mut merged: Vec<Section> = Vec::new();
    for section in sections {
        let joins = merged.last().is_some_and(|last| {
            let shared = last.path.len().min(section.path.len().saturating_sub(1));
            let related = last.path[..shared] == section.path[..shared]
                && last.path.len() <= section.path.len();
            let small = last.text.len() < SMALL || section.text.len() < SMALL;
            related && small && length(&last.text) + length(&section.text) <= LENGTH
        });
        match merged.last_mut() {
            Some(last) if joins => {
                last.text.push_str(&section.text);
                let common = last.path.iter().zip(&section.path).take_while(|(x, y)| x == y);
                let common = common.count();
                last.path.truncate(common);
            }
            _ => merged.push(section),
        }
    }
    merged
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Cuts a long section, at best between paragraphs, then lines, then sentences, then words.
fn split_long(section: &Section) -> Vec<Piece> {
    let heading = section.path.join(" > ");
    let piece = |text: &str| Piece { heading: heading.clone(), text: text.trim().to_string() };
    let mut rest = section.text.trim();
    let mut pieces = Vec::new();
    while length(rest) > LENGTH {
        let end = cut(rest);
        pieces.push(piece(&rest[..end]));
        let from = overlap_start(&rest[..end]);
        rest = rest[from..].trim_start();
    }
    if !rest.is_empty() {
        pieces.push(piece(rest));
    }
    pieces
}

/// Byte at which the first piece of `text` ends: a good place in the last third of its length.
fn cut(text: &str) -> usize {
    let most = byte_at(text, LENGTH);
    let least = byte_at(text, LENGTH * 2 / 3);
    let window = &text[least..most];
    ["\n\n", "\n", ". ", " "]
        .iter()
        .find_map(|mark| window.rfind(mark).map(|at| least + at + mark.len()))
        .unwrap_or_else(|| whole_graphemes(text, most))
}

/// Byte at which the next piece starts: a word's start within the overlap before `done`'s end.
fn overlap_start(done: &str) -> usize {
    let count = length(done);
    let from = byte_at(done, count.saturating_sub(OVERLAP));
    match done[from..].find(char::is_whitespace) {
        Some(at) if from > 0 => from + at,
        _ => done.len(),
    }
}

fn byte_at(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

fn whole_graphemes(text: &str, most: usize) -> usize {
    let ends = text.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
    ends.take_while(|end| *end <= most).last().unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_carry_their_heading_path() {
        let body = "word ".repeat(80);
        let text = format!(
            "# Harbor\n{body}\n## Berths\n{body}\n```sh\n# no heading\n```\n## Pilots\n{body}"
        );
        let headings: Vec<String> = chunk(&text).into_iter().map(|piece| piece.heading).collect();
        assert_eq!(headings, ["Harbor", "Harbor > Berths", "Harbor > Pilots"]);
    }

    #[test]
    fn small_sections_stand_together() {
        let text = "# A\n\n## One\nx\n\n## Two\ny\n";
        let pieces = chunk(text);
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        assert_eq!(pieces[0].heading, "A");
        assert!(pieces[0].text.contains("## Two"));
    }

    #[test]
    fn long_sections_overlap() {
        let text = (0..900).map(|n| format!("w{n} ")).collect::<String>();
        let pieces = chunk(&text);
        assert!(pieces.len() >= 2);
        for pair in pieces.windows(2) {
            let first = pair[1].text.split_whitespace().next().unwrap_or("none");
            assert!(pair[0].text.contains(first));
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_piece_is_long(text in "([a-z]{1,9}|# [a-z]{3}|é🏳️‍🌈| |\n){0,900}") {
            let pieces = chunk(&text);
            for word in text.split_whitespace() {
                prop_assert!(pieces.iter().any(|piece| piece.text.contains(word)));
            }
            for piece in &pieces {
                prop_assert!(length(&piece.text) <= LENGTH);
                prop_assert!(!piece.text.is_empty());
            }
        }
    }
}
