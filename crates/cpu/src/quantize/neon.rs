//! NEON form of the quantizer: the same operations, four lanes at a time.

use std::arch::aarch64::*;

use super::{A32RowMut, BLOCK, scale};

/// # Safety
/// The CPU has NEON; otherwise as [`super::quantize_blocks`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn quantize(x: &[f32], row: A32RowMut, first_block: usize) {
    for (index, x) in x.as_chunks::<BLOCK>().0.iter().enumerate() {
        let x = load(x);
        let (d, inverse) = scale(amax_bits(&x));
        let (q, sum) = if inverse == 0.0 { ([0; BLOCK], [0; 2]) } else { round(&x, inverse) };
        let s = d * (f32::from(sum[0]) + f32::from(sum[1]));
        // SAFETY: the caller grants the block.
        unsafe { row.write_block(first_block + index, &q, d, s, sum) };
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(x: &[f32; BLOCK]) -> [float32x4_t; 8] {
    // SAFETY: eight times four of the 32 elements.
    std::array::from_fn(|i| unsafe { vld1q_f32(x.as_ptr().add(4 * i)) })
}

/// Without their sign bits the numbers compare as integers do.
#[inline]
#[target_feature(enable = "neon")]
fn amax_bits(x: &[float32x4_t; 8]) -> u32 {
    let bits = x.map(|x| vreinterpretq_u32_f32(vabsq_f32(x)));
    let two = |a: usize| vmaxq_u32(bits[a], bits[a + 1]);
    vmaxvq_u32(vmaxq_u32(vmaxq_u32(two(0), two(2)), vmaxq_u32(two(4), two(6))))
}

/// The quantized block and the sums of its halves.
#[inline]
#[target_feature(enable = "neon")]
fn round(x: &[float32x4_t; 8], inverse: f32) -> ([i8; BLOCK], [i16; 2]) {
    let limit = vdupq_n_s32(127);
    let whole = x.map(|x| {
        let whole = vcvtnq_s32_f32(vmulq_n_f32(x, inverse));
        vmaxq_s32(vminq_s32(whole, limit), vnegq_s32(limit))
    });
    let mut q = [0; BLOCK];
    let mut sum = [0; 2];
    for half in 0..2 {
        let words: [int16x8_t; 2] = std::array::from_fn(|i| {
            let at = 4 * half + 2 * i;
            vcombine_s16(vmovn_s32(whole[at]), vmovn_s32(whole[at + 1]))
        });
        // At most 16 times 127.
        sum[half] = vaddvq_s16(vaddq_s16(words[0], words[1]));
        let bytes = vcombine_s8(vmovn_s16(words[0]), vmovn_s16(words[1]));
        // SAFETY: 16 bytes of 32.
        unsafe { vst1q_s8(q.as_mut_ptr().add(16 * half), bytes) };
    }
    (q, sum)
}
