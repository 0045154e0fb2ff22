//! 6-bit weights: Q6_K.

use std::arch::aarch64::*;

use super::super_block::{Numbers, SuperBlock, shift};

/// 128 bytes of low nibbles, 64 of upper pairs of bits, 16 signed scales, a half-precision number.
pub(super) struct Q6K;

impl SuperBlock for Q6K {
    const BYTES: usize = 210;
    const SCALES: usize = 2;
    const MINIMA: usize = 0;
    const D: usize = 208;

    /// Of 128 numbers, the low 4 bits of the first 64 are the low nibbles of 64 bytes, those of the others the high
    /// ones; the upper 2 bits of each fourth of 32 are a pair of bits in 32 bytes.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        std::array::from_fn(|part| {
            let (half, part) = (part / 8, part % 8);
            // SAFETY: 16 bytes of the 128 and of the 64.
            let (low, high) = unsafe {
                let low = vld1q_u8(block.add(64 * half + 16 * (part % 4)));
                (low, vld1q_u8(block.add(128 + 32 * half + 16 * (part % 2))))
            };
            let low = vandq_u8(shift(low, 4 * (part / 4)), vdupq_n_u8(15));
            let high = vandq_u8(shift(high, 2 * (part / 2)), vdupq_n_u8(3));
            let number = vreinterpretq_s8_u8(vorrq_u8(low, vshlq_n_u8::<4>(high)));
            vsubq_s8(number, vdupq_n_s8(32))
        })
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2] {
        // SAFETY: they are behind the numbers.
        [unsafe { vld1q_s8(block.add(192).cast()) }, vdupq_n_s8(0)]
    }
}
