//! Q6_K.

use std::arch::x86_64::*;

use super::block32::Rows;
use super::lanes::{halves, signed_pair, transpose, unrolled};
use super::super_block::{Place, SuperBlock};

pub(super) struct Q6K;

impl SuperBlock for Q6K {
    const BYTES: usize = 210;
    /// A pair of products is at most 2 x 63 x 127: two groups fit 16 bits.
    const PARTS: usize = 4;
    const SCALES: usize = 2;
    const OFFSET: bool = true;
    const MINIMA: usize = 0;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 210; the place is the caller's.
        unsafe {
            let [.., last] = transpose(rows, 194);
            to.super_scales(halves(last)[1], _mm256_setzero_ps());
            let scales = transpose(rows, 192);
            unrolled!(WORD in [0, 1, 2, 3] {
                let scales = scales[WORD];
                for block in 0..2 {
                    let [first, second] =
                        [signed_pair(scales, 2 * block), signed_pair(scales, 2 * block + 1)];
                    to.scale(2 * WORD + block, 0, first);
                    to.scale(2 * WORD + block, 1, second);
                    // The numbers are 32 too large.
                    let both = _mm256_blend_epi16::<0b1010_1010>(first, second);
                    let offset = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16::<5>(both));
                    to.offset(2 * WORD + block, offset);
                }
            });
            for half in 0..2 {
                unrolled!(PART in [0, 1] {
                    let low = transpose(rows, 64 * half + 16 * PART);
                    let high = transpose(rows, 64 * half + 32 + 16 * PART);
                    let upper = transpose(rows, 128 + 32 * half + 16 * PART);
                    for g in 0..4 {
                        let (block, group) = (4 * half, 4 * PART + g);
                        let (low, high, upper) = (low[g], high[g], upper[g]);
                        to.group(block, group, 0, join(low, _mm256_slli_epi16::<4>(upper)));
                        to.group(block + 1, group, 0, join(high, _mm256_slli_epi16::<2>(upper)));
                        to.group(block + 2, group, 0, join(_mm256_srli_epi16::<4>(low), upper));
                        let (high, upper) = (_mm256_srli_epi16::<4>(high), _mm256_srli_epi16::<2>(upper));
                        to.group(block + 3, group, 0, join(high, upper));
                    }
                });
            }
        }
    }
}

/// The low nibbles, with bits 4 and 5 of `upper`.
#[inline]
#[target_feature(enable = "avx2")]
fn join(low: __m256i, upper: __m256i) -> __m256i {
    let low = _mm256_and_si256(low, _mm256_set1_epi8(15));
    _mm256_or_si256(low, _mm256_and_si256(upper, _mm256_set1_epi8(0x30)))
}
