//! The user's settings file: written once, with the choices most people come to make, all of them
//! commented out. A file that exists is the user's and stays as it is.

use super::{Edit, Place, read};
use crate::error::Result;
use crate::paths::Paths;

const TEMPLATE: &str = include_str!("../../config/user.toml");

/// The settings file as it is to be.
pub fn settings_edit(paths: &Paths) -> Result<Edit> {
    let place = Place::File(paths.config_file.clone());
    let before = read(&place)?;
    let after = before.clone().or_else(|| Some(TEMPLATE.as_bytes().to_vec()));
    Ok(Edit { place, owner: "settings", base: before.clone(), before, after })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::{Layers, Origin};

    #[test]
    fn every_line_of_the_template_is_a_known_setting() {
        let active: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let mut layers = Layers::defaults();
        layers.merge_text(&active, Origin::Flag).unwrap();
        layers.settings().unwrap();
    }
}
