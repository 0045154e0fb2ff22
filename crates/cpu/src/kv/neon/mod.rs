//! Rows of the cache, four or more elements at a time. Rows of Q4_0 are stored by the scalar code: that is done once for
//! each token, while they are loaded for all that follow.

mod float;
mod halves;
mod q4_0;
mod q8_0;

pub use float::{BF16, F16, F32, Float};
use halves::{four_bf16, four_f16};
pub use halves::{load_bf16, load_f16, store_bf16, store_f16};
pub use q4_0::load_q4_0;
pub use q8_0::{load_q8_0, store_q8_0};

use std::arch::aarch64::*;

use half::f16;

/// The scale of a block.
///
/// # Safety
/// The block is readable.
#[inline]
unsafe fn scale_of(block: *const u8) -> f32 {
    // SAFETY: a block begins with its scale.
    f16::from_bits(unsafe { block.cast::<u16>().read_unaligned() }).to_f32()
}

/// Writes 16 numbers times their scale.
///
/// # Safety
/// 16 elements are writable; the CPU has NEON.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn put_floats(q: int8x16_t, scale: f32, dst: *mut f32) {
    let words = [vmovl_s8(vget_low_s8(q)), vmovl_high_s8(q)];
    for (i, words) in words.into_iter().enumerate() {
        let numbers = [vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words)];
        for (j, numbers) in numbers.into_iter().enumerate() {
            let floats = vmulq_n_f32(vcvtq_f32_s32(numbers), scale);
            // SAFETY: four times four of the 16 elements.
            unsafe { vst1q_f32(dst.add(8 * i + 4 * j), floats) };
        }
    }
}
