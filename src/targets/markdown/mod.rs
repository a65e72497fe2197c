//! Markdown: one block of ours per section, at the end of the section's own body.
//!
//! ```text
//! ## Commands
//! - the user's line
//!                                  ← an empty line of ours
//! <!-- lifecycle:begin -->
//! - our line
//! <!-- lifecycle:end -->           ← no line end of its own where the file had none
//! ```
//!
//! Putting a block in and taking it out are exact inverses: the empty line before the begin marker
//! is ours, and an end marker that is the last byte of the file says that the file had no final
//! line end. So removal needs nothing but the bytes.

mod layout;

use super::{
    BEGIN, Change, END, Item, LineOp, Section, TargetError, line_end, line_number, splice,
};
use layout::{Block, Layout};
use std::collections::BTreeMap;
use std::ops::Range;

/// The sections of a file.
pub fn survey(text: &str) -> Result<Vec<Section>, TargetError> {
    let layout = Layout::of(text)?;
    let (mut line, mut counted) = (1, 0);
    let sections = layout.parts.iter().enumerate().map(|(n, part)| {
        // Parts follow each other, so the lines are counted once.
        line += text[counted..part.range.start].matches('\n').count();
        counted = part.range.start;
        let mut blocks = layout.blocks_of(n);
        let own = blocks.next();
        Section {
            path: part.path.clone(),
            body: outside(text, part.range.clone(), layout.blocks_of(n)),
            items: own.map_or_else(Vec::new, |block| items(text, block)),
            surplus: blocks.flat_map(|block| items(text, block)).collect(),
            first_line: line,
        }
    });
    Ok(sections.collect())
}

/// The bytes after `ops`.
pub fn render(text: &str, ops: &[LineOp]) -> Result<String, TargetError> {
    if ops.is_empty() {
        return Ok(text.to_string());
    }
    let merged = merge_surplus(text)?;
    let layout = Layout::of(&merged)?;
    let eol = line_end(&merged);
    let mut wanted: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for op in ops {
        let part = place(&merged, &layout, op, &wanted)?;
        let lines = wanted.entry(part).or_insert_with(|| block_lines(&merged, &layout, part));
        change(lines, op)?;
    }
    let edits = wanted.iter().filter_map(|(part, lines)| edit(&merged, &layout, *part, lines, eol));
    let result = splice(&merged, edits.collect());
    check(text, &result, &layout, &wanted)?;
    Ok(result)
}

/// The bytes without our blocks; lines in them that are not among `ours` stay in their place.
pub fn strip(text: &str, ours: &[String]) -> Result<String, TargetError> {
    let layout = Layout::of(text)?;
    let edits = layout.blocks.iter().map(|block| {
        let theirs: String = pieces(&text[block.inner.clone()])
            .filter(|piece| !item_text(piece).is_some_and(|item| ours.contains(&item)))
            .collect();
        match theirs.trim().is_empty() {
            true => (with_separators(text, block), String::new()),
            false => (block.range.clone(), theirs),
        }
    });
    Ok(splice(text, edits.collect()))
}

/// A second block in a section is a copy that a merge or a paste left: the first one stays.
fn merge_surplus(text: &str) -> Result<String, TargetError> {
    let layout = Layout::of(text)?;
    let surplus = (0..layout.parts.len())
        .flat_map(|part| layout.blocks_of(part).skip(1))
        .map(|block| (with_separators(text, block), String::new()));
    Ok(splice(text, surplus.collect()))
}

