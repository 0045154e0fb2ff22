//! Rows of F16 and BF16.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::super::scalar;
use super::super::types::{BF16_MAX, F16_MAX};

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_f16(src: *const f32, n: usize, dst: *mut f16) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let x = saturate(_mm256_loadu_ps(src.add(i)), F16_MAX);
            let h = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
            _mm_storeu_si128(dst.add(i).cast(), h);
        }
        scalar::store_f16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn load_f16(src: *const f16, n: usize, dst: *mut f32) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let x = _mm256_cvtph_ps(_mm_loadu_si128(src.add(i).cast()));
            _mm256_storeu_ps(dst.add(i), x);
        }
        scalar::load_f16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_bf16(src: *const f32, n: usize, dst: *mut bf16) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            let x = saturate(_mm256_loadu_ps(src.add(i)), BF16_MAX);
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
            let bits = _mm256_castps_si256(x);
            // Half of the last place less one, and one more if the last place is odd.
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
            // A NaN keeps a bit that does not get lost with the lower half.
            let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
            let upper = _mm256_srli_epi32::<16>(_mm256_blendv_epi8(rounded, quiet, nan));
            // Packing works within halves of a register.
            let packed = _mm256_permute4x64_epi64::<0b00_00_10_00>(_mm256_packus_epi32(upper, upper));
            _mm_storeu_si128(dst.add(i).cast(), _mm256_castsi256_si128(packed));
        }
        scalar::store_bf16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn load_bf16(src: *const bf16, n: usize, dst: *mut f32) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            _mm256_storeu_ps(dst.add(i), bf16_eight(src.add(i).cast()));
        }
        scalar::load_bf16(src, dst, whole..n);
    }
}

/// Eight elements.
///
/// # Safety
/// They are readable at `src`; the CPU has AVX2.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn bf16_eight(src: *const u16) -> __m256 {
    // SAFETY: the caller's promise.
    let upper = unsafe { _mm_loadu_si128(src.cast()) };
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(upper)))
}

/// `x` moved into ±`most`; NaN stays NaN, since of a NaN and a number these instructions give the second one.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn saturate(x: __m256, most: f32) -> __m256 {
    _mm256_min_ps(_mm256_set1_ps(most), _mm256_max_ps(_mm256_set1_ps(-most), x))
}
