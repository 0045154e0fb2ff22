//! Nibbles that are indices of fixed numbers: IQ4_NL and IQ4_XS.

use std::arch::x86_64::*;

use super::block32::{Block32, Groups, Rows, Scales};
use super::lanes::{Layout, halves, high_nibbles, low_nibbles, transpose, unrolled};
use super::q8;
use super::super_block::{Place, SuperBlock};
use crate::matmul::block32::IQ4;

/// Blocks of 32, as Q8_0 once the numbers are looked up.
pub(super) struct Iq4Nl;

impl Block32 for Iq4Nl {
    const BYTES: usize = 18;
    const MINIMA: bool = false;
    const PANEL_EIGHTS: usize = 1;
    const OFFSET: i16 = 0;
    const PANEL_OFFSET: i16 = q8::PANEL_OFFSET;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn scales(rows: &Rows) -> Scales {
        // SAFETY: a block has more than 16 bytes.
        unsafe { Scales::alone(rows) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn groups<L: Layout>(rows: &Rows) -> Groups {
        // SAFETY: the nibbles are the last 16 bytes.
        let bytes = unsafe { L::load(rows, 2) };
        let table = table(IQ4);
        let mut groups = [_mm256_setzero_si256(); 8];
        for (g, bytes) in bytes.into_iter().enumerate() {
            groups[g] = _mm256_shuffle_epi8(table, low_nibbles(bytes));
            groups[g + 4] = _mm256_shuffle_epi8(table, high_nibbles(bytes));
        }
        groups
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot(groups: &Groups, x: [__m256i; 2]) -> __m256i {
        q8::dot(groups, x)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(groups: &Groups, to: *mut u8, _eight: usize) {
        // SAFETY: the caller's.
        unsafe { q8::store(groups, to) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn integers(sums: [__m256i; 2]) -> [__m256i; 2] {
        q8::integers(sums)
    }
}

/// Blocks of 256. A number is `low + 16 high - 128` with both parts from 0 to 15, looked up apart.
pub(super) struct Iq4Xs;

impl SuperBlock for Iq4Xs {
    const BYTES: usize = 136;
    const VECTORS: usize = 2;
    /// A pair of products is at most 2 x 15 x 127: all eight groups fit 16 bits.
    const PARTS: usize = 1;
    const SCALES: usize = 2;
    const OFFSET: bool = true;
    const MINIMA: usize = 0;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn unpack<const EIGHTS: usize>(rows: &Rows, to: Place<Self, EIGHTS>) {
        // SAFETY: all offsets plus 16 are at most 136; the place is the caller's.
        unsafe {
            let [d_and_high, low, ..] = transpose(rows, 0);
            to.super_scales(halves(d_and_high)[0], _mm256_setzero_ps());
            let (tables, nibble) = (tables(), _mm256_set1_epi32(15));
            unrolled!(BLOCK in [0, 1, 2, 3, 4, 5, 6, 7] {
                let low = _mm256_srl_epi32(low, _mm_cvtsi32_si128(4 * BLOCK as i32));
                let high = _mm256_srl_epi32(d_and_high, _mm_cvtsi32_si128(16 + 2 * BLOCK as i32));
                let high = _mm256_and_si256(_mm256_slli_epi32::<4>(high), _mm256_set1_epi32(0x30));
                let scale = _mm256_or_si256(_mm256_and_si256(low, nibble), high);
                let scale = _mm256_or_si256(scale, _mm256_slli_epi32::<16>(scale));
                let scale = _mm256_sub_epi16(scale, _mm256_set1_epi16(32));
                to.scale(BLOCK, 0, scale);
                to.scale(BLOCK, 1, _mm256_slli_epi16::<4>(scale));
                to.offset(BLOCK, _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16::<7>(scale)));
                let bytes = transpose(rows, 8 + 16 * BLOCK);
                for g in 0..4 {
                    for (vector, table) in tables.into_iter().enumerate() {
                        to.group(BLOCK, g, vector, _mm256_shuffle_epi8(table, low_nibbles(bytes[g])));
                        to.group(BLOCK, g + 4, vector, _mm256_shuffle_epi8(table, high_nibbles(bytes[g])));
                    }
                }
            });
        }
    }
}

/// The low nibbles of the numbers, and the high ones of the numbers plus 128.
#[inline]
#[target_feature(enable = "avx2")]
fn tables() -> [__m256i; 2] {
    let all = table(IQ4);
    [low_nibbles(all), high_nibbles(_mm256_xor_si256(all, _mm256_set1_epi8(-128)))]
}

#[inline]
#[target_feature(enable = "avx2")]
fn table(numbers: [i8; 16]) -> __m256i {
    // SAFETY: 16 bytes are read.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) })
}
