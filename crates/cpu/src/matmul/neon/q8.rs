//! 8-bit weights: Q8_0.

use std::arch::aarch64::*;

use super::block32::Block32;
use super::panel::Numbers;

/// A scale, 32 signed bytes.
pub(super) struct Q8_0;

impl Block32 for Q8_0 {
    const BYTES: usize = 34;
    const MINIMA: bool = false;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        // SAFETY: the bytes are behind the scale.
        unsafe { [vld1q_s8(block.add(2).cast()), vld1q_s8(block.add(18).cast())] }
    }
}
