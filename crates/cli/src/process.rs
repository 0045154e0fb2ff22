//! What the system says of the memory of this process.

use std::fs;

use serde_json::{Value as Json, json};

/// Resident memory of this process in bytes, `null` where the system does not tell: what belongs to it alone, what is
/// mapped from files, and the most of both that there was.
pub fn measured_memory() -> Json {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
    };
    json!({
        "resident_anonymous": bytes("RssAnon"),
        "resident_mapped": bytes("RssFile"),
        "resident_peak": bytes("VmHWM"),
    })
}
