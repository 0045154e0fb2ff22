//! Types in blocks of 256: what the kernels need to know of one, and its way into a panel.

use std::arch::aarch64::*;
use std::marker::PhantomData;
use std::ops::Range;

use super::panel::{Kind, Panel, ROWS, Rows, groups, halves, put_rows};
use crate::matmul::{Activations, Output, Weights};

/// The 256 numbers of a row, 16 a vector.
pub(super) type Numbers = [int8x16_t; 16];

/// A type of weights in blocks of 256.
pub(super) trait SuperBlock {
    /// Bytes of a block.
    const BYTES: usize;
    /// Scales of 32 numbers: one, or one for each half.
    const SCALES: usize;
    /// Minima of 32 numbers: none, one, or one for each half.
    const MINIMA: usize;
    /// Where the scale of the block is, in half precision. That of the minima is behind it.
    const D: usize;

    /// The numbers of a block as they are, offsets taken off.
    ///
    /// # Safety
    /// The CPU has NEON, and the pointer points to a whole block.
    unsafe fn numbers(block: *const u8) -> Numbers;

    /// The scales of 16 or 32 numbers each, then the minima: 16, or eight and anything behind them.
    ///
    /// # Safety
    /// As [`SuperBlock::numbers`].
    unsafe fn scales(block: *const u8) -> [int8x16_t; 2];
}

/// The kind of panel of a type.
pub(super) struct Of256<T>(PhantomData<T>);

impl<T: SuperBlock> Kind for Of256<T> {
    const SUPER: bool = true;
    const SCALES: usize = T::SCALES;
    const MINIMA: usize = T::MINIMA;
    const STORED: usize = T::BYTES;
    const FEW_TOKENS: usize = 0;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn unpack(rows: &Rows, _: usize, panel: &mut Panel) {
        // SAFETY: the caller's.
        unsafe {
            for four in 0..2 {
                let rows: [*const u8; 4] = std::array::from_fn(|r| rows[4 * four + r]);
                let numbers = rows.map(|row| T::numbers(row));
                for part in 0..16 {
                    for (g, group) in groups(numbers.map(|n| n[part])).into_iter().enumerate() {
                        let to = &mut panel.numbers[part / 2][4 * (part % 2) + g][four];
                        vst1q_s8(to.as_mut_ptr(), group);
                    }
                }
                let scales = rows.map(|row| T::scales(row));
                put(scales.map(|s| s[0]), T::SCALES, four, &mut panel.scales);
                put(scales.map(|s| s[1]), T::MINIMA, four, &mut panel.minima);
            }
            put_rows(&mut panel.d[0], halves(rows, T::D));
            if T::MINIMA > 0 {
                put_rows(&mut panel.d[1], halves(rows, T::D + 2));
            }
        }
    }

    /// A super-block is unpacked once, whatever is done with it.
    unsafe fn few(_: &Weights, _: Range<usize>, _: &Activations, _: &Output) -> bool {
        false
    }
}

/// Scales or minima of four rows as floats: `each` of a block of 32.
#[inline]
#[target_feature(enable = "neon")]
fn put(rows: [int8x16_t; 4], each: usize, four: usize, to: &mut [[[f32; ROWS]; 2]; 8]) {
    let pairs = [
        [vzip1q_s8(rows[0], rows[1]), vzip1q_s8(rows[2], rows[3])],
        [vzip2q_s8(rows[0], rows[1]), vzip2q_s8(rows[2], rows[3])],
    ];
    // Of eight numbers of each row, four vectors of two numbers a row.
    for (eight, [ab, cd]) in pairs.into_iter().take(each).enumerate() {
        let (ab, cd) = (vreinterpretq_s16_s8(ab), vreinterpretq_s16_s8(cd));
        let fours = [vreinterpretq_s8_s16(vzip1q_s16(ab, cd)), vreinterpretq_s8_s16(vzip2q_s16(ab, cd))];
        let twos = fours.map(|v| [vmovl_s8(vget_low_s8(v)), vmovl_high_s8(v)]);
        for (i, two) in twos.into_iter().flatten().enumerate() {
            for (j, one) in [vmovl_s16(vget_low_s16(two)), vmovl_high_s16(two)].into_iter().enumerate() {
                let index = 8 * eight + 2 * i + j;
                let to = &mut to[index / each][index % each][4 * four..];
                // SAFETY: four of eight rows.
                unsafe { vst1q_f32(to[..4].as_mut_ptr(), vcvtq_f32_s32(one)) };
            }
        }
    }
}

/// Shifts all bytes to the right.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn shift(bytes: uint8x16_t, by: usize) -> uint8x16_t {
    vshlq_u8(bytes, vdupq_n_s8(-(by as i8)))
}
