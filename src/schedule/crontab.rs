//! The user's crontab, read and written by the program `crontab`.

use super::find_program;
use crate::error::{Error, ExitCode, Result};
use std::io::Write;
use std::process::{Command, Stdio};

/// First line of our part.
pub const BEGIN: &str = "# lifecycle:begin";
/// Last line of our part.
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

/// The table with our part at the end, in place of an earlier one.
pub fn with_part(table: &str, part: &str) -> String {
    let rest = without_part(table);
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    format!("{rest}{gap}{part}")
}

/// The table without our part.
pub fn without_part(table: &str) -> String {
    let mut inside = false;
    let mut rest = String::new();
    for line in table.split_inclusive('\n') {
        if line.starts_with(BEGIN) {
            inside = true;
        }
        if !inside {
            rest.push_str(line);
        }
        if line.starts_with(END) {
            inside = false;
        }
    }
    // A part without its end: nothing is taken out, so that no line of the user's goes with it.
    if inside { table.to_string() } else { rest }
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
    fn our_part_comes_once_and_goes_whole() {
        let user = "MAILTO=me\n0 1 * * * backup";
        let part = format!("{BEGIN} x\n1 2 * * * l\n{END}\n");
        let once = with_part(user, &part);
        assert_eq!(with_part(&once, &part), once);
        assert_eq!(without_part(&once), format!("{user}\n"));
        assert_eq!(
            without_part("# lifecycle:begin\n0 1 * * * theirs\n"),
            "# lifecycle:begin\n0 1 * * * theirs\n"
        );
    }
}
