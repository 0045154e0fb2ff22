//! 4-bit weights: Q4_0 and Q4_1.

use std::arch::aarch64::*;

use super::block32::Block32;
use super::panel::Numbers;

/// A scale, with `MINIMA` a minimum, 32 nibbles.
pub(super) struct Q4<const MINIMA: bool>;

/// Nibbles are 8 too large.
pub(super) type Q4_0 = Q4<false>;
pub(super) type Q4_1 = Q4<true>;

impl<const MINIMA: bool> Block32 for Q4<MINIMA> {
    const BYTES: usize = if MINIMA { 20 } else { 18 };
    const MINIMA: bool = MINIMA;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        // SAFETY: the nibbles are the last 16 bytes.
        let numbers = nibbles(unsafe { vld1q_u8(block.add(Self::BYTES - 16)) });
        if MINIMA { numbers } else { numbers.map(|n| vsubq_s8(n, vdupq_n_s8(8))) }
    }
}

/// The low nibbles of 16 bytes, then the high ones.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn nibbles(bytes: uint8x16_t) -> Numbers {
    [vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), vreinterpretq_s8_u8(vshrq_n_u8::<4>(bytes))]
}
