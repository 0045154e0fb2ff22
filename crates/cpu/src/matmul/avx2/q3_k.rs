//! Q3_K.

use std::arch::x86_64::*;

use super::block32::Rows;
use super::lanes::{halves, high_nibbles, low_nibbles, signed_pair, transpose, unrolled};
use super::q2_k::twos;
use super::super_block::{Place, SuperBlock};

pub(super) struct Q3K;

impl SuperBlock for Q3K {
    const BYTES: usize = 110;
    /// A part for each scale; 16 bits would hold more.
    const PARTS: usize = 2;
    const SCALES: usize = 2;
    const OFFSET: bool = true;
    const MINIMA: usize = 0;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 110; the place is the caller's.
        unsafe {
            scales(rows, to);
            for part in 0..2 {
                let thirds = transpose(rows, 16 * part);
                unrolled!(HALF in [0, 1] {
                    let bytes = transpose(rows, 32 + 32 * HALF + 16 * part);
                    for g in 0..4 {
                        unrolled!(QUARTER in [0, 1, 2, 3] {
                            let third = third(thirds[g], 4 * HALF + QUARTER);
                            let bits = _mm256_or_si256(twos(bytes[g], QUARTER), third);
                            to.group(4 * HALF + QUARTER, 4 * part + g, 0, bits);
                        });
                    }
                });
            }
        }
    }
}

/// The last 14 bytes: 16 low nibbles in two words, 16 upper pairs of bits in one, `d`.
///
/// # Safety
/// As [`SuperBlock::unpack`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn scales<const EIGHTS: usize>(rows: &Rows, to: Place<Q3K, EIGHTS>) {
    // SAFETY: the caller's.
    unsafe {
        // The words lie two bytes behind the ones that are read, so that nothing is behind the block.
        let read = transpose(rows, 94);
        to.super_scales(halves(read[3])[1], _mm256_setzero_ps());
        let mut words = [_mm256_setzero_si256(); 3];
        for (i, word) in words.iter_mut().enumerate() {
            *word = _mm256_or_si256(_mm256_srli_epi32::<16>(read[i]), _mm256_slli_epi32::<16>(read[i + 1]));
        }
        let low =
            [low_nibbles(words[0]), low_nibbles(words[1]), high_nibbles(words[0]), high_nibbles(words[1])];
        unrolled!(FOUR in [0, 1, 2, 3] {
            let high = _mm256_slli_epi16::<4>(twos(words[2], FOUR));
            let scales = _mm256_sub_epi8(_mm256_or_si256(low[FOUR], high), _mm256_set1_epi8(32));
            for block in 0..2 {
                let [first, second] = [signed_pair(scales, 2 * block), signed_pair(scales, 2 * block + 1)];
                to.scale(2 * FOUR + block, 0, first);
                to.scale(2 * FOUR + block, 1, second);
                // The numbers are 4 too large.
                let both = _mm256_blend_epi16::<0b1010_1010>(first, second);
                let offset = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16::<2>(both));
                to.offset(2 * FOUR + block, offset);
            }
        });
    }
}

/// That bit of all bytes, as bit 2.
#[inline]
#[target_feature(enable = "avx2")]
fn third(bytes: __m256i, bit: usize) -> __m256i {
    let moved = if bit < 2 {
        _mm256_sll_epi16(bytes, _mm_cvtsi32_si128(2 - bit as i32))
    } else {
        _mm256_srl_epi16(bytes, _mm_cvtsi32_si128(bit as i32 - 2))
    };
    _mm256_and_si256(moved, _mm256_set1_epi8(4))
}
