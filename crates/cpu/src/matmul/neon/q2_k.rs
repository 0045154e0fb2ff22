//! Pairs of bits: Q2_K, and Q3_K with third bits on top.

use std::arch::aarch64::*;

use super::super_block::{Numbers, SuperBlock, shift};

/// 16 nibbles of scales under 16 of minima, 64 bytes of pairs of bits, two half-precision numbers.
pub(super) struct Q2K;

/// 32 bytes of third bits, 64 of pairs of bits, 12 of scales, a half-precision number.
pub(super) struct Q3K;

impl SuperBlock for Q2K {
    const BYTES: usize = 84;
    const SCALES: usize = 2;
    const MINIMA: usize = 2;
    const D: usize = 80;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        // SAFETY: the pairs are behind the scales.
        let twos = unsafe { twos(block.add(16)) };
        twos.map(|n| vreinterpretq_s8_u8(n))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2] {
        // SAFETY: the block begins with them.
        super::q4::nibbles(unsafe { vld1q_u8(block) })
    }
}

impl SuperBlock for Q3K {
    const BYTES: usize = 110;
    const SCALES: usize = 2;
    const MINIMA: usize = 0;
    const D: usize = 108;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        // SAFETY: the block has these bytes.
        let (twos, bits) = unsafe { (twos(block.add(32)), [vld1q_u8(block), vld1q_u8(block.add(16))]) };
        std::array::from_fn(|part| {
            // With the third bit the pair is the number, without it 4 more.
            let clear = vbicq_u8(vdupq_n_u8(4), vshlq_n_u8::<2>(shift(bits[part % 2], part / 2)));
            vsubq_s8(vreinterpretq_s8_u8(twos[part]), vreinterpretq_s8_u8(clear))
        })
    }

    /// 16 low nibbles in 8 bytes; the pairs of bits of 4 bytes are the upper two of four scales each.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2] {
        // SAFETY: the 12 bytes of scales.
        let (low, high) = unsafe {
            let at = block.add(96);
            (at.cast::<u64>().read_unaligned(), at.add(8).cast::<u32>().read_unaligned())
        };
        let eight = |low: u64, high: u32| {
            let [first, second] = [high, high >> 2].map(|pairs| u64::from(pairs & 0x0303_0303));
            vcreate_s8(low & 0x0f0f_0f0f_0f0f_0f0f | (first | second << 32) << 4)
        };
        let scales = vcombine_s8(eight(low, high), eight(low >> 4, high >> 4));
        [vsubq_s8(scales, vdupq_n_s8(32)), vdupq_n_s8(0)]
    }
}

/// 256 pairs of bits: of 128, each fourth of 32 is a pair in each of 32 bytes.
///
/// # Safety
/// The CPU has NEON, and 64 bytes are readable.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn twos(at: *const u8) -> [uint8x16_t; 16] {
    std::array::from_fn(|part| {
        // SAFETY: 16 bytes of 64.
        let bytes = unsafe { vld1q_u8(at.add(32 * (part / 8) + 16 * (part % 2))) };
        vandq_u8(shift(bytes, 2 * (part % 8 / 2)), vdupq_n_u8(3))
    })
}