/// The part an operation speaks of. A line to replace or withdraw is found wherever it stands, as
/// headings may have been renamed since.
fn place(
    text: &str,
    layout: &Layout,
    op: &LineOp,
    wanted: &BTreeMap<usize, Vec<String>>,
) -> Result<usize, TargetError> {
    let named = layout.part(&op.section);
    let line = match &op.change {
        Change::Add => return named.ok_or_else(|| TargetError::NoSection(op.section.clone())),
        Change::Replace { old } => old,
        Change::Withdraw => &op.line,
    };
    let holds = |part: &usize| {
        let now = wanted.get(part).cloned();
        let lines = now.unwrap_or_else(|| block_lines(text, layout, *part));
        lines.iter().any(|raw| item_text(raw).as_ref() == Some(line))
    };
    named.filter(holds).or_else(|| (0..layout.parts.len()).find(holds)).or(named).map_or_else(
        || match op.change {
            Change::Withdraw => Ok(0),
            _ => Err(TargetError::LineGone(line.clone())),
        },
        Ok,
    )
}

fn change(lines: &mut Vec<String>, op: &LineOp) -> Result<(), TargetError> {
    let at = |line: &str| lines.iter().position(|raw| item_text(raw).as_deref() == Some(line));
    let new = format!("- {}", op.line);
    match &op.change {
        Change::Add if at(&op.line).is_none() => lines.push(new),
        Change::Add => {}
        Change::Replace { old } => {
            let position = at(old).ok_or_else(|| TargetError::LineGone(old.clone()))?;
            if at(&op.line).is_some_and(|other| other != position) {
                lines.remove(position);
            } else {
                lines[position] = new;
            }
        }
        Change::Withdraw => {
            if let Some(position) = at(&op.line) {
                lines.remove(position);
            }
        }
    }
    Ok(())
}

/// The raw pieces of a part's block, the line end of each left out.
fn block_lines(text: &str, layout: &Layout, part: usize) -> Vec<String> {
    layout.blocks_of(part).next().map_or_else(Vec::new, |block| {
        let without_end = |piece: &str| piece[..piece.len() - last_line_end(piece)].to_string();
        pieces(&text[block.inner.clone()]).map(without_end).collect()
    })
}

