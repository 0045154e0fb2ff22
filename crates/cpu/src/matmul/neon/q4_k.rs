//! Nibbles with scales and minima of 6 bits: Q4_K, and Q5_K with fifth bits on top.

use std::arch::aarch64::*;

use super::super_block::{Numbers, SuperBlock, shift};

/// Two half-precision numbers, 12 bytes of scales and minima, with `FIFTH` 32 bytes of fifth bits, 128 of nibbles.
pub(super) struct Fours<const FIFTH: bool>;

pub(super) type Q4K = Fours<false>;
pub(super) type Q5K = Fours<true>;

impl<const FIFTH: bool> SuperBlock for Fours<FIFTH> {
    const BYTES: usize = if FIFTH { 176 } else { 144 };
    const SCALES: usize = 1;
    const MINIMA: usize = 1;
    const D: usize = 0;

    /// Of 64 numbers the first 32 are the low nibbles of 32 bytes. The fifth bits of each eighth are a bit in 32 bytes.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        std::array::from_fn(|part| {
            // SAFETY: the nibbles are the last 128 bytes.
            let bytes = unsafe { vld1q_u8(block.add(Self::BYTES - 128 + 32 * (part / 4) + 16 * (part % 2))) };
            let four = vandq_u8(shift(bytes, 4 * (part % 4 / 2)), vdupq_n_u8(15));
            if !FIFTH {
                return vreinterpretq_s8_u8(four);
            }
            // SAFETY: the fifth bits are behind the scales.
            let bits = unsafe { vld1q_u8(block.add(16 + 16 * (part % 2))) };
            let fifth = vandq_u8(shift(bits, part / 2), vdupq_n_u8(1));
            vreinterpretq_s8_u8(vorrq_u8(four, vshlq_n_u8::<4>(fifth)))
        })
    }

    /// Of the first four the low 6 bits of bytes 0 to 3 and 4 to 7, of the others the nibbles of bytes 8 to 11 under
    /// the upper bits of bytes 0 to 3 and 4 to 7.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2] {
        // SAFETY: the 12 bytes are behind the half-precision numbers.
        let [scales, minima, nibbles] = unsafe { block.add(4).cast::<[u32; 3]>().read_unaligned() };
        let eight = |bytes: u32, low: u32| {
            let upper = low & 0x0f0f_0f0f | bytes >> 2 & 0x3030_3030;
            let eight = vcreate_s8(u64::from(bytes & 0x3f3f_3f3f) | u64::from(upper) << 32);
            vcombine_s8(eight, eight)
        };
        [eight(scales, nibbles), eight(minima, nibbles >> 4)]
    }
}
