//! Rows of F16 and BF16.

use std::arch::aarch64::*;

use half::{bf16, f16};

use super::super::scalar;
use super::super::types::{BF16_MAX, F16_MAX};

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn store_f16(src: *const f32, n: usize, dst: *mut f16) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            let h = vcvt_f16_f32(saturate(vld1q_f32(src.add(i)), F16_MAX));
            vst1_u16(dst.add(i).cast(), vreinterpret_u16_f16(h));
        }
        scalar::store_f16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn load_f16(src: *const f16, n: usize, dst: *mut f32) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            vst1q_f32(dst.add(i), four_f16(src.add(i).cast()));
        }
        scalar::load_f16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn store_bf16(src: *const f32, n: usize, dst: *mut bf16) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            let x = saturate(vld1q_f32(src.add(i)), BF16_MAX);
            let bits = vreinterpretq_u32_f32(x);
            // Half of the last place less one, and one more if the last place is odd.
            let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
            let rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
            // A NaN keeps a bit that does not get lost with the lower half.
            let quiet = vorrq_u32(bits, vdupq_n_u32(0x0040_0000));
            let upper = vshrn_n_u32::<16>(vbslq_u32(vceqq_f32(x, x), rounded, quiet));
            vst1_u16(dst.add(i).cast(), upper);
        }
        scalar::store_bf16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn load_bf16(src: *const bf16, n: usize, dst: *mut f32) {
    let whole = n / 4 * 4;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(4) {
            vst1q_f32(dst.add(i), four_bf16(src.add(i).cast()));
        }
        scalar::load_bf16(src, dst, whole..n);
    }
}

/// Four elements of F16.
///
/// # Safety
/// They are readable at `src`; the CPU has NEON.
#[inline]
#[target_feature(enable = "neon")]
pub unsafe fn four_f16(src: *const u16) -> float32x4_t {
    // SAFETY: the caller's promise.
    vcvt_f32_f16(vreinterpret_f16_u16(unsafe { vld1_u16(src) }))
}

/// Four elements of BF16.
///
/// # Safety
/// They are readable at `src`; the CPU has NEON.
#[inline]
#[target_feature(enable = "neon")]
pub unsafe fn four_bf16(src: *const u16) -> float32x4_t {
    // SAFETY: the caller's promise.
    vreinterpretq_f32_u32(vshll_n_u16::<16>(unsafe { vld1_u16(src) }))
}

/// `x` moved into ±`most`; these instructions keep a NaN.
#[inline]
#[target_feature(enable = "neon")]
fn saturate(x: float32x4_t, most: f32) -> float32x4_t {
    vminq_f32(vmaxq_f32(x, vdupq_n_f32(-most)), vdupq_n_f32(most))
}
