//! Points at which a test makes the world fail. A release build has none.
//!
//! A point stands before and after every effect that another process could see: a write, a sync, a
//! rename, a removal, a commit, a model request. In a debug build `LIFECYCLE_FAULT` says what
//! happens at the N-th point that the process passes:
//!
//! | value | at point N |
//! |---|---|
//! | `kill@N` | the process ends without any clean-up, as by SIGKILL |
//! | `enospc@N`, `eio@N`, `erofs@N` | the next effect from there on fails with that error |
//! | `enospc@N+` and so on | every effect from there on fails: a disk that stays full |
//!
//! `LIFECYCLE_FAULT_TRACE=FILE` appends a line for each point: its name and its paths. Tests replay
//! that line by line to see what a cut of power would leave.

use std::io;
use std::path::Path;

/// Passes the point called `name`; in a debug build the process may end here.
#[inline]
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    armed::pass(name, &[]);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Passes the point before an effect on `paths`, which a test may have fail.
///
/// # Errors
/// The error that a test asked for; never in a release build.
#[inline]
pub fn effect(name: &str, paths: &[&Path]) -> io::Result<()> {
    #[cfg(debug_assertions)]
    return armed::effect(name, paths);
    #[cfg(not(debug_assertions))]
    {
        let _ = (name, paths);
        Ok(())
    }
}

#[cfg(debug_assertions)]
mod armed {
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    /// What a test asked for.
    struct Fault {
        /// `None`: the process ends.
        errno: Option<i32>,
        at: u64,
        onwards: bool,
    }

    static FAULT: LazyLock<Option<Fault>> =
        LazyLock::new(|| parse(&std::env::var("LIFECYCLE_FAULT").ok()?));
    static TRACE: LazyLock<Option<std::ffi::OsString>> =
        LazyLock::new(|| std::env::var_os("LIFECYCLE_FAULT_TRACE"));
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static SPENT: AtomicBool = AtomicBool::new(false);

    fn parse(text: &str) -> Option<Fault> {
        let (kind, at) = text.split_once('@')?;
        let errno = match kind {
            "kill" => None,
            "eio" => Some(5),
            "enospc" => Some(28),
            "erofs" => Some(30),
            _ => return None,
        };
        let onwards = at.ends_with('+');
        Some(Fault { errno, at: at.trim_end_matches('+').parse().ok()?, onwards })
    }

    /// Counts the point and returns its number.
    pub fn pass(name: &str, paths: &[&Path]) -> u64 {
        let n = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(file) = &*TRACE {
            trace(Path::new(file), name, paths);
        }
        if let Some(Fault { errno: None, at, .. }) = &*FAULT
            && *at == n
        {
            eprintln!("fault: killed at point {n} ({name})");
            std::process::abort();
        }
        n
    }

    pub fn effect(name: &str, paths: &[&Path]) -> io::Result<()> {
        let n = pass(name, paths);
        match &*FAULT {
            Some(Fault { errno: Some(errno), at, onwards }) if n >= *at => {
                if SPENT.swap(true, Ordering::SeqCst) && !onwards {
                    return Ok(());
                }
                eprintln!("fault: point {n} ({name}) refused");
                Err(io::Error::from_raw_os_error(*errno))
            }
            _ => Ok(()),
        }
    }

    fn trace(file: &Path, name: &str, paths: &[&Path]) {
        let mut line = name.to_string();
        for path in paths {
            line.push('\t');
            line.push_str(&path.to_string_lossy());
        }
        line.push('\n');
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
        // A trace that cannot be written shows in the test that reads it.
        let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
