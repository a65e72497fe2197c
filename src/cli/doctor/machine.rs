//! Load and memory of the machine, where it tells.

use serde::Serialize;

/// What the machine says.
#[derive(Debug, Default, Serialize)]
pub struct Machine {
    /// Load average of the last minute.
    pub load: Option<f64>,
    /// Memory that is free or can be freed (MiB).
    pub free_mib: Option<u64>,
}

/// Reads `/proc`; elsewhere nothing is known.
pub fn look() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let load = read("/proc/loadavg").split_whitespace().next().and_then(|text| text.parse().ok());
    let memory = read("/proc/meminfo");
    let line = memory.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    Machine { load, free_mib: kib.map(|kib| kib / 1024) }
}
