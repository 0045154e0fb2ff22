//! RMS norm with the 16 partial sums in four registers.

use std::arch::aarch64::*;

use super::factor;
use crate::math::neon::parts;
use crate::math::{LANES, fma, tree};

/// # Safety
/// As [`super::rms_norm_row_raw`], on a CPU with NEON.
#[target_feature(enable = "neon")]
pub unsafe fn rms_norm_row(x: *const f32, w: &[f32], eps: f32, out: *mut f32) {
    let n = w.len();
    let whole = n / LANES * LANES;
    let mut sums = [vdupq_n_f32(0.0); 4];
    // SAFETY: every load and store is of elements below n, which x, w and out have.
    unsafe {
        for k in (0..whole).step_by(LANES) {
            for (i, sum) in sums.iter_mut().enumerate() {
                let v = vld1q_f32(x.add(k + 4 * i));
                *sum = vfmaq_f32(*sum, v, v);
            }
        }
        let mut sums = parts(sums);
        for k in whole..n {
            let v = *x.add(k);
            sums[k - whole] = fma(v, v, sums[k - whole]);
        }
        let r = factor(tree(sums), n, eps);
        let fours = n / 4 * 4;
        for k in (0..fours).step_by(4) {
            let factor = vmulq_n_f32(vld1q_f32(w.as_ptr().add(k)), r);
            vst1q_f32(out.add(k), vmulq_f32(vld1q_f32(x.add(k)), factor));
        }
        for k in fours..n {
            *out.add(k) = *x.add(k) * (r * w[k]);
        }
    }
}
