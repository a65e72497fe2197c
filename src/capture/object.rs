//! Reads one JSON object from a stream that may never close.
//!
//! An assistant may keep its end of the pipe open, so end of input cannot be waited for: the
//! bytes are followed just far enough to see the object end. Nothing is parsed here.

use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

/// The largest object that is taken: 8 MiB.
pub const MAX_BYTES: usize = 8 << 20;

/// The bytes of the first whole object in `input`, or `None` when there is none within `patience`
/// or within [`MAX_BYTES`]. The reading thread is left behind: it ends with the process.
pub fn read_object(input: impl Read + Send + 'static, patience: Duration) -> Option<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .spawn(move || {
            let _ = sender.send(first_object(input, MAX_BYTES));
        })
        .ok()?;
    receiver.recv_timeout(patience).ok().flatten()
}

/// The bytes of the first whole object in `input`; white space and a byte order mark may precede.
pub fn first_object(mut input: impl Read, limit: usize) -> Option<Vec<u8>> {
    let mut extent = Extent::default();
    let mut bytes = Vec::new();
    let mut chunk = [0u8; 16 << 10];
    loop {
        let n = match input.read(&mut chunk) {
            Ok(0) => return None,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        match chunk[..n].iter().position(|byte| extent.take(*byte) != Progress::More) {
            Some(_) if extent.broken => return None,
            Some(end) => {
                bytes.extend_from_slice(&chunk[..=end]);
                return Some(bytes);
            }
            None if bytes.len() + n > limit => return None,
            None => bytes.extend_from_slice(&chunk[..n]),
        }
    }
}

#[derive(PartialEq)]
enum Progress {
    More,
    Ended,
}

/// Follows brackets and strings until the outermost object closes.
#[derive(Default)]
struct Extent {
    depth: usize,
    in_string: bool,
    escaped: bool,
    broken: bool,
}

impl Extent {
    fn take(&mut self, byte: u8) -> Progress {
        if self.in_string {
            self.take_in_string(byte);
            return Progress::More;
        }
        match byte {
            b'"' if self.depth > 0 => self.in_string = true,
            b'{' | b'[' if self.depth > 0 || byte == b'{' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => self.depth -= 1,
            _ if self.depth > 0 => {}
            b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => return Progress::More,
            _ => self.broken = true,
        }
        if self.depth == 0 { Progress::Ended } else { Progress::More }
    }

    fn take_in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// A pipe whose other end never closes.
    struct Open(std::io::Cursor<Vec<u8>>);

    impl Read for Open {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => loop {
                    std::thread::park();
                },
                n => Ok(n),
            }
        }
    }

    #[test]
    fn an_open_pipe_is_not_waited_for() {
        let open = Open(std::io::Cursor::new(b" {\"a\":\"}\\\"\",\"b\":[{}]} tail".to_vec()));
        let object = read_object(open, Duration::from_secs(5)).unwrap();
        assert_eq!(object, b" {\"a\":\"}\\\"\",\"b\":[{}]}");
    }

    #[test]
    fn half_an_object_is_given_up() {
        let open = Open(std::io::Cursor::new(b"{\"a\":".to_vec()));
        assert_eq!(read_object(open, Duration::from_millis(10)), None);
    }

    #[test]
    fn what_is_no_object_is_nothing() {
        for text in ["", "not json", "[1]", "}", "\"{}\"", "{"] {
            assert_eq!(first_object(text.as_bytes(), 100), None, "{text}");
        }
        assert_eq!(first_object(&[b'{'; 70_000][..], 100), None);
    }

    proptest! {
        #[test]
        fn any_object_is_found_whole(text in any::<String>(), tail in any::<Vec<u8>>()) {
            let object = serde_json::json!({"a": [text, {"b": text}], (text.clone()): 1}).to_string();
            let mut bytes = object.clone().into_bytes();
            bytes.extend(tail);
            prop_assert_eq!(first_object(&bytes[..], 1 << 20), Some(object.into_bytes()));
        }

        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>()) {
            let _ = first_object(&bytes[..], 1 << 20);
        }
    }
}
