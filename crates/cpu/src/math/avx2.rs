//! The vector forms: lane by lane the same operations as the scalar ones.

use std::arch::x86_64::*;

use super::{EXP_MAX, EXP_MIN, EXP_POLYNOMIAL, GELU_CUBIC, GELU_SCALE, LN_2_HIGH, LN_2_LOW, LOG2_E, ROUND};

/// Eight times [`super::exp`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn exp(x: __m256) -> __m256 {
    // If an operand is NaN, these instructions give the second one.
    let x = _mm256_max_ps(_mm256_set1_ps(EXP_MIN), x);
    let x = _mm256_min_ps(_mm256_set1_ps(EXP_MAX), x);
    let round = _mm256_set1_ps(ROUND);
    let rounded = _mm256_fmadd_ps(x, _mm256_set1_ps(LOG2_E), round);
    let n = _mm256_sub_ps(rounded, round);
    let r = _mm256_fmadd_ps(n, _mm256_set1_ps(-LN_2_HIGH), x);
    let r = _mm256_fmadd_ps(n, _mm256_set1_ps(-LN_2_LOW), r);
    let mut q = _mm256_set1_ps(EXP_POLYNOMIAL[0]);
    for c in &EXP_POLYNOMIAL[1..] {
        q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(*c));
    }
    let one = _mm256_set1_ps(1.0);
    let p = _mm256_fmadd_ps(_mm256_fmadd_ps(q, r, one), r, one);
    let n = _mm256_sub_epi32(_mm256_castps_si256(rounded), _mm256_castps_si256(round));
    let half = _mm256_srai_epi32::<1>(n);
    let rest = _mm256_sub_epi32(n, half);
    _mm256_mul_ps(_mm256_mul_ps(p, power_of_two(half)), power_of_two(rest))
}

/// 2^n for n from -126 to 127.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn power_of_two(n: __m256i) -> __m256 {
    let biased = _mm256_add_epi32(n, _mm256_set1_epi32(127));
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
}

/// Eight times [`super::silu`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn silu(x: __m256) -> __m256 {
    let e = exp(_mm256_xor_ps(x, _mm256_set1_ps(-0.0)));
    _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0), e))
}

/// Eight times [`super::gelu`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn gelu(x: __m256) -> __m256 {
    let square = _mm256_mul_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(GELU_CUBIC));
    let inner = _mm256_fmadd_ps(square, x, x);
    let e = exp(_mm256_mul_ps(inner, _mm256_set1_ps(GELU_SCALE)));
    _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0), e))
}

/// Eight times [`super::soft_cap`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn soft_cap(x: __m256, cap: __m256) -> __m256 {
    let y = _mm256_div_ps(x, cap);
    let one = _mm256_set1_ps(1.0);
    let e = _mm256_add_ps(exp(_mm256_add_ps(y, y)), one);
    _mm256_mul_ps(cap, _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2.0), e)))
}

/// [`super::tree`] of the partial sums 0 to 7 and 8 to 15.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn tree(low: __m256, high: __m256) -> f32 {
    let eight = _mm256_add_ps(low, high);
    let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// A mask of the first `n` of eight lanes (`n` at most 8).
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn first_lanes(n: usize) -> __m256i {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    /// Eight results as an array.
    #[target_feature(enable = "avx2,fma,f16c")]
    fn exp_of(x: [f32; 8]) -> [f32; 8] {
        let mut out = [0.0; 8];
        // SAFETY: both arrays have eight elements.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), exp(_mm256_loadu_ps(x.as_ptr()))) };
        out
    }

    #[test]
    fn exp_has_the_bits_of_the_scalar_one() {
        if Isa::Avx2.is_available().is_err() {
            eprintln!("skipped: this machine has no AVX2");
            return;
        }
        // An odd step visits every exponent and every pattern of low bits.
        let mut bits = 0u32;
        for _ in 0..1 << 19 {
            let x: [f32; 8] = std::array::from_fn(|_| {
                bits = bits.wrapping_add(0x9e37_79b1);
                f32::from_bits(bits)
            });
            // SAFETY: the CPU has AVX2.
            let vector = unsafe { exp_of(x) };
            for (x, v) in x.into_iter().zip(vector) {
                let s = crate::math::exp(x);
                let same = s.to_bits() == v.to_bits() || (s.is_nan() && v.is_nan());
                assert!(same, "exp({x:e}): {s:e} and {v:e}");
            }
        }
    }
}
