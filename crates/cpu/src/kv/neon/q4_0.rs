//! Rows of Q4_0.

use std::arch::aarch64::*;

use super::super::types::{BLOCK, Q4_0_BYTES};
use super::{put_floats, scale_of};

/// # Safety
/// `src` is valid for reads of `blocks * Q4_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn load_q4_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let (src, dst) = (src.add(block * Q4_0_BYTES), dst.add(block * BLOCK));
            let scale = scale_of(src);
            let bytes = vld1q_u8(src.add(2));
            let nibbles = [vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8::<4>(bytes)];
            for (half, nibbles) in nibbles.into_iter().enumerate() {
                let q = vsubq_s8(vreinterpretq_s8_u8(nibbles), vdupq_n_s8(8));
                put_floats(q, scale, dst.add(16 * half));
            }
        }
    }
}
