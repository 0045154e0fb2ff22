//! What a cache may be of, and the scales of its blocks.

use graph::DType;
use half::{bf16, f16};

/// The types that a cache may be of; keys and values may differ.
pub const KV_TYPES: [DType; 5] = [DType::F16, DType::F32, DType::BF16, DType::Q8_0, DType::Q4_0];

/// The largest finite f16: larger values are stored as it.
pub(crate) const F16_MAX: f32 = 65_504.0;
/// The largest finite bf16: larger values are stored as it.
pub(crate) const BF16_MAX: f32 = f32::from_bits(0x7f7f_0000);
/// Elements of a block of q8_0 or q4_0.
pub(crate) const BLOCK: usize = 32;
/// Bytes of a block of q8_0: an f16 scale, then the elements.
pub(crate) const Q8_0_BYTES: usize = 34;
/// Bytes of a block of q4_0: an f16 scale, then elements 0 to 15 in low and 16 to 31 in high nibbles.
pub(crate) const Q4_0_BYTES: usize = 18;

/// Bytes of a row of `head_dim` elements, whole blocks of one of [`KV_TYPES`].
pub fn kv_row_bytes(dtype: DType, head_dim: usize) -> usize {
    assert!(KV_TYPES.contains(&dtype), "no cache is of type {dtype}");
    dtype.row_bytes(head_dim)
}

/// `x` moved into ±`most`; NaN stays NaN.
#[inline]
pub(crate) fn saturate(x: f32, most: f32) -> f32 {
    let x = if -most > x { -most } else { x };
    if most < x { most } else { x }
}

/// The nearest f16, ties to even, at most ±65,504; NaN stays NaN.
#[inline]
pub(crate) fn saturating_f16(x: f32) -> f16 {
    f16::from_f32(saturate(x, F16_MAX))
}

/// The nearest bf16, ties to even, finite; NaN stays NaN.
#[inline]
pub(crate) fn saturating_bf16(x: f32) -> bf16 {
    bf16::from_f32(saturate(x, BF16_MAX))
}

/// Scale of a block of q8_0 whose largest magnitude is `amax`, and its reciprocal: 0 if all elements of the
/// block are stored as 0.
#[inline]
pub(crate) fn q8_0_scale(amax: f32) -> (f16, f32) {
    let scale = saturating_f16(amax / 127.0);
    (scale, finite_reciprocal(scale.to_f32()))
}

/// Scale of a block of q4_0 whose element of the largest magnitude is `peak`, and the reciprocal of the scale
/// before it was rounded: 0 if all elements of the block are stored as 8, which stands for 0.
#[inline]
pub(crate) fn q4_0_scale(peak: f32) -> (f16, f32) {
    let scale = saturate(peak / -8.0, F16_MAX);
    (f16::from_f32(scale), finite_reciprocal(scale))
}

#[inline]
fn finite_reciprocal(x: f32) -> f32 {
    let inverse = 1.0 / x;
    if inverse.is_finite() { inverse } else { 0.0 }
}
