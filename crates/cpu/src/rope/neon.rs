//! Four lanes of rotary position embedding.

use std::arch::aarch64::*;

use super::RopePairs;

/// Turns all pairs of one head.
///
/// # Safety
/// As [`super::turn`], on a CPU with NEON.
#[target_feature(enable = "neon")]
pub unsafe fn turn(x: *mut f32, pairs: RopePairs, cos: &[f32], sin: &[f32]) {
    let half = cos.len();
    let whole = half / 4 * 4;
    // SAFETY: j + 4 <= cos.len() = sin.len(), and x has two elements a pair.
    unsafe {
        for j in (0..whole).step_by(4) {
            let (c, s) = (vld1q_f32(cos.as_ptr().add(j)), vld1q_f32(sin.as_ptr().add(j)));
            match pairs {
                RopePairs::Neighbours => {
                    let float32x4x2_t(x0, x1) = vld2q_f32(x.add(2 * j));
                    let [y0, y1] = four(x0, x1, c, s);
                    vst2q_f32(x.add(2 * j), float32x4x2_t(y0, y1));
                }
                RopePairs::Halves => {
                    let (x0, x1) = (vld1q_f32(x.add(j)), vld1q_f32(x.add(half + j)));
                    let [y0, y1] = four(x0, x1, c, s);
                    vst1q_f32(x.add(j), y0);
                    vst1q_f32(x.add(half + j), y1);
                }
            }
        }
        super::turn(x, pairs, cos, sin, whole);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn four(x0: float32x4_t, x1: float32x4_t, c: float32x4_t, s: float32x4_t) -> [float32x4_t; 2] {
    [vfmaq_f32(vnegq_f32(vmulq_f32(x1, s)), x0, c), vfmaq_f32(vmulq_f32(x0, s), x1, c)]
}
