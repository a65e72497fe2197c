//! Files that somebody else names: regular ones only, opened without waiting, bounded in size.
//!
//! A pipe or a device in the place of a file would be waited for or read without end, and a path
//! can come to lead elsewhere between a look at it and the opening. So a file is opened in a way
//! that never waits, and then it is looked at what was opened. Whatever a user, an assistant or
//! another program names goes through here: settings, plans, conversations, target files, imports.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, Read};
use std::path::Path;

/// The most that is read of a file of settings, a list or a small record (bytes).
pub const SMALL: u64 = 4 << 20;
/// The most that is read of a file of rows or of a plan, which is held in memory (bytes).
pub const LARGE: u64 = 256 << 20;
/// The longest line of a file that is read line by line (bytes).
pub const LINE: usize = 64 << 20;

/// Opening neither waits for the other end of a pipe nor takes a terminal as one's own.
#[cfg(target_os = "linux")]
pub const WITHOUT_WAITING: i32 = 0o4000 | 0o400;
/// Opening neither waits for the other end of a pipe nor takes a terminal as one's own.
#[cfg(all(unix, not(target_os = "linux")))]
pub const WITHOUT_WAITING: i32 = 0x4 | 0x2_0000;

/// Opens the regular file that `path` leads to, for reading.
///
/// # Errors
/// Whatever opening gives; a folder, a pipe, a socket or a device is one.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with `options`. What is no such file is not even opened where that can be
/// told beforehand, since opening alone may do something to a device.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match std::fs::metadata(path) {
        Ok(meta) => check(&meta)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, WITHOUT_WAITING);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(meta: &Metadata) -> io::Result<()> {
    if meta.is_file() {
        return Ok(());
    }
    let what = if meta.is_dir() { "is a folder" } else { "is not a regular file" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`]; a larger file is one.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(open(path)?, most)
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`read`]; bytes that are not UTF-8 are one.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    into_text(read(path, most)?)
}

/// Bytes as text.
///
/// # Errors
/// They are not UTF-8.
pub fn into_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("not UTF-8: {error}")))
}

/// Everything that `input` gives, at most `most` bytes: for standard input, which may have no end.
///
/// # Errors
/// Whatever reading gives; more than that is one.
pub fn bounded(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Reads the next line with its end into `line`; how many bytes that were, 0 at the end.
///
/// # Errors
/// Whatever reading gives; a line above [`LINE`] is one.
pub fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let read = input.take(LINE as u64 + 1).read_until(b'\n', line)?;
    if read > LINE {
        let text = format!("a line is longer than {LINE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(read)
}

/// Copies a regular file.
///
/// # Errors
/// As [`open`], and whatever writing gives.
pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let mut input = open(from)?;
    let mut output = crate::durable::private().create(true).truncate(true).write(true).open(to)?;
    io::copy(&mut input, &mut output)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_neither_waited_for_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &socket, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = read(path, 10).unwrap_err();
            assert_eq!(error.to_string(), "is not a regular file", "{}", path.display());
            assert!(open_with(OpenOptions::new().append(true), path).is_err());
        }
        assert_eq!(read(folder.path(), 10).unwrap_err().to_string(), "is a folder");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert!(open(&link).is_err(), "through a link as well");
    }

    /// Whatever the look beforehand said, the opened file is what counts.
    #[test]
    fn opening_a_pipe_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
        let file = options.read(true).open(&pipe).unwrap();
        assert!(check(&file.metadata().unwrap()).is_err());
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        assert!(bounded(io::repeat(b'x'), 1000).is_err());
        assert_eq!(bounded(&b"abc"[..], 3).unwrap(), b"abc");
        let mut line = Vec::new();
        assert!(next_line(&mut io::BufReader::new(io::repeat(0)), &mut line).is_err());
        let mut two = &b"a\nb"[..];
        assert_eq!(next_line(&mut two, &mut line).unwrap(), 2);
        assert_eq!((next_line(&mut two, &mut line).unwrap(), line.as_slice()), (1, &b"b"[..]));
        assert_eq!(next_line(&mut two, &mut line).unwrap(), 0);
    }

    #[test]
    fn a_large_file_and_bytes_that_are_no_text_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"caf\xe9").unwrap();
        assert!(read(&path, 3).unwrap_err().to_string().contains("larger than 3"));
        assert!(text(&path, 4).unwrap_err().to_string().contains("not UTF-8"));
    }
}
