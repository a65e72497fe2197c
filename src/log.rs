//! The log: what ticks did, for the day after. One file in the data folder, opened at its first
//! line and rotated by size; errors and progress for people go to the terminal instead.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

/// Size at which a file is put aside (bytes).
const MAX_BYTES: u64 = 1 << 20;
/// Files that are kept beside the current one.
const KEPT: usize = 3;

/// Starts logging into `folder`; `verbose` is the number of `-v`.
pub fn start(folder: PathBuf, verbose: u8) {
    let level = match verbose {
        0 => Level::INFO,
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let writer = Rotated { folder, echo: verbose > 0, file: Arc::default() };
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_max_level(level)
        .with_writer(writer)
        .finish();
    // A second start in one process (tests) keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// The file, opened when it is first needed.
#[derive(Clone)]
struct Rotated {
    folder: PathBuf,
    echo: bool,
    file: Arc<Mutex<Option<File>>>,
}

impl<'a> MakeWriter<'a> for Rotated {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for Rotated {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.echo {
            let _ = io::stderr().write_all(line);
        }
        let mut file = self.file.lock().map_err(|_| io::Error::other("log"))?;
        if file.is_none() {
            *file = open(&self.folder).ok();
        }
        // A log that cannot be written must not stop a tick.
        if let Some(file) = file.as_mut() {
            let _ = file.write_all(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open(folder: &Path) -> io::Result<File> {
    crate::paths::create_private(folder).map_err(io::Error::other)?;
    let path = folder.join("lifecycle.log");
    if path.metadata().is_ok_and(|meta| meta.len() > MAX_BYTES) {
        rotate(folder)?;
    }
    crate::durable::private().create(true).append(true).open(path)
}

fn rotate(folder: &Path) -> io::Result<()> {
    let name = |n: usize| match n {
        0 => folder.join("lifecycle.log"),
        n => folder.join(format!("lifecycle.log.{n}")),
    };
    for n in (0..KEPT).rev() {
        if name(n).exists() {
            std::fs::rename(name(n), name(n + 1))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_full_file_is_put_aside_and_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..6 {
            let mut file = open(folder.path()).unwrap();
            file.write_all(format!("{round}").as_bytes()).unwrap();
            file.set_len(MAX_BYTES + 1).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), KEPT + 1);
        assert!(std::fs::read(folder.path().join("lifecycle.log")).unwrap().starts_with(b"5"));
        assert!(std::fs::read(folder.path().join("lifecycle.log.3")).unwrap().starts_with(b"2"));
    }
}
