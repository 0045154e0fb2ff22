//! Rows of Q8_0.

use std::arch::aarch64::*;

use super::super::types::{BLOCK, Q8_0_BYTES, q8_0_scale};
use super::{put_floats, scale_of};

/// # Safety
/// `src` is valid for reads of `blocks * BLOCK` elements, `dst` for writes of
/// `blocks * Q8_0_BYTES` bytes; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn store_q8_0(src: *const f32, blocks: usize, dst: *mut u8) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let src = src.add(block * BLOCK);
            let dst = dst.add(block * Q8_0_BYTES);
            let x: [float32x4_t; 8] = std::array::from_fn(|i| vld1q_f32(src.add(4 * i)));
            // As integers, magnitudes have the same order, and NaN is above all of them.
            let magnitudes = x.map(|x| vreinterpretq_u32_f32(vabsq_f32(x)));
            let amax = magnitudes.into_iter().fold(vdupq_n_u32(0), |a, b| vmaxq_u32(a, b));
            let (scale, inverse) = q8_0_scale(f32::from_bits(vmaxvq_u32(amax)));
            dst.cast::<[u8; 2]>().write(scale.to_le_bytes());
            let dst = dst.add(2).cast::<i8>();
            if inverse == 0.0 {
                dst.write_bytes(0, BLOCK);
                continue;
            }
            let limit = vdupq_n_f32(127.0);
            let q = x.map(|x| {
                // Moved into the limits before rounding gives the same as after it, as these are integers.
                let x = vminq_f32(vmulq_n_f32(x, inverse), limit);
                vmovn_s32(vcvtnq_s32_f32(vmaxq_f32(x, vnegq_f32(limit))))
            });
            for (i, q) in q.as_chunks::<2>().0.iter().enumerate() {
                vst1_s8(dst.add(8 * i), vmovn_s16(vcombine_s16(q[0], q[1])));
            }
        }
    }
}

/// # Safety
/// `src` is valid for reads of `blocks * Q8_0_BYTES` bytes, `dst` for writes of `blocks * BLOCK`
/// elements; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn load_q8_0(src: *const u8, blocks: usize, dst: *mut f32) {
    for block in 0..blocks {
        // SAFETY: the block lies in both.
        unsafe {
            let (src, dst) = (src.add(block * Q8_0_BYTES), dst.add(block * BLOCK));
            let scale = scale_of(src);
            for half in 0..2 {
                let q = vld1q_s8(src.add(2 + 16 * half).cast());
                put_floats(q, scale, dst.add(16 * half));
            }
        }
    }
}
