//! What the cases about embedding share.

use crate::support::{Home, Outcome};

/// A home that embeds by the server at `url` and lets clusters wait.
pub fn home_at(url: &str) -> Home {
    let mut home = Home::new();
    home.set("LIFECYCLE_EMBED__URL", url);
    home.set("LIFECYCLE_CONSOLIDATE__MODEL", "none");
    home
}

/// A whole run.
pub fn run(home: &Home) -> Outcome {
    home.run(&["run"])
}
