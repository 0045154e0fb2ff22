//! Q5_K.

use std::arch::x86_64::*;

use super::block32::Rows;
use super::lanes::{high_nibbles, low_nibbles, transpose, unrolled};
use super::q4_k::scales_and_minima;
use super::super_block::{Place, SuperBlock};

pub(super) struct Q5K;

impl SuperBlock for Q5K {
    const BYTES: usize = 176;
    /// A pair of products is at most 2 x 31 x 127: four groups fit 16 bits.
    const PARTS: usize = 2;
    const SCALES: usize = 1;
    const OFFSET: bool = false;
    const MINIMA: usize = 1;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 176; the place is the caller's.
        unsafe {
            scales_and_minima(rows, to);
            for half in 0..2 {
                let fifths = transpose(rows, 16 + 16 * half);
                unrolled!(PAIR in [0, 1, 2, 3] {
                    let bytes = transpose(rows, 48 + 32 * PAIR + 16 * half);
                    for g in 0..4 {
                        let group = 4 * half + g;
                        let first = fifth(fifths[g], 2 * PAIR);
                        to.group(2 * PAIR, group, 0, _mm256_or_si256(low_nibbles(bytes[g]), first));
                        let second = fifth(fifths[g], 2 * PAIR + 1);
                        to.group(2 * PAIR + 1, group, 0, _mm256_or_si256(high_nibbles(bytes[g]), second));
                    }
                });
            }
        }
    }
}

/// That bit of all bytes, as bit 4.
#[inline]
#[target_feature(enable = "avx2")]
fn fifth(bytes: __m256i, bit: usize) -> __m256i {
    let moved = if bit < 4 {
        _mm256_sll_epi16(bytes, _mm_cvtsi32_si128(4 - bit as i32))
    } else {
        _mm256_srl_epi16(bytes, _mm_cvtsi32_si128(bit as i32 - 4))
    };
    _mm256_and_si256(moved, _mm256_set1_epi8(16))
}
