//! What `--version` tells about the build.

use std::sync::LazyLock;

static LONG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} (commit {}, {} build, {}-{}, SQLite {})",
        env!("CARGO_PKG_VERSION"),
        option_env!("LIFECYCLE_COMMIT").unwrap_or("unknown"),
        if cfg!(debug_assertions) { "debug" } else { "release" },
        std::env::consts::ARCH,
        std::env::consts::OS,
        rusqlite::version()
    )
});

/// Version, commit (where `LIFECYCLE_COMMIT` was set when building), profile, platform, SQLite.
pub fn long() -> &'static str {
    &LONG
}
