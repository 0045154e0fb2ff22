//! 5-bit weights in blocks of 32: Q5_0 and Q5_1.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales};
use super::lanes::{first_words, halves, high_nibbles, low_nibbles, pair_sum, transpose};

/// A scale, with `MINIMA` a minimum, 32 fifth bits, 32 nibbles.
pub(super) struct Q5<const MINIMA: bool>;

/// Numbers are 16 too large.
pub(super) type Q5_0 = Q5<false>;
pub(super) type Q5_1 = Q5<true>;

impl<const MINIMA: bool> Block32 for Q5<MINIMA> {
    const BYTES: usize = if MINIMA { 24 } else { 22 };
    const MINIMA: bool = MINIMA;
    const PANEL_EIGHTS: usize = 2;
    /// A pair of products is at most 2 x 31 x 127: four groups fit 16 bits.
    const PANEL_PARTS: usize = 2;
    const OFFSET: i16 = if MINIMA { 0 } else { 16 };

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        let [scale, min] = halves(unsafe { first_words(rows) });
        Scales { scale, min: if MINIMA { min } else { _mm256_setzero_ps() } }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are the last 16 bytes, and a block has more.
        let (bytes, [first, second, ..]) = unsafe { (transpose(rows, Self::BYTES - 16), transpose(rows, 0)) };
        let fifths = if MINIMA {
            second
        } else {
            _mm256_or_si256(_mm256_srli_epi32::<16>(first), _mm256_slli_epi32::<16>(second))
        };
        let mut groups = [_mm256_setzero_si256(); 8];
        for (g, bytes) in bytes.into_iter().enumerate() {
            groups[g] = _mm256_or_si256(low_nibbles(bytes), fifth(fifths, g));
            groups[g + 4] = _mm256_or_si256(high_nibbles(bytes), fifth(fifths, g + 4));
        }
        groups
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: *const u8) -> __m256i {
        let mut sums = [_mm256_setzero_si256(); 2];
        for (g, group) in groups.iter().enumerate() {
            // SAFETY: eight times four bytes.
            let x = _mm256_set1_epi32(unsafe { x.add(4 * g).cast::<i32>().read_unaligned() });
            sums[g / 4] = _mm256_add_epi16(sums[g / 4], _mm256_maddubs_epi16(*group, x));
        }
        _mm256_add_epi32(pair_sum(sums[0]), pair_sum(sums[1]))
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

/// Of a bit for each of 32 elements, those of group `g` as bit 4 of its four bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth(bits: __m256i, g: usize) -> __m256i {
    // The byte with the bits of the group, four times.
    let first = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    let pick = _mm_add_epi8(first, _mm_set1_epi8((g / 2) as i8));
    let byte = _mm256_shuffle_epi8(bits, _mm256_broadcastsi128_si256(pick));
    let own = _mm256_set1_epi32(if g.is_multiple_of(2) { 0x0804_0201 } else { 0x8040_2010u32 as i32 });
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, own), own);
    _mm256_and_si256(set, _mm256_set1_epi8(16))
}
