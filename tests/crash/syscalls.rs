//! The same by the system's own means, where `strace` is installed: system calls of a run are made
//! to fail, or to kill it, one after the other, and the order of syncs and renames is read off.
//!
//! Only by command (`LIFECYCLE_TEST_STRACE=1`): tracing is slow, and not every machine allows it.

use super::number;
use super::power::{Effect, losses};
use super::world::{Act, World};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Calls that change what is on the disk.
const CALLS: &[&str] =
    &["pwrite64", "fdatasync,fsync", "rename,renameat,renameat2", "unlink,unlinkat"];

fn traced(world: &World, arguments: &[&str], log: &Path) -> Output {
    let plain = world.command();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-o"]).arg(log).args(arguments);
    command.arg(plain.get_program()).args(plain.get_args()).env_clear();
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.current_dir(plain.get_current_dir().unwrap());
    command.stdin(Stdio::null()).output().unwrap()
}

fn is_wanted() -> bool {
    let asked = number("LIFECYCLE_TEST_STRACE", 0) > 0;
    asked && Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success())
}

#[test]
fn system_calls_that_fail_or_kill_cost_nothing() {
    if !is_wanted() {
        println!("not asked for, or no strace here");
        return;
    }
    let stride = number("LIFECYCLE_TEST_STRIDE", 1);
    let (mut killed, mut failed) = (0, 0);
    for act in Act::ALL {
        let world = World::new(act);
        let wanted = world.calm();
        let log = std::env::temp_dir().join(format!("lifecycle-strace-{}", std::process::id()));
        for calls in CALLS {
            for how in ["signal=KILL", "error=ENOSPC", "error=EIO", "error=EROFS"] {
                for at in (1..400).step_by(stride) {
                    world.reset();
                    let inject = format!("inject={calls}:{how}:when={at}");
                    let trace = format!("trace={calls}");
                    let output = traced(&world, &["-e", &trace, "-e", &inject], &log);
                    let said = std::fs::read_to_string(&log).unwrap_or_default();
                    let hit = said.contains("(INJECTED)") || said.contains("killed by SIGKILL");
                    let what = format!("{act:?} {inject}");
                    let err = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(!err.contains("panicked"), "{what}: {err}");
                    world.finish(&what);
                    world.same(&wanted, &what);
                    if !hit {
                        break;
                    }
                    if how.starts_with("signal") { killed += 1 } else { failed += 1 }
                }
            }
        }
        let _ = std::fs::remove_file(&log);
    }
    println!("{killed} kills and {failed} failures of system calls");
    assert!(killed > 0 && failed > 0);
}

/// The recorded effects are those of the system: the files of the project, as a tracer sees them.
#[test]
fn the_system_sees_the_same_order() {
    if !is_wanted() {
        println!("not asked for, or no strace here");
        return;
    }
    for act in Act::ALL {
        let world = World::new(act);
        let log = world.home.path().join("calls");
        let calls = "trace=write,fsync,fdatasync,rename,renameat,renameat2";
        assert!(traced(&world, &["-e", calls], &log).status.success());
        let project = world.home.project().display().to_string();
        let text = std::fs::read_to_string(&log).unwrap();
        let effects: Vec<Effect> = text.lines().filter_map(|line| effect(line, &project)).collect();
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Rename(..))), "{text}");
        assert!(effects.iter().any(|effect| matches!(effect, Effect::SyncFolder(_))), "{text}");
        assert_eq!(losses(&effects), [""; 0], "{act:?}");
    }
}

/// A line such as `123 fsync(5</p/.tmp>) = 0`.
fn effect(line: &str, project: &str) -> Option<Effect> {
    let call = line.split_whitespace().nth(1)?.split('(').next()?;
    let held = || line.split('<').nth(1)?.split('>').next().map(str::to_string);
    if call.starts_with("rename") {
        let mut names = line.split('"').skip(1).step_by(2);
        // Both go through the held folder: /proc/self/fd/5/NAME.
        let name = |path: &str| path.rsplit('/').next().map(|name| format!("{project}/{name}"));
        let (from, to) = (names.next()?, names.next()?);
        return from
            .contains("/proc/self/fd")
            .then(|| Some(Effect::Rename(name(from)?, name(to)?)))?;
    }
    let path = held()?.trim_end_matches(" (deleted)").to_string();
    if path == project {
        return (call != "write").then_some(Effect::SyncFolder(path));
    }
    if !path.starts_with(project) {
        // The journal of the store.
        return (call == "fdatasync" && path.ends_with("-wal")).then_some(Effect::Commit);
    }
    Some(if call == "write" { Effect::Write(path) } else { Effect::Sync(path) })
}
