//! 4-bit weights: Q4_0 and Q4_1.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales, products};
use super::lanes::{Layout, pair_sum, row_sums_of_words};

/// A scale, with `MINIMA` a minimum, 32 nibbles.
pub(super) struct Q4<const MINIMA: bool>;

/// Nibbles are 8 too large.
pub(super) type Q4_0 = Q4<false>;
pub(super) type Q4_1 = Q4<true>;

impl<const MINIMA: bool> Block32 for Q4<MINIMA> {
    const BYTES: usize = if MINIMA { 20 } else { 18 };
    const MINIMA: bool = MINIMA;
    const PANEL_EIGHTS: usize = 2;
    const OFFSET: i16 = if MINIMA { 0 } else { 8 };

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        unsafe { if MINIMA { Scales::with_minima(rows) } else { Scales::alone(rows) } }
    }

    /// Low nibbles are the first 16 elements; high nibbles the rest.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups<L: Layout>(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are the last 16 bytes.
        let bytes = unsafe { L::load(rows, Self::BYTES - 16) };
        let mask = _mm256_set1_epi8(15);
        let mut groups = [_mm256_setzero_si256(); 8];
        for (g, bytes) in bytes.into_iter().enumerate() {
            groups[g] = _mm256_and_si256(bytes, mask);
            groups[g + 4] = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask);
        }
        groups
    }

    /// Pairs of products are at most 2 x 15 x 127, so eight of them fit 16 bits.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i {
        row_sums_of_words::<true>(&products(groups, x))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(groups: &Groups, to: *mut u8, eight: usize) {
        for (g, group) in groups.iter().enumerate() {
            // SAFETY: eight times 64 bytes, and `eight` is 0 or 1.
            unsafe { _mm256_storeu_si256(to.add(64 * g + 32 * eight).cast(), *group) };
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
        [pair_sum(sums[0]), pair_sum(sums[1])]
    }
}
