//! What `--version` tells about the build.

use std::sync::LazyLock;

static LONG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\ncommit   {}\nbuild    {} for {}, {}\nstore    SQLite {}",
        env!("CARGO_PKG_VERSION"),
        env!("LIFECYCLE_COMMIT"),
        env!("LIFECYCLE_PROFILE"),
        env!("LIFECYCLE_TARGET"),
        env!("LIFECYCLE_RUSTC"),
        rusqlite::version()
    )
});

/// Version, commit, profile, platform, compiler, SQLite; what `build.rs` found.
pub fn long() -> &'static str {
    &LONG
}
