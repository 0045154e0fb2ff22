//! 4-bit weights: Q4_0 and Q4_1.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales};
use super::lanes::{first_words, halves, transpose};

pub(super) struct Q4_0;
pub(super) struct Q4_1;

impl Block32 for Q4_0 {
    const BYTES: usize = 18;
    const MINIMA: bool = false;
    const PANEL_EIGHTS: usize = 2;
    const OFFSET: i16 = 8;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        let [scale, _] = halves(unsafe { first_words(rows) });
        Scales { scale, min: _mm256_setzero_ps() }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are 16 bytes behind the scale.
        nibbles(unsafe { transpose(rows, 2) })
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: *const u8) -> __m256i {
        // SAFETY: the caller's.
        unsafe { dot(groups, x) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(groups: &Groups, to: *mut u8, eight: usize) {
        // SAFETY: the caller's.
        unsafe { store(groups, to, eight) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
        pair_sums(sums)
    }
}

impl Block32 for Q4_1 {
    const BYTES: usize = 20;
    const MINIMA: bool = true;
    const PANEL_EIGHTS: usize = 2;
    const OFFSET: i16 = 0;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        let [scale, min] = halves(unsafe { first_words(rows) });
        Scales { scale, min }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are 16 bytes behind scale and minimum.
        nibbles(unsafe { transpose(rows, 4) })
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: *const u8) -> __m256i {
        // SAFETY: the caller's.
        unsafe { dot(groups, x) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(groups: &Groups, to: *mut u8, eight: usize) {
        // SAFETY: the caller's.
        unsafe { store(groups, to, eight) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
        pair_sums(sums)
    }
}

/// Low nibbles are the first 16 elements, four groups; high nibbles the rest.
#[inline]
#[target_feature(enable = "avx2")]
fn nibbles(bytes: [__m256i; 4]) -> Groups {
    let mask = _mm256_set1_epi8(15);
    let [a, b, c, d] = bytes.map(|bytes| _mm256_and_si256(bytes, mask));
    let [e, f, g, h] = bytes.map(|bytes| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask));
    [a, b, c, d, e, f, g, h]
}

/// Pairs of products are at most 2 x 15 x 127, so eight of them fit 16 bits.
///
/// # Safety
/// The CPU has AVX2, and `x` points to 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn dot(groups: &Groups, x: *const u8) -> __m256i {
    let mut sums = [_mm256_setzero_si256(); 2];
    for (g, group) in groups.iter().enumerate() {
        // SAFETY: eight times four bytes.
        let x = _mm256_set1_epi32(unsafe { x.add(4 * g).cast::<i32>().read_unaligned() });
        sums[g % 2] = _mm256_add_epi16(sums[g % 2], _mm256_maddubs_epi16(*group, x));
    }
    let sum = _mm256_add_epi16(sums[0], sums[1]);
    _mm256_madd_epi16(sum, _mm256_set1_epi16(1))
}

/// # Safety
/// As [`Block32::store`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(groups: &Groups, to: *mut u8, eight: usize) {
    for (g, group) in groups.iter().enumerate() {
        // SAFETY: eight times 64 bytes, and `eight` is 0 or 1.
        unsafe { _mm256_storeu_si256(to.add(64 * g + 32 * eight).cast(), *group) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn pair_sums(sums: [__m256i; 2]) -> [__m256i; 2] {
    sums.map(|sum| _mm256_madd_epi16(sum, _mm256_set1_epi16(1)))
}
