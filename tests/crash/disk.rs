//! A real file system that is full: a small tmpfs, where the user may mount one.

use super::number;
use super::world::{Act, World};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mount, gone when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts `kilobytes` of memory over `folder` with its content; `None` where that is not allowed.
    fn over(folder: &Path, kilobytes: usize) -> Option<Self> {
        let aside = folder.with_extension("aside");
        std::fs::rename(folder, &aside).unwrap();
        std::fs::create_dir(folder).unwrap();
        let size = format!("size={kilobytes}k,mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder)
            .output()
            .is_ok_and(|output| output.status.success());
        let mount = mounted.then(|| Self(folder.to_path_buf()));
        let copied = Command::new("cp").arg("-a").arg(aside.join(".")).arg(folder).status();
        assert!(copied.unwrap().success());
        std::fs::remove_dir_all(aside).unwrap();
        mount
    }

    fn free_kilobytes(&self) -> usize {
        let output = Command::new("df").args(["-k", "--output=avail"]).arg(&self.0).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.lines().last().unwrap().trim().parse().unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The store lies on a disk with less and less room; what does not fit is said, and once there is
/// room the same command ends where it would have.
#[test]
fn a_disk_that_fills_up_costs_nothing() {
    let rounds = number("LIFECYCLE_TEST_FULL_DISKS", 6);
    let world = World::new(Act::Run);
    let wanted = world.calm();
    let (mut full, mut fine) = (0, 0);
    for round in 0..rounds {
        world.reset();
        let Some(mount) = Mounted::over(&world.home.store(), 4096) else {
            println!("no file system can be mounted here; see `faults` for the injected ones");
            return;
        };
        let free = mount.free_kilobytes();
        let left = 4 + round * 400 / rounds;
        let ballast = world.home.store().join("ballast");
        std::fs::write(&ballast, vec![7u8; (free - left) * 1024]).unwrap();
        let outcome = crate::support::Outcome::from(world.command().output().unwrap());
        if outcome.code == 0 {
            fine += 1;
        } else {
            full += 1;
            let said = format!("{}{}", outcome.out, outcome.err);
            let clear = ["disk is full", "No space left", "disk reports an error", "I/O error"];
            assert!(clear.iter().any(|words| said.contains(words)), "{left} kB: {said}");
        }
        std::fs::remove_file(&ballast).unwrap();
        let what = format!("{left} kB free");
        world.finish(&what);
        world.same(&wanted, &what);
    }
    println!("{full} runs met a full disk, {fine} had room");
    assert!(full > 0);
}
