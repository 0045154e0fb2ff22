//! Rows of the KV cache: one head's key or value at one position, stored and loaded.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod scalar;
pub(crate) mod types;

use graph::DType;

use crate::isa::Isa;
use types::BLOCK;
pub use types::{KV_TYPES, kv_row_bytes};

/// Stores a row of `head_dim` elements.
///
/// F16 and BF16 round to nearest, ties to even, and saturate: a value that large, even infinity, becomes
/// the largest finite one of its sign, so that one element cannot make a whole row of scores NaN. NaN
/// stays NaN, in Q8_0 and Q4_0 for its block of 32.
///
/// # Safety
/// `src` is valid for reads of `head_dim` elements, `dst` for writes of [`kv_row_bytes`] bytes; for
/// types without blocks `dst` is aligned to an element. They do not overlap. The CPU
/// can run `isa`.
pub unsafe fn store_row(isa: Isa, dtype: DType, src: *const f32, head_dim: usize, dst: *mut u8) {
    let bytes = kv_row_bytes(dtype, head_dim);
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match (dtype, isa.base()) {
            (DType::F32, _) => src.cast::<u8>().copy_to_nonoverlapping(dst, bytes),
            #[cfg(target_arch = "x86_64")]
            (DType::F16, Isa::Avx2) => avx2::store_f16(src, head_dim, dst.cast()),
            #[cfg(target_arch = "aarch64")]
            (DType::F16, Isa::Neon) => neon::store_f16(src, head_dim, dst.cast()),
            #[cfg(target_arch = "x86_64")]
            (DType::BF16, Isa::Avx2) => avx2::store_bf16(src, head_dim, dst.cast()),
            #[cfg(target_arch = "aarch64")]
            (DType::BF16, Isa::Neon) => neon::store_bf16(src, head_dim, dst.cast()),
            #[cfg(target_arch = "x86_64")]
            (DType::Q8_0, Isa::Avx2) => avx2::store_q8_0(src, head_dim / BLOCK, dst),
            #[cfg(target_arch = "aarch64")]
            (DType::Q8_0, Isa::Neon) => neon::store_q8_0(src, head_dim / BLOCK, dst),
            #[cfg(target_arch = "x86_64")]
            (DType::Q4_0, Isa::Avx2) => avx2::store_q4_0(src, head_dim / BLOCK, dst),
            (DType::F16, _) => scalar::store_f16(src, dst.cast(), 0..head_dim),
            (DType::BF16, _) => scalar::store_bf16(src, dst.cast(), 0..head_dim),
            (DType::Q8_0, _) => scalar::store_q8_0(src, head_dim / BLOCK, dst),
            (DType::Q4_0, _) => scalar::store_q4_0(src, head_dim / BLOCK, dst),
            (other, _) => unreachable!("no cache is of type {other}"),
        }
    }
}

/// Loads a row of `head_dim` elements as f32; each is exact, or a product rounded once (Q8_0, Q4_0).
///
/// # Safety
/// `src` is valid for reads of [`kv_row_bytes`] bytes, aligned to an element for types without blocks,
/// `dst` for writes of `head_dim` elements. They do not overlap. The CPU
/// can run `isa`.
pub unsafe fn load_row(isa: Isa, dtype: DType, src: *const u8, head_dim: usize, dst: *mut f32) {
    let bytes = kv_row_bytes(dtype, head_dim);
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match (dtype, isa.base()) {
            (DType::F32, _) => src.copy_to_nonoverlapping(dst.cast(), bytes),
            #[cfg(target_arch = "x86_64")]
            (DType::F16, Isa::Avx2) => avx2::load_f16(src.cast(), head_dim, dst),
            #[cfg(target_arch = "aarch64")]
            (DType::F16, Isa::Neon) => neon::load_f16(src.cast(), head_dim, dst),
            #[cfg(target_arch = "x86_64")]
            (DType::BF16, Isa::Avx2) => avx2::load_bf16(src.cast(), head_dim, dst),
            #[cfg(target_arch = "aarch64")]
            (DType::BF16, Isa::Neon) => neon::load_bf16(src.cast(), head_dim, dst),
            #[cfg(target_arch = "x86_64")]
            (DType::Q8_0, Isa::Avx2) => avx2::load_q8_0(src, head_dim / BLOCK, dst),
            #[cfg(target_arch = "aarch64")]
            (DType::Q8_0, Isa::Neon) => neon::load_q8_0(src, head_dim / BLOCK, dst),
            #[cfg(target_arch = "x86_64")]
            (DType::Q4_0, Isa::Avx2) => avx2::load_q4_0(src, head_dim / BLOCK, dst),
            #[cfg(target_arch = "aarch64")]
            (DType::Q4_0, Isa::Neon) => neon::load_q4_0(src, head_dim / BLOCK, dst),
            (DType::F16, _) => scalar::load_f16(src.cast(), dst, 0..head_dim),
            (DType::BF16, _) => scalar::load_bf16(src.cast(), dst, 0..head_dim),
            (DType::Q8_0, _) => scalar::load_q8_0(src, head_dim / BLOCK, dst),
            (DType::Q4_0, _) => scalar::load_q4_0(src, head_dim / BLOCK, dst),
            (other, _) => unreachable!("no cache is of type {other}"),
        }
    }
}
