//! 5-bit weights in blocks of 32: Q5_0 and Q5_1.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales, products};
use super::lanes::{Layout, high_nibbles, low_nibbles, pair_sum, row_sums_of_words};

/// A scale, with `MINIMA` a minimum, 32 fifth bits, 32 nibbles.
pub(super) struct Q5<const MINIMA: bool>;

/// Numbers are 16 too large.
pub(super) type Q5_0 = Q5<false>;
pub(super) type Q5_1 = Q5<true>;

impl<const MINIMA: bool> Block32 for Q5<MINIMA> {
    const BYTES: usize = if MINIMA { 24 } else { 22 };
    const MINIMA: bool = MINIMA;
    const PANEL_EIGHTS: usize = 2;
    /// A pair of products is at most 2 x 31 x 127: four of them fit 16 bits.
    const PANEL_PARTS: usize = 2;
    const OFFSET: i16 = if MINIMA { 0 } else { 16 };

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        unsafe { if MINIMA { Scales::with_minima(rows) } else { Scales::of_pairs(rows) } }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups<L: Layout>(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are the last 16 bytes, and a block has more.
        let (bytes, head) = unsafe { (L::load(rows, Self::BYTES - 16), L::load(rows, 0)) };
        let mut groups = [_mm256_setzero_si256(); 8];
        for (g, bytes) in bytes.into_iter().enumerate() {
            let fifths = if L::LANES {
                let fifths = Self::fifths(head[0], head[1]);
                [fifth_in_lane(fifths, g), fifth_in_lane(fifths, g + 4)]
            } else {
                let at = Self::BYTES - 20;
                [fifth_in_half(head[g], at), fifth_in_half(head[g], at + 2)]
            };
            groups[g] = _mm256_or_si256(low_nibbles(bytes), fifths[0]);
            groups[g + 4] = _mm256_or_si256(high_nibbles(bytes), fifths[1]);
        }
        groups
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i {
        row_sums_of_words::<false>(&products(groups, x))
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

impl<const MINIMA: bool> Q5<MINIMA> {
    /// The fifth bits from the first and the second four bytes of each row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn fifths(first: __m256i, second: __m256i) -> __m256i {
        if MINIMA {
            return second;
        }
        _mm256_or_si256(_mm256_srli_epi32::<16>(first), _mm256_slli_epi32::<16>(second))
    }
}

/// Of 16 bits at that byte of each half of a vector, each as bit 4 of a byte.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth_in_half(bits: __m256i, at: usize) -> __m256i {
    let first = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    let pick = _mm_add_epi8(first, _mm_set1_epi8(at as i8));
    let byte = _mm256_shuffle_epi8(bits, _mm256_broadcastsi128_si256(pick));
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, own), own);
    _mm256_and_si256(set, _mm256_set1_epi8(16))
}

/// Of a bit for each of 32 elements in a lane, those of group `g` as bit 4 of its four bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth_in_lane(bits: __m256i, g: usize) -> __m256i {
    // The byte with the bits of the group, four times.
    let first = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    let pick = _mm_add_epi8(first, _mm_set1_epi8((g / 2) as i8));
    let byte = _mm256_shuffle_epi8(bits, _mm256_broadcastsi128_si256(pick));
    let own = _mm256_set1_epi32(if g.is_multiple_of(2) { 0x0804_0201 } else { 0x8040_2010u32 as i32 });
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, own), own);
    _mm256_and_si256(set, _mm256_set1_epi8(16))
}
