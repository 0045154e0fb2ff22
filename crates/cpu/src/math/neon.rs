//! The vector forms: lane by lane the same operations as the scalar ones.

use std::arch::aarch64::*;

use super::{EXP_MAX, EXP_MIN, EXP_POLYNOMIAL, GELU_CUBIC, GELU_SCALE, LN_2_HIGH, LN_2_LOW, LOG2_E, ROUND};

/// Four times [`super::exp`].
#[inline]
#[target_feature(enable = "neon")]
pub fn exp(x: float32x4_t) -> float32x4_t {
    // These instructions keep a NaN.
    let x = vmaxq_f32(vdupq_n_f32(EXP_MIN), x);
    let x = vminq_f32(vdupq_n_f32(EXP_MAX), x);
    let round = vdupq_n_f32(ROUND);
    let rounded = vfmaq_f32(round, x, vdupq_n_f32(LOG2_E));
    let n = vsubq_f32(rounded, round);
    let r = vfmaq_f32(x, n, vdupq_n_f32(-LN_2_HIGH));
    let r = vfmaq_f32(r, n, vdupq_n_f32(-LN_2_LOW));
    let mut q = vdupq_n_f32(EXP_POLYNOMIAL[0]);
    for c in &EXP_POLYNOMIAL[1..] {
        q = vfmaq_f32(vdupq_n_f32(*c), q, r);
    }
    let one = vdupq_n_f32(1.0);
    let p = vfmaq_f32(one, vfmaq_f32(one, q, r), r);
    let n = vsubq_s32(vreinterpretq_s32_f32(rounded), vreinterpretq_s32_f32(round));
    let half = vshrq_n_s32::<1>(n);
    let rest = vsubq_s32(n, half);
    vmulq_f32(vmulq_f32(p, power_of_two(half)), power_of_two(rest))
}

/// 2^n for n from -126 to 127.
#[inline]
#[target_feature(enable = "neon")]
fn power_of_two(n: int32x4_t) -> float32x4_t {
    vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127))))
}

/// Four times [`super::silu`].
#[inline]
#[target_feature(enable = "neon")]
pub fn silu(x: float32x4_t) -> float32x4_t {
    vdivq_f32(x, vaddq_f32(vdupq_n_f32(1.0), exp(vnegq_f32(x))))
}

/// Four times [`super::gelu`].
#[inline]
#[target_feature(enable = "neon")]
pub fn gelu(x: float32x4_t) -> float32x4_t {
    let square = vmulq_f32(vmulq_f32(x, x), vdupq_n_f32(GELU_CUBIC));
    let inner = vfmaq_f32(x, square, x);
    let e = exp(vmulq_f32(inner, vdupq_n_f32(GELU_SCALE)));
    vdivq_f32(x, vaddq_f32(vdupq_n_f32(1.0), e))
}

/// Four times [`super::soft_cap`].
#[inline]
#[target_feature(enable = "neon")]
pub fn soft_cap(x: float32x4_t, cap: float32x4_t) -> float32x4_t {
    let y = vdivq_f32(x, cap);
    let one = vdupq_n_f32(1.0);
    let e = vaddq_f32(exp(vaddq_f32(y, y)), one);
    vmulq_f32(cap, vsubq_f32(one, vdivq_f32(vdupq_n_f32(2.0), e)))
}

/// The 16 partial sums as an array.
#[inline]
#[target_feature(enable = "neon")]
pub fn parts(sums: [float32x4_t; 4]) -> [f32; 16] {
    let mut out = [0.0; 16];
    for (i, sum) in sums.into_iter().enumerate() {
        // SAFETY: four elements at 4 i of 16.
        unsafe { vst1q_f32(out.as_mut_ptr().add(4 * i), sum) };
    }
    out
}

/// [`super::tree`] of 16 partial sums.
#[inline]
#[target_feature(enable = "neon")]
pub fn tree(sums: [float32x4_t; 4]) -> f32 {
    let four = vaddq_f32(vaddq_f32(sums[0], sums[2]), vaddq_f32(sums[1], sums[3]));
    let two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    vget_lane_f32::<0>(two) + vget_lane_f32::<1>(two)
}
