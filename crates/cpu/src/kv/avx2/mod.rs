//! Eight lanes of storing and loading rows of the cache.

mod halves;
mod q4_0;

use std::arch::x86_64::*;

use super::types::{BLOCK, Q8_0_BYTES, q8_0_scale};
pub use halves::{bf16_eight, load_bf16, load_f16, store_bf16, store_f16};
pub use q4_0::{load_q4_0, q4_0, q4_0_block, store_q4_0};

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * Q8_0_BYTES` bytes; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_q8_0(src: *const f32, blocks: usize, dst: *mut u8) {
    let limit = _mm256_set1_ps(127.0);
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let src = src.add(block * BLOCK);
            let dst = dst.add(block * Q8_0_BYTES);
            let x = [0, 8, 16, 24].map(|i| _mm256_loadu_ps(src.add(i)));
            let amax = largest(magnitudes(x));
            let (scale, inverse) = q8_0_scale(f32::from_bits(amax as u32));
            dst.cast::<[u8; 2]>().write(scale.to_le_bytes());
            let dst = dst.add(2).cast::<__m256i>();
            if inverse == 0.0 {
                _mm256_storeu_si256(dst, _mm256_setzero_si256());
                continue;
            }
            let inverse = _mm256_set1_ps(inverse);
            let q = x.map(|x| {
                // Clamping before rounding gives the same as after it, the limits being integers.
                let x = _mm256_min_ps(_mm256_mul_ps(x, inverse), limit);
                _mm256_cvtps_epi32(_mm256_max_ps(x, _mm256_sub_ps(_mm256_setzero_ps(), limit)))
            });
            let q = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
            // Packing works within halves of a register: groups of four come out as 0 2 4 6 1 3 5 7.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            _mm256_storeu_si256(dst, _mm256_permutevar8x32_epi32(q, order));
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * Q8_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn load_q8_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let (src, dst) = (src.add(block * Q8_0_BYTES), dst.add(block * BLOCK));
            let scale = scale_of(src);
            for i in (0..BLOCK).step_by(8) {
                _mm256_storeu_ps(dst.add(i), q8_0_eight(src.add(2 + i), scale));
            }
        }
    }
}

/// Elements `i` to `i + 7` of a row of q8_0; `i` is a multiple of 8.
///
/// # Safety
/// The row at `src` has them; the CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn q8_0(src: *const u8, i: usize) -> __m256 {
    // SAFETY: the caller's promise: the block holds the scale and the eight bytes.
    unsafe {
        let block = src.add(i / BLOCK * Q8_0_BYTES);
        q8_0_eight(block.add(2 + i % BLOCK), scale_of(block))
    }
}

/// The scale of a block, in all lanes.
///
/// # Safety
/// The block is readable; the CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn scale_of(block: *const u8) -> __m256 {
    // SAFETY: a block begins with its scale.
    let scale = i32::from(unsafe { block.cast::<u16>().read_unaligned() });
    _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(scale)))
}

/// Eight elements times the scale of their block.
///
/// # Safety
/// The eight bytes are readable; the CPU has AVX2.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn q8_0_eight(bytes: *const u8, scale: __m256) -> __m256 {
    // SAFETY: the caller's promise.
    let q = unsafe { _mm_loadl_epi64(bytes.cast()) };
    _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)), scale)
}

/// The magnitudes of a block, as integers: these have the same order, and NaN is above all of them.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn magnitudes(x: [__m256; 4]) -> [__m256i; 4] {
    x.map(|x| _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fff_ffff)))
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn largest(a: [__m256i; 4]) -> i32 {
    let a = _mm256_max_epi32(_mm256_max_epi32(a[0], a[1]), _mm256_max_epi32(a[2], a[3]));
    let a = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
    let a = _mm_max_epi32(a, _mm_shuffle_epi32::<0b00_00_11_10>(a));
    _mm_cvtsi128_si32(_mm_max_epi32(a, _mm_shuffle_epi32::<0b00_00_00_01>(a)))
}
