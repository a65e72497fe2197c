//! Where everything stands in a Markdown file: sections by heading path and our blocks, as byte
//! ranges of the original text.

use super::super::{BEGIN, END, TargetError, front_matter, line_number};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A Markdown file taken apart.
#[derive(Debug)]
pub struct Layout {
    /// In document order; the first is the text before any heading.
    pub parts: Vec<Part>,
    /// In document order; none overlap, each lies inside one part.
    pub blocks: Vec<Block>,
}

/// A section's own text: from its heading to the next heading of any level.
#[derive(Debug)]
pub struct Part {
    /// Headings from the outermost to the section's own.
    pub path: Vec<String>,
    /// The part, heading included.
    pub range: Range<usize>,
}

/// One of our blocks.
#[derive(Clone, Debug)]
pub struct Block {
    /// Index of its part.
    pub part: usize,
    /// From the start of the begin line to behind the line end of the end line.
    pub range: Range<usize>,
    /// The lines between the markers.
    pub inner: Range<usize>,
}

impl Layout {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// Broken front matter; markers of ours that are damaged.
    pub fn of(text: &str) -> Result<Self, TargetError> {
        let start = front_matter(text)?.end;
        let mut scan = Scan::default();
        scan.run(&text[start..], start);
        let parts = parts(text, start, &scan.headings);
        let blocks = pair(text, &parts, &scan)?;
        Ok(Self { parts, blocks })
    }

    /// The part that a heading path names; the first where several have the same one.
    pub fn part(&self, path: &[String]) -> Option<usize> {
        self.parts.iter().position(|part| part.path == path)
    }

    /// The blocks of a part, in order.
    pub fn blocks_of(&self, part: usize) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.part == part)
    }
}

struct Heading {
    level: usize,
    title: String,
    start: usize,
}

#[derive(Default)]
struct Scan {
    headings: Vec<Heading>,
    /// Starts of HTML blocks at top level.
    html: Vec<usize>,
    code: Vec<Range<usize>>,
}

impl Scan {
    fn run(&mut self, text: &str, offset: usize) {
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        let (mut depth, mut open): (usize, Option<Heading>) = (0, None);
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            let range = range.start + offset..range.end + offset;
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        open = self.start_top(&tag, range.start);
                    }
                    if let Tag::CodeBlock(_) = tag {
                        self.code.push(range);
                    }
                    depth += 1;
                }
                Event::End(tag) => {
                    depth -= 1;
                    if let (TagEnd::Heading(_), Some(heading)) = (tag, open.take()) {
                        self.headings.push(heading);
                    }
                }
                Event::Text(words) | Event::Code(words) => push_title(&mut open, &words),
                Event::SoftBreak | Event::HardBreak => push_title(&mut open, " "),
                _ => {}
            }
        }
    }

    fn start_top(&mut self, tag: &Tag<'_>, start: usize) -> Option<Heading> {
        match tag {
            Tag::Heading { level, .. } => {
                return Some(Heading { level: *level as usize, title: String::new(), start });
            }
            Tag::HtmlBlock => self.html.push(start),
            _ => {}
        }
        None
    }
}

fn push_title(open: &mut Option<Heading>, words: &str) {
    if let Some(heading) = open {
        heading.title.push_str(words);
    }
}

fn parts(text: &str, start: usize, headings: &[Heading]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(headings.len() + 1);
    let end_of = |next: usize| headings.get(next).map_or(text.len(), |heading| heading.start);
    parts.push(Part { path: Vec::new(), range: start..end_of(0) });
    let mut above: Vec<&Heading> = Vec::new();
    for (n, heading) in headings.iter().enumerate() {
        above.retain(|outer| outer.level < heading.level);
        above.push(heading);
        let path = above.iter().map(|outer| outer.title.trim().to_string()).collect();
        parts.push(Part { path, range: heading.start..end_of(n + 1) });
    }
    parts
}

struct Marker {
    range: Range<usize>,
    opens: bool,
}

/// Pairs the markers, or says which one is damaged.
fn pair(text: &str, parts: &[Part], scan: &Scan) -> Result<Vec<Block>, TargetError> {
    let mut blocks = Vec::new();
    let mut open: Option<Marker> = None;
    for marker in markers(text, scan)? {
        match (open.take(), marker.opens) {
            (None, true) => open = Some(marker),
            (Some(begin), false) => blocks.push(block(text, parts, &begin, &marker)?),
            (None, false) => return damaged(text, marker.range.start, "an end without a begin"),
            (Some(begin), true) => {
                return damaged(text, begin.range.start, "a begin without an end");
            }
        }
    }
    match open {
        Some(begin) => damaged(text, begin.range.start, "a begin without an end"),
        None => Ok(blocks),
    }
}

fn block(text: &str, parts: &[Part], begin: &Marker, end: &Marker) -> Result<Block, TargetError> {
    let holds = |part: &Part| part.range.contains(&begin.range.start);
    let part = parts.iter().position(holds).unwrap_or(0);
    if end.range.start >= parts[part].range.end {
        return damaged(text, begin.range.start, "a heading stands between begin and end");
    }
    Ok(Block {
        part,
        range: begin.range.start..end.range.end,
        inner: begin.range.end..end.range.start,
    })
}

/// Every line that is a marker of ours. One inside a code block is an example and does not count;
/// one inside a list, a quote or another HTML block is damage.
fn markers(text: &str, scan: &Scan) -> Result<Vec<Marker>, TargetError> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let word = line.trim();
        if word != BEGIN && word != END {
            continue;
        }
        if scan.code.iter().any(|code| code.start < at && start < code.end) {
            continue;
        }
        if !line.starts_with("<!--") || scan.html.binary_search(&start).is_err() {
            return damaged(text, start, "it stands inside another block");
        }
        found.push(Marker { range: start..at, opens: word == BEGIN });
    }
    Ok(found)
}

fn damaged<T>(text: &str, at: usize, message: &'static str) -> Result<T, TargetError> {
    Err(TargetError::Markers { line: line_number(text, at), message })
}
