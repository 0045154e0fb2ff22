//! AVX2 form of the quantizer: the same operations, eight lanes at a time.

use std::arch::x86_64::*;

use super::{A32RowMut, BLOCK, scale};

/// # Safety
/// The CPU has AVX2 and FMA; otherwise as [`super::quantize_blocks`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn quantize(x: &[f32], row: A32RowMut, first_block: usize) {
    for (index, x) in x.as_chunks::<BLOCK>().0.iter().enumerate() {
        let x = load(x);
        let (d, inverse) = scale(amax_bits(&x));
        let (q, sum) = if inverse == 0.0 { ([0; BLOCK], [0; 2]) } else { round(&x, inverse) };
        let s = d * (f32::from(sum[0]) + f32::from(sum[1]));
        // SAFETY: the caller grants the block.
        unsafe { row.write_block(first_block + index, &q, d, s, sum) };
    }
}

#[target_feature(enable = "avx2")]
fn load(x: &[f32; BLOCK]) -> [__m256; 4] {
    // SAFETY: four times eight of the 32 elements.
    [0, 8, 16, 24].map(|i| unsafe { _mm256_loadu_ps(x.as_ptr().add(i)) })
}

#[target_feature(enable = "avx2")]
fn amax_bits(x: &[__m256; 4]) -> u32 {
    let magnitude = _mm256_set1_epi32(0x7fff_ffff);
    let bits = x.map(|x| _mm256_and_si256(_mm256_castps_si256(x), magnitude));
    // Without their sign bits the numbers compare as signed integers do.
    let low = _mm256_max_epi32(bits[0], bits[1]);
    let high = _mm256_max_epi32(bits[2], bits[3]);
    let all = _mm256_max_epi32(low, high);
    let half = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
    let pair = _mm_max_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    let one = _mm_max_epi32(pair, _mm_shuffle_epi32::<0b10_11_00_01>(pair));
    _mm_cvtsi128_si32(one) as u32
}

/// The quantized block and the sums of its halves.
#[target_feature(enable = "avx2")]
fn round(x: &[__m256; 4], inverse: f32) -> ([i8; BLOCK], [i16; 2]) {
    let inverse = _mm256_set1_ps(inverse);
    let limit = _mm256_set1_epi32(127);
    let whole = x.map(|x| {
        let whole = _mm256_cvtps_epi32(_mm256_mul_ps(x, inverse));
        let upper = _mm256_min_epi32(whole, limit);
        _mm256_max_epi32(upper, _mm256_sub_epi32(_mm256_setzero_si256(), limit))
    });
    // Lanes after three horizontal sums: both halves of the block from each half of the register.
    let halves =
        _mm256_hadd_epi32(_mm256_add_epi32(whole[0], whole[1]), _mm256_add_epi32(whole[2], whole[3]));
    let halves = _mm256_hadd_epi32(halves, halves);
    let halves = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
    let sum = [_mm_extract_epi32::<0>(halves) as i16, _mm_extract_epi32::<1>(halves) as i16];
    // Packing works in 128-bit lanes; the permutation puts the groups of four back in order.
    let words = [_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3])];
    let bytes = _mm256_packs_epi16(words[0], words[1]);
    let bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    let mut q = [0i8; BLOCK];
    // SAFETY: 32 bytes for 32.
    unsafe { _mm256_storeu_si256(q.as_mut_ptr().cast(), bytes) };
    (q, sum)
}
