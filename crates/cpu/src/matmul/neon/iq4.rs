//! Nibbles that are indices of fixed numbers: IQ4_NL and IQ4_XS.

use std::arch::aarch64::*;

use super::block32::Block32;
use super::super_block::{Numbers, SuperBlock};
use crate::matmul::block32::IQ4;

/// A scale, 32 nibbles.
pub(super) struct Iq4Nl;

/// A half-precision number, 2 bytes of upper and 4 of lower bits of scales, 128 of nibbles.
pub(super) struct Iq4Xs;

impl Block32 for Iq4Nl {
    const BYTES: usize = 18;
    const MINIMA: bool = false;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> super::panel::Numbers {
        // SAFETY: the nibbles are behind the scale.
        unsafe { numbers(block.add(2)) }
    }
}

impl SuperBlock for Iq4Xs {
    const BYTES: usize = 136;
    const SCALES: usize = 1;
    const MINIMA: usize = 0;
    const D: usize = 0;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn numbers(block: *const u8) -> Numbers {
        let mut all = [vdupq_n_s8(0); 16];
        for (eighth, to) in all.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            // SAFETY: the nibbles are the last 128 bytes.
            *to = unsafe { numbers(block.add(8 + 16 * eighth)) };
        }
        all
    }

    /// A scale is a nibble of four bytes under a pair of bits of two, less 32.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2] {
        // SAFETY: they are behind the half-precision number.
        let bytes = vcreate_u8(unsafe { block.cast::<u64>().read_unaligned() });
        // A byte for each scale, its bits lowest.
        let low = vtbl1_u8(bytes, vcreate_u8(0x0707_0606_0505_0404));
        let low = vshl_u8(low, vcreate_s8(0xfc00_fc00_fc00_fc00));
        let high = vtbl1_u8(bytes, vcreate_u8(0x0303_0303_0202_0202));
        let high = vshl_u8(high, vcreate_s8(0xfafc_fe00_fafc_fe00));
        let high = vshl_n_u8::<4>(vand_u8(high, vdup_n_u8(3)));
        let scale = vorr_u8(vand_u8(low, vdup_n_u8(15)), high);
        let scale = vsub_s8(vreinterpret_s8_u8(scale), vdup_n_s8(32));
        [vcombine_s8(scale, scale), vdupq_n_s8(0)]
    }
}

/// The numbers of 32 nibbles: low ones, then high ones.
///
/// # Safety
/// The CPU has NEON, and 16 bytes are readable.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn numbers(at: *const u8) -> super::panel::Numbers {
    // SAFETY: the caller's; the table has 16 bytes.
    let (bytes, table) = unsafe { (vld1q_u8(at), vld1q_s8(IQ4.as_ptr())) };
    super::q4::nibbles(bytes).map(|index| vqtbl1q_s8(table, vreinterpretq_u8_s8(index)))
}
