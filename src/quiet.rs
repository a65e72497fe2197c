//! Nothing leaves the machine unasked: the runtime library's own telemetry is switched off.
//!
//! ONNX Runtime writes usage events below the user's cache folder and tries to send them; the
//! setting of its environment does not stop that, its variable does (seen with 1.32). A variable
//! can only be set safely while the process has one thread, so the program does it first of all.
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
