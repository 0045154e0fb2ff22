//! Rows of Q4_0.

use std::arch::x86_64::*;

use super::super::types::{BLOCK, Q4_0_BYTES, q4_0_scale};
use super::{largest, magnitudes, scale_of};

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * Q4_0_BYTES` bytes; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_q4_0(src: *const f32, blocks: usize, dst: *mut u8) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let src = src.add(block * BLOCK);
            let dst = dst.add(block * Q4_0_BYTES);
            let x = [0, 8, 16, 24].map(|i| _mm256_loadu_ps(src.add(i)));
            let (scale, inverse) = q4_0_scale(*src.add(first_largest(x)));
            dst.cast::<[u8; 2]>().write(scale.to_le_bytes());
            let dst = dst.add(2).cast::<__m128i>();
            if inverse == 0.0 {
                _mm_storeu_si128(dst, _mm_set1_epi8(0x88u8 as i8));
                continue;
            }
            let inverse = _mm256_set1_ps(inverse);
            let q = x.map(|x| {
                let x = _mm256_add_ps(_mm256_mul_ps(x, inverse), _mm256_set1_ps(8.5));
                let x = _mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), _mm256_set1_ps(15.0));
                _mm256_cvttps_epi32(x)
            });
            let low = _mm256_or_si256(q[0], _mm256_slli_epi32::<4>(q[2]));
            let high = _mm256_or_si256(q[1], _mm256_slli_epi32::<4>(q[3]));
            let words = _mm256_packus_epi32(low, high);
            let bytes = _mm256_packus_epi16(words, words);
            // Packing works within halves of a register: groups of four come out as 0 2 0 2 1 3 1 3.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
            let bytes = _mm256_permutevar8x32_epi32(bytes, order);
            _mm_storeu_si128(dst, _mm256_castsi256_si128(bytes));
        }
    }
}

/// Which element of a block is the first of those of the largest magnitude.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn first_largest(x: [__m256; 4]) -> usize {
    let a = magnitudes(x);
    let amax = _mm256_set1_epi32(largest(a));
    let mut found = 0;
    for (i, a) in a.into_iter().enumerate() {
        let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, amax)));
        found |= (lanes as u32) << (8 * i);
    }
    found.trailing_zeros() as usize
}

/// # Safety
/// `src` is valid for reads of `blocks * Q4_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn load_q4_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let floats = q4_0_block(src.add(block * Q4_0_BYTES));
            for (i, floats) in floats.into_iter().enumerate() {
                _mm256_storeu_ps(dst.add(block * BLOCK + 8 * i), floats);
            }
        }
    }
}

/// All elements of a block.
///
/// # Safety
/// The block is readable; the CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn q4_0_block(block: *const u8) -> [__m256; 4] {
    // SAFETY: a block is a scale and 16 bytes.
    let (scale, bytes) = unsafe { (scale_of(block), _mm_loadu_si128(block.add(2).cast())) };
    let (low, high) = (nibbles(bytes), nibbles(_mm_srli_epi16::<4>(bytes)));
    let upper = _mm_unpackhi_epi64;
    [low, upper(low, low), high, upper(high, high)].map(|q| floats(q, scale))
}

/// Elements `i` to `i + 7` of a row; `i` is a multiple of 8.
///
/// # Safety
/// The row at `src` has them; the CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn q4_0(src: *const u8, i: usize) -> __m256 {
    // SAFETY: the caller's promise: the block holds the scale and the eight bytes.
    unsafe {
        let block = src.add(i / BLOCK * Q4_0_BYTES);
        let bytes = _mm_loadl_epi64(block.add(2 + i % 16).cast());
        let bytes = if i % BLOCK < 16 { bytes } else { _mm_srli_epi16::<4>(bytes) };
        floats(nibbles(bytes), scale_of(block))
    }
}

/// The low nibbles less 8.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn nibbles(bytes: __m128i) -> __m128i {
    _mm_sub_epi8(_mm_and_si128(bytes, _mm_set1_epi8(15)), _mm_set1_epi8(8))
}

/// The lower eight numbers times the scale.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn floats(q: __m128i, scale: __m256) -> __m256 {
    _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)), scale)
}
