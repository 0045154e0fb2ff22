//! Q4_K, and the scales that it shares with Q5_K.

use std::arch::x86_64::*;

use super::block32::Rows;
use super::lanes::{float, halves, high_nibbles, low_nibbles, transpose, unrolled, unsigned_pair};
use super::super_block::{Place, SuperBlock};

pub(super) struct Q4K;

impl SuperBlock for Q4K {
    const BYTES: usize = 144;
    /// A pair of products is at most 2 x 15 x 127: all eight groups fit 16 bits.
    const PARTS: usize = 1;
    const SCALES: usize = 1;
    const OFFSET: bool = false;
    const MINIMA: usize = 1;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 144; the place is the caller's.
        unsafe {
            scales_and_minima(rows, to);
            unrolled!(PAIR in [0, 1, 2, 3] {
                for half in 0..2 {
                    let bytes = transpose(rows, 16 + 32 * PAIR + 16 * half);
                    for g in 0..4 {
                        to.group(2 * PAIR, 4 * half + g, 0, low_nibbles(bytes[g]));
                        to.group(2 * PAIR + 1, 4 * half + g, 0, high_nibbles(bytes[g]));
                    }
                }
            });
        }
    }
}

/// The first 16 bytes: `d`, `dmin`, and of 8 scales and 8 minima the first four in the low 6 bits of
/// a word each, the others in the nibbles of a third word under the upper bits of those.
///
/// # Safety
/// As [`SuperBlock::unpack`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn scales_and_minima<T: SuperBlock, const EIGHTS: usize>(
    rows: &Rows,
    to: Place<T, EIGHTS>,
) {
    let six = _mm256_set1_epi8(63);
    let two = _mm256_set1_epi8(0x30);
    // SAFETY: the caller's.
    unsafe {
        let [d, first, second, third] = transpose(rows, 0);
        let [d, dmin] = halves(d);
        to.super_scales(d, dmin);
        let upper = _mm256_and_si256(_mm256_srli_epi16::<2>(first), two);
        let scales = [_mm256_and_si256(first, six), _mm256_or_si256(low_nibbles(third), upper)];
        let upper = _mm256_and_si256(_mm256_srli_epi16::<2>(second), two);
        let minima = [_mm256_and_si256(second, six), _mm256_or_si256(high_nibbles(third), upper)];
        unrolled!(BLOCK in [0, 1, 2, 3, 4, 5, 6, 7] {
            to.scale(BLOCK, 0, unsigned_pair(scales[BLOCK / 4], BLOCK % 4));
            to.minimum(BLOCK, 0, float(minima[BLOCK / 4], BLOCK % 4));
        });
    }
}
