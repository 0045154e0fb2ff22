//! Rows of the KV cache: one head's key or value at one position, stored and loaded.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;

use graph::DType;
use half::f16;

use crate::isa::Isa;

/// The largest finite f16: larger values are stored as it.
pub(crate) const F16_MAX: f32 = 65_504.0;
/// Elements of a block of q8_0.
pub(crate) const BLOCK: usize = 32;
/// Bytes of a block of q8_0: an f16 scale, then the elements.
pub(crate) const BLOCK_BYTES: usize = 34;

/// Bytes of a row of `head_dim` elements, stored as F32, F16 or Q8_0 (`head_dim` a multiple of 32).
pub fn kv_row_bytes(dtype: DType, head_dim: usize) -> usize {
    assert!(matches!(dtype, DType::F32 | DType::F16 | DType::Q8_0), "no cache is of type {dtype}");
    dtype.row_bytes(head_dim)
}

/// Stores a row of `head_dim` elements.
///
/// F16 rounds to nearest, ties to even, and saturates: a value that large, even infinity, becomes
/// ±65,504, so that one element cannot make a whole row of scores NaN. NaN stays NaN, in Q8_0 for
/// its block of 32.
///
/// # Safety
/// `src` is valid for reads of `head_dim` elements, `dst` for writes of [`kv_row_bytes`] bytes; for
/// F32 and F16 `dst` is aligned to an element. They do not overlap. The CPU
/// can run `isa`.
pub unsafe fn store_row(isa: Isa, dtype: DType, src: *const f32, head_dim: usize, dst: *mut u8) {
    let bytes = kv_row_bytes(dtype, head_dim);
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match (dtype, isa) {
            (DType::F32, _) => src.cast::<u8>().copy_to_nonoverlapping(dst, bytes),
            #[cfg(target_arch = "x86_64")]
            (DType::F16, Isa::Avx2) => avx2::store_f16(src, head_dim, dst.cast()),
            (DType::F16, _) => store_f16(src, dst.cast(), 0..head_dim),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Avx2) => avx2::store_q8_0(src, head_dim / BLOCK, dst),
            (_, _) => store_q8_0(src, head_dim / BLOCK, dst),
        }
    }
}

/// Loads a row of `head_dim` elements as f32; each is exact, or a product rounded once (Q8_0).
///
/// # Safety
/// `src` is valid for reads of [`kv_row_bytes`] bytes, aligned to an element for F32 and F16, `dst`
/// for writes of `head_dim` elements. They do not overlap. The CPU
/// can run `isa`.
pub unsafe fn load_row(isa: Isa, dtype: DType, src: *const u8, head_dim: usize, dst: *mut f32) {
    let bytes = kv_row_bytes(dtype, head_dim);
    // SAFETY: the caller's promise; that covers AVX2.
    unsafe {
        match (dtype, isa) {
            (DType::F32, _) => src.copy_to_nonoverlapping(dst.cast(), bytes),
            #[cfg(target_arch = "x86_64")]
            (DType::F16, Isa::Avx2) => avx2::load_f16(src.cast(), head_dim, dst),
            (DType::F16, _) => load_f16(src.cast(), dst, 0..head_dim),
            #[cfg(target_arch = "x86_64")]
            (_, Isa::Avx2) => avx2::load_q8_0(src, head_dim / BLOCK, dst),
            (_, _) => load_q8_0(src, head_dim / BLOCK, dst),
        }
    }
}

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
unsafe fn store_f16(src: *const f32, dst: *mut f16, range: std::ops::Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = saturating_f16(*src.add(i)) };
    }
}

/// # Safety
/// `src` and `dst` are valid for the elements of `range`.
#[inline]
unsafe fn load_f16(src: *const f16, dst: *mut f32, range: std::ops::Range<usize>) {
    for i in range {
        // SAFETY: the caller's promise.
        unsafe { *dst.add(i) = (*src.add(i)).to_f32() };
    }
}

/// The nearest f16, ties to even, at most ±65,504; NaN stays NaN.
#[inline]
pub(crate) fn saturating_f16(x: f32) -> f16 {
    let x = if -F16_MAX > x { -F16_MAX } else { x };
    let x = if F16_MAX < x { F16_MAX } else { x };
    f16::from_f32(x)
}

/// Scale of a block whose largest magnitude is `amax`, and its reciprocal: 0 if all elements of the
/// block are stored as 0.
#[inline]
pub(crate) fn q8_0_scale(amax: f32) -> (f16, f32) {
    let scale = saturating_f16(amax / 127.0);
    let inverse = 1.0 / scale.to_f32();
    (scale, if inverse.is_finite() { inverse } else { 0.0 })
}

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * BLOCK_BYTES` bytes.
unsafe fn store_q8_0(src: *const f32, blocks: usize, dst: *mut u8) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (x, out) = unsafe {
            (
                std::slice::from_raw_parts(src.add(block * BLOCK), BLOCK),
                std::slice::from_raw_parts_mut(dst.add(block * BLOCK_BYTES), BLOCK_BYTES),
            )
        };
        // As integers, magnitudes have the same order, and NaN is above all of them.
        let amax = x.iter().map(|x| x.to_bits() & 0x7fff_ffff).max();
        let (scale, inverse) = q8_0_scale(f32::from_bits(amax.unwrap_or(0)));
        out[..2].copy_from_slice(&scale.to_le_bytes());
        for (out, x) in out[2..].iter_mut().zip(x) {
            let q = if inverse == 0.0 { 0.0 } else { x * inverse };
            *out = q.round_ties_even().clamp(-127.0, 127.0) as i8 as u8;
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements.
unsafe fn load_q8_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        let (bytes, out) = unsafe {
            (
                std::slice::from_raw_parts(src.add(block * BLOCK_BYTES), BLOCK_BYTES),
                std::slice::from_raw_parts_mut(dst.add(block * BLOCK), BLOCK),
            )
        };
        let scale = f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
        for (out, q) in out.iter_mut().zip(&bytes[2..]) {
            *out = f32::from(*q as i8) * scale;
        }
    }
}
