//! Eight lanes of rotary position embedding.

use std::arch::x86_64::*;

use super::RopePairs;

/// Turns all pairs of one head.
///
/// # Safety
/// As [`super::turn`], on a CPU with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn turn(x: *mut f32, pairs: RopePairs, cos: &[f32], sin: &[f32]) {
    // SAFETY: the caller's promise; the vector loops stop before the end of cos and sin.
    unsafe {
        let done = match pairs {
            RopePairs::Neighbours => neighbours(x, cos, sin),
            RopePairs::Halves => halves(x, cos, sin),
        };
        super::turn(x, pairs, cos, sin, done);
    }
}

/// Turns four pairs at a time and returns how many are done.
///
/// # Safety
/// As [`turn`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn neighbours(x: *mut f32, cos: &[f32], sin: &[f32]) -> usize {
    let whole = cos.len() / 4 * 4;
    // Pair j of the table goes to lanes 2 j and 2 j + 1.
    let twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    for j in (0..whole).step_by(4) {
        // SAFETY: j + 4 <= cos.len() = sin.len(), and x has two elements a pair.
        unsafe {
            let load = |table: &[f32]| {
                let four = _mm256_castps128_ps256(_mm_loadu_ps(table.as_ptr().add(j)));
                _mm256_permutevar8x32_ps(four, twice)
            };
            let (c, s) = (load(cos), load(sin));
            let v = _mm256_loadu_ps(x.add(2 * j));
            let swapped = _mm256_permute_ps::<0b10_11_00_01>(v);
            // Even lanes: x0 c - x1 s. Odd lanes: x1 c + x0 s.
            let v = _mm256_fmaddsub_ps(v, c, _mm256_mul_ps(swapped, s));
            _mm256_storeu_ps(x.add(2 * j), v);
        }
    }
    whole
}

/// Turns eight pairs at a time and returns how many are done.
///
/// # Safety
/// As [`turn`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn halves(x: *mut f32, cos: &[f32], sin: &[f32]) -> usize {
    let half = cos.len();
    let whole = half / 8 * 8;
    for j in (0..whole).step_by(8) {
        // SAFETY: j + 8 <= half, and x has 2 * half elements.
        unsafe {
            let c = _mm256_loadu_ps(cos.as_ptr().add(j));
            let s = _mm256_loadu_ps(sin.as_ptr().add(j));
            let x0 = _mm256_loadu_ps(x.add(j));
            let x1 = _mm256_loadu_ps(x.add(half + j));
            let y0 = _mm256_fmsub_ps(x0, c, _mm256_mul_ps(x1, s));
            let y1 = _mm256_fmadd_ps(x1, c, _mm256_mul_ps(x0, s));
            _mm256_storeu_ps(x.add(j), y0);
            _mm256_storeu_ps(x.add(half + j), y1);
        }
    }
    whole
}
