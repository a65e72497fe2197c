//! Lines of a file as a stream of bytes, with a bound on memory.

use std::io::{BufRead, ErrorKind, Result};

/// What came after the last line end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A complete line is in the buffer, its line end cut off.
    Whole,
    /// A complete line was longer than the limit and was passed over.
    TooLong,
    /// Bytes without a line end: still being written, or cut off.
    Unfinished,
    /// Nothing more.
    End,
}

/// Reads line after line. Never holds more than `limit` bytes of one.
pub struct Lines<R> {
    input: R,
    limit: usize,
    /// Offset in the file of the next byte to read.
    offset: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads on from `offset`, where `input` must stand.
    pub fn new(input: R, offset: u64, limit: usize) -> Self {
        Self { input, limit, offset }
    }

    /// Offset just after the line that was read last.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next line into `line`, which is cleared first.
    pub fn next(&mut self, line: &mut Vec<u8>) -> Result<Line> {
        line.clear();
        let (mut read, mut too_long) = (0u64, false);
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(if read == 0 { Line::End } else { Line::Unfinished });
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            let content = &chunk[..end.unwrap_or(chunk.len())];
            too_long |= line.len() + content.len() > self.limit;
            if too_long {
                *line = Vec::new();
            } else {
                line.extend_from_slice(content);
            }
            read += taken as u64;
            self.input.consume(taken);
            if end.is_some() {
                self.offset += read;
                return Ok(Self::whole(line, too_long));
            }
        }
    }

    fn whole(line: &mut Vec<u8>, too_long: bool) -> Line {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if too_long { Line::TooLong } else { Line::Whole }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    fn all(bytes: &[u8], limit: usize) -> Vec<(Line, Vec<u8>, u64)> {
        let mut lines = Lines::new(BufReader::with_capacity(3, bytes), 0, limit);
        let (mut line, mut found) = (Vec::new(), Vec::new());
        loop {
            match lines.next(&mut line).unwrap() {
                Line::End => return found,
                kind => found.push((kind, line.clone(), lines.offset())),
            }
        }
    }

    #[test]
    fn the_offset_stays_before_what_is_unfinished() {
        let found = all("a\r\n\nlonger than ten\nhalf".as_bytes(), 10);
        let kinds: Vec<_> = found.iter().map(|(kind, line, at)| (kind, &line[..], *at)).collect();
        assert_eq!(
            kinds,
            [
                (&Line::Whole, &b"a"[..], 3),
                (&Line::Whole, &b""[..], 4),
                (&Line::TooLong, &b""[..], 20),
                (&Line::Unfinished, &b"half"[..], 20),
            ]
        );
    }

    proptest! {
        #[test]
        fn every_complete_line_is_seen(lines in prop::collection::vec("[a-zé\r]{0,9}", 0..9)) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let found = all(text.as_bytes(), 1000);
            prop_assert_eq!(found.len(), lines.len());
            prop_assert_eq!(found.last().map_or(0, |f| f.2), text.len() as u64);
        }
    }
}
