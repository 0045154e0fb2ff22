//! IQ4_XS with whole bytes: without the limit of 16 bits a number need not be looked up in two parts.

use std::arch::x86_64::*;

use super::panel::Excess;
use crate::matmul::avx2::block32::Rows;
use crate::matmul::avx2::lanes::{halves, high_nibbles, low_nibbles, transpose, unrolled};
use crate::matmul::avx2::super_block::{Place, SuperBlock};
use crate::matmul::block32::IQ4;

pub(super) struct Iq4Xs;

impl Excess for Iq4Xs {
    const EXCESS: i16 = 128;
}

impl SuperBlock for Iq4Xs {
    const BYTES: usize = 136;
    const PARTS: usize = 1;
    const SCALES: usize = 1;
    const OFFSET: bool = false;
    const MINIMA: usize = 0;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 136; the place is the caller's.
        unsafe {
            let [d_and_high, low, ..] = transpose(rows, 0);
            to.super_scales(halves(d_and_high)[0], _mm256_setzero_ps());
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(IQ4.as_ptr().cast()));
            let table = _mm256_xor_si256(table, _mm256_set1_epi8(-128));
            unrolled!(BLOCK in [0, 1, 2, 3, 4, 5, 6, 7] {
                // Shifted so that the scale's bits are the uppermost six.
                let low = _mm256_sll_epi32(low, _mm_cvtsi32_si128(28 - 4 * BLOCK as i32));
                let high = _mm256_srl_epi32(d_and_high, _mm_cvtsi32_si128(16 + 2 * BLOCK as i32));
                let low = _mm256_srli_epi32::<12>(low);
                let high = _mm256_slli_epi32::<20>(_mm256_and_si256(high, _mm256_set1_epi32(3)));
                let scale = _mm256_or_si256(low, high);
                let scale = _mm256_sub_epi32(scale, _mm256_set1_epi32(32 << 16));
                to.scale(BLOCK, 0, scale);
                let bytes = transpose(rows, 8 + 16 * BLOCK);
                for g in 0..4 {
                    to.group(BLOCK, g, 0, _mm256_shuffle_epi8(table, low_nibbles(bytes[g])));
                    to.group(BLOCK, g + 4, 0, _mm256_shuffle_epi8(table, high_nibbles(bytes[g])));
                }
            });
        }
    }
}
