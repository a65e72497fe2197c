//! Points at which a crash test ends the process, without any clean-up, as a power cut would.
//!
//! `LIFECYCLE_FAULT=kill@N` in a debug build aborts at the N-th point that the process passes;
//! a release build has no points. A point stands before and after every effect that another
//! process could see: a commit, a write to a file, a rename, a removal, a model request.

/// Passes the point called `name`; in a debug build the process may end here.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static KILL_AT: LazyLock<Option<u64>> = LazyLock::new(|| {
        std::env::var("LIFECYCLE_FAULT").ok()?.strip_prefix("kill@")?.parse().ok()
    });
    static PASSED: AtomicU64 = AtomicU64::new(0);
    if let Some(at) = *KILL_AT
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == at
    {
        eprintln!("fault: killed at point {at} ({name})");
        std::process::abort();
    }
}

/// Passes the point: nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline]
pub fn point(_name: &str) {}

/// Whether writes to target files fail half way; never in a release build.
pub fn disk_is_full() -> bool {
    cfg!(debug_assertions) && std::env::var_os("LIFECYCLE_FAULT").is_some_and(|what| what == "full")
}
