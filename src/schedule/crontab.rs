//! The user's crontab, read and written by the program `crontab`.

use super::find_program;
use crate::error::{Error, ExitCode, Result};
use std::io::Write;
use std::process::{Command, Stdio};

/// First line of a part; the data folder of its store follows.
pub const BEGIN: &str = "# lifecycle:begin";
/// Last line of a part.
pub const END: &str = "# lifecycle:end";

/// The crontab; none where the user has none.
pub fn read() -> Result<Option<Vec<u8>>> {
    let output = program()?.arg("-l").output().map_err(|error| failed(&error))?;
    Ok(if output.status.success() { Some(output.stdout) } else { None })
}

/// Replaces the crontab, or removes it.
pub fn write(table: Option<&[u8]>) -> Result<()> {
    let Some(table) = table else {
        return finish(program()?.arg("-r").output().map_err(|error| failed(&error))?);
    };
    let mut child = program()?
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(table).map_err(|error| failed(&error))?;
    }
    finish(child.wait_with_output().map_err(|error| failed(&error))?)
}

/// The table with the part of the store in `folder` at the end, in place of an earlier one. Parts
/// of other stores stay.
pub fn with_part(table: &str, part: &str, folder: &str) -> String {
    let rest = without_part(table, folder);
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    format!("{rest}{gap}{part}")
}

/// The table without the part of the store in `folder`.
pub fn without_part(table: &str, folder: &str) -> String {
    let mut lines = table.split_inclusive('\n').peekable();
    let mut rest = String::new();
    while let Some(line) = lines.next() {
        let mut part = line.to_string();
        let mut is_whole = false;
        if line.starts_with(BEGIN) {
            while let Some(line) = lines.next_if(|line| !line.starts_with(BEGIN)) {
                part.push_str(line);
                is_whole = line.starts_with(END);
                if is_whole {
                    break;
                }
            }
        }
        // A part without its end is left, so that no line of the user's goes with it.
        if !(is_whole && is_of(line, folder, &part)) {
            rest.push_str(&part);
        }
    }
    rest
}

/// The first line of the part of the store in `folder`.
pub fn begin(folder: &str) -> String {
    format!("{BEGIN} {}", one_line(folder))
}

/// Whether a part is that of the store in `folder`. Parts of earlier versions name no folder in
/// their first line, but their command names the log in it.
fn is_of(first: &str, folder: &str, part: &str) -> bool {
    let first = first.trim_end();
    first == begin(folder)
        || (first.starts_with(&format!("{BEGIN} ("))
            && ["", "'"].iter().any(|quote| part.contains(&format!(">>{quote}{folder}/log/"))))
}

/// A line feed in a path must not end the comment.
fn one_line(folder: &str) -> String {
    folder.replace(['\n', '\r'], "?")
}

fn program() -> Result<Command> {
    find_program("crontab").map(Command::new).ok_or_else(|| {
        Error::new(ExitCode::Missing, "there is no `crontab` on this machine").hint(
            "`lifecycle schedule install --by systemd`, or run `lifecycle run --if-due` yourself",
        )
    })
}

fn finish(output: std::process::Output) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(ExitCode::Failure, format!("crontab: {}", words.trim())))
}

fn failed(error: &std::io::Error) -> Error {
    Error::new(ExitCode::Failure, format!("crontab: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_once_and_goes_whole() {
        let user = "MAILTO=me\n0 1 * * * backup";
        let part = format!("{}\n1 2 * * * l\n{END}\n", begin("/a"));
        let once = with_part(user, &part, "/a");
        assert_eq!(with_part(&once, &part, "/a"), once);
        assert_eq!(without_part(&once, "/a"), format!("{user}\n"));
        let open = "# lifecycle:begin\n0 1 * * * theirs\n";
        assert_eq!(without_part(open, "/a"), open);
        let open = format!("{}\n0 1 * * * theirs\n{part}", begin("/a"));
        assert_eq!(without_part(&open, "/a"), format!("{}\n0 1 * * * theirs\n", begin("/a")));
    }

    #[test]
    fn each_store_has_a_part_of_its_own() {
        let part = |folder: &str| format!("{}\n1 2 * * * l\n{END}\n", begin(folder));
        let both = with_part(&with_part("", &part("/a"), "/a"), &part("/a/b"), "/a/b");
        assert_eq!(both, format!("{}{}", part("/a"), part("/a/b")));
        assert_eq!(without_part(&both, "/a"), part("/a/b"));
        assert_eq!(without_part(&both, "/a/b"), part("/a"));
        let old = format!("{BEGIN} (written by x)\n1 2 * * * l >>'/a/log/job.log'\n{END}\n");
        assert_eq!(without_part(&old, "/a"), "");
        assert_eq!(without_part(&old, "/b"), old);
    }
}
