//! Files with a known sum, moved into place whole.

use super::Wanted;
use crate::embed::descriptor::hex;
use crate::error::{Error, ExitCode, Result};
use crate::regular;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::Path;

/// Whether the file is there and has the sum.
pub fn is_sound(file: &Path, sha256: &str) -> bool {
    sum(file).is_ok_and(|found| found == sha256)
}

/// SHA-256 of a file, hex.
pub(super) fn sum(file: &Path) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut input = regular::open(file)?;
    copy_with(&mut input, |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok(hex(&hasher.finalize()))
}

/// Copies a file into place.
pub(super) fn copy(from: &Path, wanted: &Wanted) -> Result<()> {
    let mut input = regular::open(from).map_err(|error| Error::io(from, &error))?;
    write(&mut input, wanted, &from.display().to_string())
}

/// Writes what `input` gives beside the place, checks it, and moves it there.
pub(super) fn write(input: &mut dyn Read, wanted: &Wanted, source: &str) -> Result<()> {
    let folder = wanted.place.parent().unwrap_or(Path::new("."));
    crate::paths::create_private(folder)?;
    let failed = |error: std::io::Error| Error::io(&wanted.place, &error);
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut hasher = Sha256::new();
    copy_with(input, |bytes| {
        hasher.update(bytes);
        temporary.write_all(bytes)
    })
    .map_err(failed)?;
    let found = hex(&hasher.finalize());
    if found != wanted.sha256 {
        return Err(wrong_sum(source, wanted.sha256, &found));
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&wanted.place).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The error for content that is not what was pinned.
pub(super) fn wrong_sum(source: &str, wanted: &str, found: &str) -> Error {
    let message = format!("{source}: SHA-256 is {found}, not {wanted}; nothing was put in place");
    Error::new(ExitCode::Refused, message)
}

fn copy_with(
    input: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            count => each(&buffer[..count])?,
        }
    }
}
