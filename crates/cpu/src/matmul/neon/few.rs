//! Blocks of 32 times one token or a few: eight rows stream together, each weight is read once, straight from the file.

use std::arch::aarch64::*;
use std::ops::Range;

use super::block32::{Block32, numbers, scales};
use super::panel::{Numbers, ROWS, Rows};
use super::store_lanes;
use crate::matmul::{Activations, Output, Weights};
use crate::quantize::A32Offsets;
use crate::sdot::sdot;

/// The most tokens.
pub(super) const TOKENS: usize = 4;

/// Returns whether it did: not if there are more than [`TOKENS`].
///
/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn matmul<T: Block32>(
    w: &Weights,
    rows: Range<usize>,
    x: &Activations,
    y: &Output,
) -> bool {
    // SAFETY: the same conditions.
    unsafe {
        match x.tokens {
            1 => tokens::<T, 1>(w, rows, x, y),
            2 => tokens::<T, 2>(w, rows, x, y),
            3 => tokens::<T, 3>(w, rows, x, y),
            TOKENS => tokens::<T, TOKENS>(w, rows, x, y),
            _ => return false,
        }
    }
    true
}

/// # Safety
/// As [`matmul`], of `N` tokens.
#[target_feature(enable = "neon,dotprod")]
unsafe fn tokens<T: Block32, const N: usize>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    let blocks = w.cols / 32;
    let row_bytes = blocks * T::BYTES;
    let at = A32Offsets::of(w.cols);
    // SAFETY: rows and tokens lie in their slices. Of the last rows the pointers repeat the last, so
    // that eight can be read; their lanes are not stored.
    unsafe {
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add(t * x.stride));
        for row in rows.clone().step_by(ROWS) {
            let start: Rows =
                std::array::from_fn(|r| w.data.as_ptr().add((row + r).min(rows.end - 1) * row_bytes));
            let mut acc = [[vdupq_n_f32(0.0); 2]; N];
            let mut min = acc;
            for block in 0..blocks {
                let here: Rows = start.map(|row| row.add(block * T::BYTES));
                let [scale, minimum] = scales::<T>(&here);
                for four in 0..2 {
                    let numbers = numbers::<T>(&here, 4 * four);
                    for t in 0..N {
                        let q = x[t].add(32 * block).cast::<i8>();
                        let integers = dot(&numbers, [vld1q_s8(q), vld1q_s8(q.add(16))]);
                        let float = |array: usize| x[t].add(array + 4 * block).cast::<f32>().read_unaligned();
                        let scale = vmulq_n_f32(scale[four], float(at.d));
                        acc[t][four] = vfmaq_f32(acc[t][four], vcvtq_f32_s32(integers), scale);
                        if T::MINIMA {
                            min[t][four] = vfmaq_n_f32(min[t][four], minimum[four], float(at.s));
                        }
                    }
                }
            }
            for t in 0..N {
                if T::MINIMA {
                    acc[t] = [vaddq_f32(acc[t][0], min[t][0]), vaddq_f32(acc[t][1], min[t][1])];
                }
                let to = y.ptr.add(t * y.stride + row - rows.start);
                store_lanes(to, acc[t], rows.end - row);
            }
        }
    }
}

/// The products of four rows with a block of activations, a row a lane.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot(rows: &[Numbers; 4], x: [int8x16_t; 2]) -> int32x4_t {
    let zero = vdupq_n_s32(0);
    let row = |r: usize| sdot(sdot(zero, rows[r][0], x[0]), rows[r][1], x[1]);
    vpaddq_s32(vpaddq_s32(row(0), row(1)), vpaddq_s32(row(2), row(3)))
}
