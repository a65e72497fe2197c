//! What the process settles before anything else: nothing leaves the machine unasked, and memory
//! that is free goes back to the system.
//!
//! The runtime library's own telemetry is switched off.
//! ONNX Runtime writes usage events below the user's cache folder and tries to send them; the
//! setting of its environment does not stop that, its variable does (seen with 1.32). A variable
//! can only be set safely while the process has one thread, so the program does it first of all.
//!
//! glibc raises the size from which it maps memory of its own each time such a block is freed, up to
//! 32 MB; smaller blocks stay with the process for good. Loading a model frees hundreds of them: a
//! 0.6B model keeps 840 MB instead of 670, a text of 512 tokens takes it to 1,020 MB instead of 840.
//! A fixed size stops that.
//!
//! This is the one module with `unsafe` code.

#![allow(unsafe_code, clippy::disallowed_methods, reason = "reviewed: see the module's head")]

/// Variable that ONNX Runtime reads when it is loaded.
const SWITCH: &str = "ORT_DISABLE_TELEMETRY";

/// Switches the runtime's telemetry off for this process and those it starts. Must be the first
/// thing that `main` does.
pub fn silence_runtime() {
    // SAFETY: called at the start of `main`, before any other thread exists that could read the
    // environment at the same time.
    unsafe { std::env::set_var(SWITCH, "1") }
}

/// Blocks of this size and more go back to the system when they are freed (bytes).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM: std::ffi::c_int = 1 << 20;

/// Fixes the size from which freed memory goes back to the system. Elsewhere than with glibc the
/// allocator does so by itself.
pub fn settle_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// `M_MMAP_THRESHOLD` of `<malloc.h>`.
        const MAP_THRESHOLD: std::ffi::c_int = -3;
        unsafe extern "C" {
            fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
        }
        // SAFETY: `mallopt` is glibc's, takes two numbers and keeps no reference. A refusal (0)
        // leaves the default, which costs memory and nothing else.
        unsafe { mallopt(MAP_THRESHOLD, MAPPED_FROM) };
    }
}
