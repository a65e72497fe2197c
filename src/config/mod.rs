//! Settings: `config/default.toml` compiled in, then the user's file, environment, flags.
//!
//! Every key stands in `default.toml`, so that file is also the list of known keys: any other key
//! is an error that names the nearest one. Each value remembers the layer it came from.

mod layers;
mod ranges;
mod settings;

pub use layers::{Layers, Origin, open_table};
pub use settings::*;

/// The compiled-in defaults, comments included.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");
