//! A tick that a hook starts and does not wait for.
//!
//! The end of a session is a good moment for a tick that is due: the conversation is there, and
//! nobody waits. The hook starts `lifecycle run --if-due --detached` as a process of its own, with
//! low priority and without a terminal, and returns. That process is *single* (it holds a lock of the
//! operating system while it waits and works, and ends at once where another one holds it), it waits
//! `schedule.hook_delay_seconds` so that the assistant has written its file and a user who runs a
//! tick by hand comes first, and then looks again whether a tick is due. It ends with its one tick.

use crate::capture::INTERNAL;
use crate::error::{Error, Result};
use crate::paths::{Paths, create_private};
use crate::schedule::find_program;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// A process that was started so recently is not started again, whatever became of it.
const AGAIN: Duration = Duration::from_secs(30);

/// Held by the one process that waits for its tick, or runs it.
pub struct Single(#[allow(dead_code, reason = "held until dropped")] File);

impl Single {
    /// Takes the place, or `None` where somebody has it.
    pub fn take(paths: &Paths) -> Result<Option<Self>> {
        Ok(locked(paths, "tick.detached")?.map(Self))
    }
}

/// Starts the process unless one is waiting or was started just now. Everything that goes wrong is
/// silence: the schedule, or the next hook, makes up for it.
pub fn start(paths: &Paths) -> Option<()> {
    // Of many hooks at once one starts the process; the mark is set before the lock is given back.
    let starting = locked(paths, "tick.starting").ok()??;
    let meta = starting.metadata().ok()?;
    let is_recent = meta.len() > 0
        && SystemTime::now().duration_since(meta.modified().ok()?).is_ok_and(|age| age < AGAIN);
    if is_recent || Single::take(paths).ok()?.is_none() {
        return None;
    }
    std::io::Write::write_all(&mut &starting, b".").ok()?;
    starting.set_modified(SystemTime::now()).ok()?;
    spawn(&std::env::current_exe().ok()?)
}

fn spawn(program: &Path) -> Option<()> {
    let mut command = match find_program("nice") {
        Some(nice) => {
            let mut command = Command::new(nice);
            command.args(["-n", "10"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .args(["run", "--if-due", "--detached", "--trigger", "hook", "--quiet"])
        .env(INTERNAL, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(home) = std::env::home_dir() {
        command.current_dir(home);
    }
    // Not in the group that the assistant ends with the hook.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().ok().map(drop)
}

fn locked(paths: &Paths, name: &str) -> Result<Option<File>> {
    create_private(&paths.data)?;
    let path = paths.data.join(name);
    let file = crate::durable::private()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| Error::io(&path, &error))?;
    Ok(file.try_lock().is_ok().then_some(file))
}
