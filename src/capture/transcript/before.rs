//! What was put into a conversation before the cursor, heard again.
//!
//! A page that an earlier reading passed may be quoted in this one. Nothing of it is stored: the
//! file still holds it, and the cursor is only trusted where the bytes before it are the same. So
//! the last [`LOOK_BACK`] bytes before the cursor are gone through once more, for calls, their
//! outputs and our own blocks alone; what people said there is not looked at again.

use super::lines::{Line, Lines};
use super::{Collector, Echo, Limits, Message, Voice};
use regex::bytes::Regex;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Result, Seek, SeekFrom};
use std::sync::LazyLock;

/// How far back, in bytes. A page that was read earlier is not known any more.
pub const LOOK_BACK: u64 = 16 << 20;

/// A line that holds none of these words puts nothing into a conversation.
static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    let words = "tool_use|tool_result|attachment|function_call|tool_call|web_search_call|lifecycle";
    Regex::new(words).expect("the pattern is valid")
});

/// What is known of the part before the cursor.
#[derive(Default)]
pub(super) struct Before {
    pub(super) echo: Echo,
    pub(super) voices: HashMap<String, Voice>,
}

/// Goes through the part of `input` before `offset`. The first line is most times cut, and passed
/// over like any other that does not parse.
pub(super) fn before(input: &mut File, offset: u64, limits: Limits) -> Result<Before> {
    let from = offset.saturating_sub(LOOK_BACK);
    input.seek(SeekFrom::Start(from))?;
    let part = BufReader::with_capacity(256 << 10, input.take(offset - from));
    let mut lines = Lines::new(part, from, limits.line);
    let mut nothing = |_: &[Message], _: &Echo| {};
    let mut collector = Collector::new(limits, Before::default(), &mut nothing);
    let (mut line, mut start) = (Vec::new(), from);
    loop {
        match lines.next(&mut line)? {
            Line::Whole if TELLING.is_match(&line) => collector.line(&line, start),
            Line::Whole | Line::TooLong => {}
            Line::Unfinished | Line::End => break,
        }
        start = lines.offset();
    }
    Ok(Before { echo: collector.echo, voices: collector.voices })
}
