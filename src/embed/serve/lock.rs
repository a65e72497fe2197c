//! One server a data folder, and the token by which its client knows it.

use crate::durable;
use crate::error::{Error, ExitCode, Result};
use crate::paths::{Paths, create_private};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Held by the running server; released by the system when the process ends, however it does.
pub struct ServeLock {
    _file: File,
}

impl ServeLock {
    /// Takes the lock; if a server runs already, that is an error of its own exit code.
    pub fn take(paths: &Paths) -> Result<Self> {
        let file = open(paths)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(ExitCode::Busy, "an embedding server runs already"))
            }
            Err(TryLockError::Error(error)) => Err(Error::io(&lock_file(paths), &error)),
        }
    }

    /// Whether a server runs.
    pub fn is_held(paths: &Paths) -> bool {
        lock_file(paths).is_file() && Self::take(paths).is_err()
    }
}

fn lock_file(paths: &Paths) -> PathBuf {
    paths.data.join("serve.lock")
}

fn open(paths: &Paths) -> Result<File> {
    create_private(&paths.data)?;
    let path = lock_file(paths);
    let opened = durable::private().create(true).truncate(false).write(true).open(&path);
    opened.map_err(|error| Error::io(&path, &error))
}

/// Starts a server where a conversation begins, if the settings may ask for one: the words are looked
/// for, not read, since a hook has no time for settings. The process that is started reads them and
/// ends at once where no server is wanted.
pub fn start_for_session(paths: &Paths) -> Result<bool> {
    let variable = std::env::var("LIFECYCLE_EMBED__SERVE").unwrap_or_default();
    let file = crate::regular::text(&paths.config_file, crate::regular::SMALL).unwrap_or_default();
    let says_start = |line: &str| line.contains("serve") && line.contains("start");
    let may_be_wanted = variable == "start" || file.lines().any(says_start);
    if may_be_wanted { start_detached(paths) } else { Ok(false) }
}

/// Starts `lifecycle serve` as a process of its own, unless one runs. Returns at once. Of several
/// that start at the same time the lock lets one live.
pub fn start_detached(paths: &Paths) -> Result<bool> {
    if ServeLock::is_held(paths) {
        return Ok(false);
    }
    create_private(&paths.data)?;
    let program = std::env::current_exe()
        .map_err(|error| Error::new(ExitCode::Failure, format!("own program: {error}")))?;
    let mut command = Command::new(&program);
    command.args(["serve", "--if-wanted"]).env("LIFECYCLE_INTERNAL", "1");
    // It outlives what started it, and must not keep that one's folder busy.
    command.current_dir(&paths.data);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own, so that Ctrl-C in the terminal that started it does not end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(|_| true).map_err(|error| Error::io(&program, &error))
}

/// The secret that the server proves to know; made at the first use, readable by the owner alone.
pub(super) fn token(paths: &Paths) -> Result<[u8; 32]> {
    create_private(&paths.data)?;
    let path = paths.data.join("serve.token");
    match durable::private().create_new(true).write(true).open(&path) {
        Ok(mut file) => {
            let token = random();
            file.write_all(&token).map_err(|error| Error::io(&path, &error))?;
            Ok(token)
        }
        Err(_) => read_token(&path),
    }
}

/// The token, if a server ever ran here. A client never makes one: it must not write.
pub(super) fn known_token(paths: &Paths) -> Option<[u8; 32]> {
    read_token(&paths.data.join("serve.token")).ok()
}

fn read_token(path: &std::path::Path) -> Result<[u8; 32]> {
    let mut token = [0; 32];
    let read = crate::regular::open(path).and_then(|mut file| file.read_exact(&mut token));
    read.map(|()| token).map_err(|error| {
        Error::io(path, &error).hint("remove the file; the next server makes a new one")
    })
}

/// 32 bytes nobody can guess, from the seeds the standard library takes from the system.
fn random() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for round in 0..8u64 {
        hasher.update(&RandomState::new().hash_one(round).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}
