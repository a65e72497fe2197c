//! The log: what ticks did, for the day after. One file in the data folder, opened at its first
//! line and rotated by size, also while a server goes on writing; errors and progress for people go
//! to the terminal instead. What a scheduler keeps of its job is rotated with it.

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
/// The log.
const LOG: &str = "lifecycle.log";
/// What the job of launchd or cron printed.
pub const OF_THE_JOB: &str = "schedule.log";

/// Starts logging into `folder`; `verbose` is the number of `-v`.
pub fn start(folder: PathBuf, verbose: u8) {
    let level = match verbose {
        0 => Level::INFO,
        1 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let _ = make_room(&folder, OF_THE_JOB);
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
            let _ = crate::progress::aside(|| io::stderr().write_all(line));
        }
        let mut file = self.file.lock().map_err(|_| io::Error::other("log"))?;
        let is_full = |file: &File| file.metadata().is_ok_and(|meta| meta.len() > MAX_BYTES);
        if file.as_ref().is_none_or(is_full) {
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
    make_room(folder, LOG)?;
    crate::durable::private().create(true).append(true).open(folder.join(LOG))
}

/// Puts a file aside that is full.
fn make_room(folder: &Path, file: &str) -> io::Result<()> {
    let name = |n: usize| match n {
        0 => folder.join(file),
        n => folder.join(format!("{file}.{n}")),
    };
    if !name(0).metadata().is_ok_and(|meta| meta.len() > MAX_BYTES) {
        return Ok(());
    }
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

    #[test]
    fn a_server_that_writes_on_and_on_fills_no_disk() {
        let folder = tempfile::tempdir().unwrap();
        let file = Arc::default();
        let mut log = Rotated { folder: folder.path().into(), echo: false, file };
        let line = vec![b'x'; 300 * 1024];
        for _ in 0..40 {
            log.write_all(&line).unwrap();
        }
        let sizes: Vec<u64> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), KEPT + 1);
        assert!(sizes.iter().all(|size| *size <= 2 * MAX_BYTES), "{sizes:?}");
    }

    #[test]
    fn what_a_job_printed_is_put_aside_too() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join(OF_THE_JOB);
        std::fs::write(&job, vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        make_room(folder.path(), OF_THE_JOB).unwrap();
        assert!(!job.exists() && folder.path().join("schedule.log.1").exists());
    }
}
