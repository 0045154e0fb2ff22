//! Q2_K.

use std::arch::x86_64::*;

use super::block32::Rows;
use super::lanes::{float, halves, high_nibbles, low_nibbles, transpose, unrolled, unsigned_pair};
use super::super_block::{Place, SuperBlock};

pub(super) struct Q2K;

impl SuperBlock for Q2K {
    const BYTES: usize = 84;
    /// A part for each scale; 16 bits would hold more.
    const PARTS: usize = 2;
    const SCALES: usize = 2;
    const OFFSET: bool = false;
    const MINIMA: usize = 2;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 84; the place is the caller's.
        unsafe {
            let [.., last] = transpose(rows, 68);
            let [d, dmin] = halves(last);
            to.super_scales(d, dmin);
            for (word, both) in transpose(rows, 0).into_iter().enumerate() {
                let (scales, minima) = (low_nibbles(both), high_nibbles(both));
                unrolled!(SUB in [0, 1, 2, 3] {
                    let (block, half) = (2 * word + SUB / 2, SUB % 2);
                    to.scale(block, half, unsigned_pair(scales, SUB));
                    to.minimum(block, half, float(minima, SUB));
                });
            }
            for half in 0..2 {
                unrolled!(PART in [0, 1] {
                    let bytes = transpose(rows, 16 + 32 * half + 16 * PART);
                    for g in 0..4 {
                        unrolled!(QUARTER in [0, 1, 2, 3] {
                            let bits = twos(bytes[g], QUARTER);
                            to.group(4 * half + QUARTER, 4 * PART + g, 0, bits);
                        });
                    }
                });
            }
        }
    }
}

/// That pair of bits of all bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn twos(bytes: __m256i, pair: usize) -> __m256i {
    let moved = _mm256_srl_epi16(bytes, _mm_cvtsi32_si128(2 * pair as i32));
    _mm256_and_si256(moved, _mm256_set1_epi8(3))
}
