//! Eight lanes of storing and loading rows of the cache.

use std::arch::x86_64::*;

use half::f16;

use super::{BLOCK, BLOCK_BYTES, F16_MAX, q8_0_scale};

/// # Safety
/// `src` and `dst` are valid for `n` elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_f16(src: *const f32, n: usize, dst: *mut f16) {
    let whole = n / 8 * 8;
    // SAFETY: the elements are below n.
    unsafe {
        for i in (0..whole).step_by(8) {
            // If an operand is NaN, these instructions give the second one.
            let x = _mm256_loadu_ps(src.add(i));
            let x = _mm256_max_ps(_mm256_set1_ps(-F16_MAX), x);
            let x = _mm256_min_ps(_mm256_set1_ps(F16_MAX), x);
            let h = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
            _mm_storeu_si128(dst.add(i).cast(), h);
        }
        super::store_f16(src, dst, whole..n);
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
        super::load_f16(src, dst, whole..n);
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * BLOCK_BYTES` bytes; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn store_q8_0(src: *const f32, blocks: usize, dst: *mut u8) {
    let magnitude = _mm256_set1_epi32(0x7fff_ffff);
    let limit = _mm256_set1_ps(127.0);
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let src = src.add(block * BLOCK);
            let dst = dst.add(block * BLOCK_BYTES);
            let x = [0, 8, 16, 24].map(|i| _mm256_loadu_ps(src.add(i)));
            let a = x.map(|x| _mm256_and_si256(_mm256_castps_si256(x), magnitude));
            let a = _mm256_max_epi32(_mm256_max_epi32(a[0], a[1]), _mm256_max_epi32(a[2], a[3]));
            let a = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
            let a = _mm_max_epi32(a, _mm_shuffle_epi32::<0b00_00_11_10>(a));
            let a = _mm_max_epi32(a, _mm_shuffle_epi32::<0b00_00_00_01>(a));
            let (scale, inverse) = q8_0_scale(f32::from_bits(_mm_cvtsi128_si32(a) as u32));
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
/// `src` is valid for reads of `blocks * BLOCK_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements; the CPU has AVX2 and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn load_q8_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let (src, dst) = (src.add(block * BLOCK_BYTES), dst.add(block * BLOCK));
            let scale = q8_0_scale_of(src);
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
        let block = src.add(i / BLOCK * BLOCK_BYTES);
        q8_0_eight(block.add(2 + i % BLOCK), q8_0_scale_of(block))
    }
}

/// The scale of a block, in all lanes.
///
/// # Safety
/// The block is readable; the CPU has AVX2 and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn q8_0_scale_of(block: *const u8) -> __m256 {
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
