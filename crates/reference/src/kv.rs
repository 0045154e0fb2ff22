//! Rows of the cache in quantized types, as the file format quantizes weights.

/// Q4_0 of finite elements, whole blocks of 32: of each the scale as f16 and 16 bytes of nibbles.
pub fn q4_0(row: &[f32]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in row.chunks_exact(32) {
        let (mut largest, mut peak) = (0.0f32, 0.0f32);
        for x in block {
            if x.abs() > largest {
                (largest, peak) = (x.abs(), *x);
            }
        }
        let scale = peak / -8.0;
        let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
        out.extend(half::f16::from_f32(scale).to_le_bytes());
        let nibble = |x: f32| 15.min((x * inverse + 8.5) as i8) as u8;
        out.extend((0..16).map(|k| nibble(block[k]) | nibble(block[k + 16]) << 4));
    }
    out
}
