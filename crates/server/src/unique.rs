//! Numbers that nobody else has.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A number that differs from call to call and from process to process.
fn fresh() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A seed that every JSON reader keeps exactly.
pub(crate) fn seed() -> u64 {
    fresh() & 0xffff_ffff
}

/// A name for an answer or a call.
pub(crate) fn id(prefix: &str) -> String {
    format!("{prefix}{:016x}{:08x}", fresh(), fresh() as u32)
}
