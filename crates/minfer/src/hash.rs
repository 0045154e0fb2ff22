//! A hash of logits, bit for bit.

/// FNV-1a (Fowler, Noll, Vo) of 64 bits over the floats' bytes, lowest first.
pub(crate) fn of_floats(floats: &[f32]) -> u64 {
    let bytes = floats.iter().flat_map(|f| f.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
