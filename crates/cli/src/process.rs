//! What the system says of the memory of this process.

use std::fs;

use serde_json::{Value as Json, json};

/// Resident memory of this process in bytes, `null` where the system does not tell: what belongs to it alone, what is
/// mapped from files, and the most of both that there was.
pub fn measured_memory() -> Json {
    let bytes = |key: &str| bytes(&fs::read_to_string("/proc/self/status").ok()?, key);
    json!({
        "resident_anonymous": bytes("RssAnon"),
        "resident_mapped": bytes("RssFile"),
        "resident_peak": bytes("VmHWM"),
    })
}

/// The part of what is mapped from files that lies on large pages, where the system tells.
pub fn large_file_pages() -> Option<f64> {
    let mapped = bytes(&fs::read_to_string("/proc/self/status").ok()?, "RssFile")?;
    let large = bytes(&fs::read_to_string("/proc/self/smaps_rollup").ok()?, "FilePmdMapped")?;
    (mapped > 0).then(|| large as f64 / mapped as f64)
}

/// The number of a line such as `RssFile:    1234 kB`.
fn bytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
