//! 8-bit weights: Q8_0.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales};
use super::lanes::{Layout, pair_sum, row_sums};

pub(super) struct Q8_0;

impl Block32 for Q8_0 {
    const BYTES: usize = 34;
    const MINIMA: bool = false;
    const PANEL_EIGHTS: usize = 1;
    const OFFSET: i16 = 0;
    const PANEL_OFFSET: i16 = PANEL_OFFSET;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        unsafe { Scales::alone(rows) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups<L: Layout>(rows: &Rows) -> Groups {
        // SAFETY: two times 16 bytes behind the scale.
        let ([a, b, c, d], [e, f, g, h]) = unsafe { (L::load(rows, 2), L::load(rows, 18)) };
        [a, b, c, d, e, f, g, h]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i {
        dot(groups, x)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(groups: &Groups, to: *mut u8, _eight: usize) {
        // SAFETY: the caller's.
        unsafe { store(groups, to) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
        integers(sums)
    }
}

/// The upper halves of numbers in the panel are 8 too large, and count 16 times.
pub(super) const PANEL_OFFSET: i16 = 128;

/// `|w|` times `x` with the sign of `w`: as unsigned byte -128 has a magnitude, and a pair is at
/// most 2 x 128 x 127, which 16 bits hold once.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i {
    let mut sums = [_mm256_setzero_si256(); 4];
    for (pair, sum) in sums.iter_mut().enumerate() {
        let (first, second) = (products(groups[pair], x[0]), products(groups[pair + 4], x[1]));
        *sum = _mm256_add_epi32(pair_sum(first), pair_sum(second));
    }
    row_sums(&sums)
}

/// Pairs of products of signed bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn products(w: __m256i, x: __m256i) -> __m256i {
    _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w))
}

/// Two's complement is `low + 16 high` with `low` from 0 to 15 and `high` from -8 to 7; the
/// panel holds `low` and `high + 8`.
///
/// # Safety
/// As [`Block32::store`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn store(groups: &Groups, to: *mut u8) {
    let mask = _mm256_set1_epi8(15);
    let eight = _mm256_set1_epi8(8);
    for (g, group) in groups.iter().enumerate() {
        let low = _mm256_and_si256(*group, mask);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(*group), mask);
        // Adding 8 to a nibble in two's complement flips its upper bit.
        let high = _mm256_xor_si256(high, eight);
        // SAFETY: eight times 64 bytes.
        unsafe {
            _mm256_storeu_si256(to.add(64 * g).cast(), low);
            _mm256_storeu_si256(to.add(64 * g + 32).cast(), high);
        }
    }
}

/// As [`Block32::integers`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
    let low = _mm256_madd_epi16(sums[0], _mm256_set1_epi16(1));
    let high = _mm256_madd_epi16(sums[1], _mm256_set1_epi16(16));
    [_mm256_add_epi32(low, high), _mm256_setzero_si256()]
}