/// What a block holds, piece by piece with their line ends: a list item with the lines that go on
/// with it, or a line by itself.
fn pieces(inner: &str) -> impl Iterator<Item = &str> {
    let mut rest = inner;
    std::iter::from_fn(move || {
        let mut end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        if is_item(rest) {
            while goes_on(&rest[end..]) {
                end += rest[end..].find('\n').map_or(rest.len() - end, |at| at + 1);
            }
        }
        let (piece, later) = rest.split_at(end);
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether a line goes on with the item above it: indented, and neither blank nor an item, a fence or
/// a comment of its own.
fn goes_on(text: &str) -> bool {
    let line = text.lines().next().unwrap_or("");
    let words = line.trim_start();
    line.starts_with([' ', '\t'])
        && !words.is_empty()
        && !is_item(words)
        && !["```", "~~~", "<!--"].iter().any(|start| words.starts_with(start))
}

fn edit(
    text: &str,
    layout: &Layout,
    part: usize,
    lines: &[String],
    eol: &str,
) -> Option<(Range<usize>, String)> {
    let empty = lines.iter().all(|line| line.trim().is_empty());
    let inner: String = lines.iter().map(|line| format!("{line}{eol}")).collect();
    match layout.blocks_of(part).next() {
        None if empty => None,
        None => Some(insertion(text, layout.parts[part].range.clone(), &inner, eol)),
        Some(block) if empty => Some((with_separators(text, block), String::new())),
        Some(_) if block_lines(text, layout, part) == lines => None,
        Some(block) => Some((block.inner.clone(), inner)),
    }
}

/// The place behind the last line of a part that is not blank, and the block that goes there.
fn insertion(text: &str, part: Range<usize>, inner: &str, eol: &str) -> (Range<usize>, String) {
    let body = &text[part.clone()];
    let used = part.start + body.trim_end().len();
    let block = format!("{BEGIN}{eol}{inner}{END}");
    let before = &text[..part.start];
    if used == part.start && before.trim_start_matches('\u{feff}').is_empty() {
        return (used..used, format!("{block}{eol}"));
    }
    if used == part.start && before.ends_with('\n') {
        return (used..used, format!("{eol}{block}{eol}"));
    }
    match text[used..].find('\n') {
        Some(offset) => {
            let at = used + offset + 1;
            (at..at, format!("{eol}{block}{eol}"))
        }
        None => (text.len()..text.len(), format!("{eol}{eol}{block}")),
    }
}

/// The block with what was put around it.
fn with_separators(text: &str, block: &Block) -> Range<usize> {
    let (mut start, end) = (block.range.start, block.range.end);
    let blank_before = blank_line_before(text, start);
    if let Some(blank) = blank_before {
        start = blank;
        if !text[..end].ends_with('\n') {
            start -= last_line_end(&text[..start]);
        }
    }
    start..end
}

/// Start of the line before `at` if that line holds nothing at all.
fn blank_line_before(text: &str, at: usize) -> Option<usize> {
    let start = at - last_line_end(&text[..at]);
    (start < at && text[..start].ends_with('\n')).then_some(start)
}

/// Length of the line end that `text` ends with; 0 where there is none.
fn last_line_end(text: &str) -> usize {
    if text.ends_with("\r\n") { 2 } else { usize::from(text.ends_with('\n')) }
}

fn outside<'a>(text: &str, part: Range<usize>, blocks: impl Iterator<Item = &'a Block>) -> String {
    let (mut out, mut at) = (String::new(), part.start);
    for block in blocks {
        out.push_str(&text[at..block.range.start]);
        // Empty lines in its place keep the numbers of the lines below.
        out.extend(text[block.range.clone()].matches('\n'));
        at = block.range.end;
    }
    out.push_str(&text[at..part.end]);
    out
}

fn items(text: &str, block: &Block) -> Vec<Item> {
    let mut line = line_number(text, block.inner.start);
    let mut found = Vec::new();
    for piece in pieces(&text[block.inner.clone()]) {
        found.extend(item_text(piece).map(|text| Item { text, line }));
        line += piece.matches('\n').count();
    }
    found
}

/// The text of a list item at top level, on one line.
fn item_text(raw: &str) -> Option<String> {
    let lines: Vec<&str> = raw.get(1..).filter(|_| is_item(raw))?.lines().map(str::trim).collect();
    Some(lines.join(" ").trim().to_string()).filter(|text| !text.is_empty())
}

/// Whether a list item begins there.
fn is_item(text: &str) -> bool {
    text.strip_prefix(['-', '*', '+']).is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// The result, read again: blocks as wanted, headings as before, every other byte as before.
fn check(
    before: &str,
    after: &str,
    planned: &Layout,
    wanted: &BTreeMap<usize, Vec<String>>,
) -> Result<(), TargetError> {
    let layout = Layout::of(after)
        .map_err(|_| TargetError::Unsafe("the section ends inside an open fence or comment"))?;
    let same_parts = layout.parts.len() == planned.parts.len()
        && layout.parts.iter().zip(&planned.parts).all(|(new, old)| new.path == old.path);
    if !same_parts {
        return Err(TargetError::Unsafe("the headings would change"));
    }
    for (part, lines) in wanted {
        let kept: Vec<String> = block_lines(after, &layout, *part);
        let empty = lines.iter().all(|line| line.trim().is_empty());
        if kept != *lines && !(empty && kept.is_empty()) {
            return Err(TargetError::Unsafe("the section ends inside an open fence or comment"));
        }
    }
    if strip_all(before)? != strip_all(after)? {
        return Err(TargetError::Unsafe("text outside the block would change"));
    }
    Ok(())
}

/// The text without any block and without what was put around it.
fn strip_all(text: &str) -> Result<String, TargetError> {
    let layout = Layout::of(text)?;
    let edits = layout.blocks.iter().map(|block| (with_separators(text, block), String::new()));
    Ok(splice(text, edits.collect()))
}
