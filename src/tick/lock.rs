//! One tick at a time: a lock of the operating system that dies with its holder.

use crate::durable;
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use std::fs::{File, TryLockError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The lock, held until dropped. Its file's modification time is the end of the last run, also of
/// one that had nothing to do and therefore changed no byte.
pub struct TickLock {
    file: File,
}

/// How often the lock is tried, and the pause between. A program that this one starts holds a copy
/// of the lock until it has become itself: a lock that was just let go may seem taken for a moment.
const TRIES: u32 = 15;
const PAUSE: Duration = Duration::from_millis(20);

fn patiently(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    file.try_lock()
}

impl TickLock {
    /// Takes the lock or says that another tick runs.
    pub fn take(paths: &Paths) -> Result<Self> {
        paths.create_data()?;
        let path = paths.tick_lock();
        let is_new = !path.exists();
        let file = durable::private()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| Error::unwritable(&path, &error))?;
        match patiently(&file) {
            Ok(()) => {
                let lock = Self { file };
                if is_new {
                    // A file that was just made tells of no run.
                    lock.mark_run(0);
                }
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(ExitCode::Busy, "another tick is running")
                    .hint("wait for it to end; `lifecycle status` shows it"))
            }
            Err(TryLockError::Error(error)) => Err(Error::io(&path, &error)),
        }
    }

    /// Marks the end of a run at `now` (milliseconds UTC).
    pub fn mark_run(&self, now: i64) {
        let time = UNIX_EPOCH + Duration::from_millis(now.unsigned_abs());
        // The mark only feeds `status`: a file system that refuses it costs nothing else.
        let _ = self.file.set_modified(time);
    }

    /// The end of the last run, where there was one.
    pub fn last_run(paths: &Paths) -> Option<i64> {
        let modified: SystemTime = paths.tick_lock().metadata().ok()?.modified().ok()?;
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().filter(|at| *at > 0)
    }
}
