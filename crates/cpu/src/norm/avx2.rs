//! Eight lanes of RMS norm and layer norm.

use std::arch::x86_64::*;

use super::factor;
use crate::math::avx2::{first_lanes, tree};

/// # Safety
/// As [`super::rms_norm_row_raw`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn rms_norm_row(x: *const f32, w: &[f32], eps: f32, out: *mut f32) {
    let n = w.len();
    let whole = n / 8 * 8;
    let tail = first_lanes(n - whole);
    let mut sums = [_mm256_setzero_ps(); 2];
    // SAFETY: every load and store is of elements below n, which x, w and out have; a masked lane
    // touches no memory.
    unsafe {
        for k in (0..whole).step_by(8) {
            let v = _mm256_loadu_ps(x.add(k));
            let sum = &mut sums[k / 8 % 2];
            *sum = _mm256_fmadd_ps(v, v, *sum);
        }
        if whole < n {
            // A masked lane is 0; it adds 0 to a sum of squares, which is never -0.
            let v = _mm256_maskload_ps(x.add(whole), tail);
            let sum = &mut sums[whole / 8 % 2];
            *sum = _mm256_fmadd_ps(v, v, *sum);
        }
        let r = _mm256_set1_ps(factor(tree(sums[0], sums[1]), n, eps));
        for k in (0..whole).step_by(8) {
            let factor = _mm256_mul_ps(_mm256_loadu_ps(w.as_ptr().add(k)), r);
            _mm256_storeu_ps(out.add(k), _mm256_mul_ps(_mm256_loadu_ps(x.add(k)), factor));
        }
        if whole < n {
            let factor = _mm256_mul_ps(_mm256_maskload_ps(w.as_ptr().add(whole), tail), r);
            let v = _mm256_mul_ps(_mm256_maskload_ps(x.add(whole), tail), factor);
            _mm256_maskstore_ps(out.add(whole), tail, v);
        }
    }
}

/// # Safety
/// As [`super::layer_norm_row_raw`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn layer_norm_row(x: *const f32, w: &[f32], b: &[f32], eps: f32, out: *mut f32) {
    let n = w.len();
    let whole = n / 8 * 8;
    let tail = first_lanes(n - whole);
    let mut sums = [_mm256_setzero_ps(); 2];
    let mut squares = [_mm256_setzero_ps(); 2];
    // SAFETY: every load and store is of elements below n, which x, w, b and out have; a masked lane
    // touches no memory.
    unsafe {
        // A masked lane is 0; it adds 0 to a sum that began at +0, which is never -0.
        for k in (0..whole).step_by(8) {
            let sum = &mut sums[k / 8 % 2];
            *sum = _mm256_add_ps(*sum, _mm256_loadu_ps(x.add(k)));
        }
        if whole < n {
            let sum = &mut sums[whole / 8 % 2];
            *sum = _mm256_add_ps(*sum, _mm256_maskload_ps(x.add(whole), tail));
        }
        let mean = _mm256_set1_ps(tree(sums[0], sums[1]) / n as f32);
        for k in (0..whole).step_by(8) {
            let d = _mm256_sub_ps(_mm256_loadu_ps(x.add(k)), mean);
            let sum = &mut squares[k / 8 % 2];
            *sum = _mm256_fmadd_ps(d, d, *sum);
        }
        if whole < n {
            let d = _mm256_sub_ps(_mm256_maskload_ps(x.add(whole), tail), mean);
            // Lanes without an element hold the mean now.
            let d = _mm256_and_ps(d, _mm256_castsi256_ps(tail));
            let sum = &mut squares[whole / 8 % 2];
            *sum = _mm256_fmadd_ps(d, d, *sum);
        }
        let r = _mm256_set1_ps(factor(tree(squares[0], squares[1]), n, eps));
        for k in (0..whole).step_by(8) {
            let d = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x.add(k)), mean), r);
            let (w, b) = (_mm256_loadu_ps(w.as_ptr().add(k)), _mm256_loadu_ps(b.as_ptr().add(k)));
            _mm256_storeu_ps(out.add(k), _mm256_fmadd_ps(d, w, b));
        }
        if whole < n {
            let d = _mm256_mul_ps(_mm256_sub_ps(_mm256_maskload_ps(x.add(whole), tail), mean), r);
            let w = _mm256_maskload_ps(w.as_ptr().add(whole), tail);
            let b = _mm256_maskload_ps(b.as_ptr().add(whole), tail);
            _mm256_maskstore_ps(out.add(whole), tail, _mm256_fmadd_ps(d, w, b));
        }
    }
}
