//! Scales measured on the user's own entries: `calibration/<descriptor id>.toml` in the data
//! folder. They replace the descriptor's own constants and never change its identity.

use super::{Calibration, Descriptor};
use crate::error::{Error, ExitCode, Result};
use crate::paths::{Paths, create_private};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A measured scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The scale.
    pub calibration: Calibration,
    /// The highest cosine of two different entries: above it no line can ever fire.
    pub highest: f32,
    /// Entries it was measured on.
    pub entries: u64,
    /// Pairs of unrelated entries among them.
    pub pairs: u64,
    /// When, milliseconds UTC.
    pub at: i64,
}

impl Measured {
    /// The stored measurement of a descriptor.
    pub fn load(paths: &Paths, id: &str) -> Result<Option<Self>> {
        let path = file(paths, id);
        let text = match crate::regular::text(&path, crate::regular::SMALL) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path, &error)),
        };
        let broken = |problem: &str| {
            Error::config(format!("{}: {problem}", path.display()))
                .hint("remove the file and run `lifecycle model calibrate` again")
        };
        let measured: Self =
            toml_edit::de::from_str(&text).map_err(|error| broken(error.to_string().trim_end()))?;
        measured.calibration.problem().map_or(Ok(Some(measured)), |problem| Err(broken(problem)))
    }

    /// Stores the measurement.
    pub fn save(&self, paths: &Paths, id: &str) -> Result<PathBuf> {
        let path = file(paths, id);
        create_private(&paths.data.join("calibration"))?;
        let text = toml_edit::ser::to_string(self)
            .map_err(|error| Error::new(ExitCode::Failure, error.to_string()))?;
        crate::durable::replace(&path, text.as_bytes())
            .map_err(|error| Error::io(&path, &error))?;
        Ok(path)
    }
}

/// Gives the descriptor its measured scale, where there is one.
pub(super) fn apply(descriptor: &mut Descriptor, paths: &Paths) -> Result<()> {
    if let Some(measured) = Measured::load(paths, &descriptor.id())? {
        descriptor.calibration = measured.calibration;
    }
    Ok(())
}

fn file(paths: &Paths, id: &str) -> PathBuf {
    // A server's model may be called `owner/name`; the digest in the id keeps names apart.
    let plain = id.replace(['/', '\\', ':'], "-");
    paths.data.join("calibration").join(format!("{plain}.toml"))
}
