//! Float weights: 16 partial sums a product in four registers, tiles of rows and tokens.

use std::arch::aarch64::*;
use std::ops::Range;

use crate::kv::neon::{F32, Float};
use crate::math;
use crate::math::neon::{parts, tree};
use crate::matmul::{Activations, Output, Weights};

/// Partial sums of a product.
const PARTS: usize = 16;

/// Bytes of rows that are used again and again while they lie in the second-level cache.
const ROWS_BYTES: usize = 256 << 10;

/// # Safety
/// As [`super::matmul`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn matmul<F: Float>(w: &Weights, rows: Range<usize>, x: &Activations, y: &Output) {
    let row_bytes = F::BYTES * w.cols;
    let step = (ROWS_BYTES / row_bytes.max(1)).max(2) & !1;
    for first in rows.clone().step_by(step) {
        let block = first..rows.end.min(first + step);
        let mut token = 0;
        while token < x.tokens {
            let mut row = block.start;
            let count = (x.tokens - token).min(3);
            while row < block.end {
                // SAFETY: rows and tokens lie in their slices and in the output.
                unsafe {
                    let from = w.data.as_ptr().add(row * row_bytes);
                    let ptr = y.ptr.add(token * y.stride + row - rows.start);
                    let to = Output { ptr, stride: y.stride };
                    row += match (count, block.end - row) {
                        (1, 1) => tile::<F, 1, 1>(from, w.cols, x, token, &to),
                        (1, _) => tile::<F, 2, 1>(from, w.cols, x, token, &to),
                        (2, 1) => tile::<F, 1, 2>(from, w.cols, x, token, &to),
                        (2, _) => tile::<F, 2, 2>(from, w.cols, x, token, &to),
                        (_, 1) => tile::<F, 1, 3>(from, w.cols, x, token, &to),
                        _ => tile::<F, 2, 3>(from, w.cols, x, token, &to),
                    };
                }
            }
            token += count;
        }
    }
}

/// `R` rows from `w` on times `N` tokens from `first` on. Returns `R`.
///
/// # Safety
/// The CPU has NEON; rows, tokens and output are there.
#[target_feature(enable = "neon")]
unsafe fn tile<F: Float, const R: usize, const N: usize>(
    w: *const u8,
    cols: usize,
    x: &Activations,
    first: usize,
    y: &Output,
) -> usize {
    let bytes = F::BYTES;
    let whole = cols / PARTS * PARTS;
    let mut sums = [[[vdupq_n_f32(0.0); 4]; N]; R];
    // SAFETY: elements below `cols` are there.
    unsafe {
        let w: [*const u8; R] = std::array::from_fn(|r| w.add(r * bytes * cols));
        let x: [*const u8; N] = std::array::from_fn(|t| x.data.as_ptr().add((first + t) * x.stride));
        for k in (0..whole).step_by(PARTS) {
            for part in 0..4 {
                let at = k + 4 * part;
                let weights: [float32x4_t; R] = std::array::from_fn(|r| F::four(w[r].add(bytes * at)));
                for t in 0..N {
                    let x = F32::four(x[t].add(4 * at));
                    for r in 0..R {
                        sums[r][t][part] = vfmaq_f32(sums[r][t][part], weights[r], x);
                    }
                }
            }
        }
        for r in 0..R {
            for t in 0..N {
                let mut product = tree(sums[r][t]);
                if whole < cols {
                    let mut parts = parts(sums[r][t]);
                    for k in whole..cols {
                        let (w, x) = (F::one(w[r].add(bytes * k)), F32::one(x[t].add(4 * k)));
                        parts[k - whole] = math::fma(w, x, parts[k - whole]);
                    }
                    product = math::tree(parts);
                }
                y.ptr.add(t * y.stride + r).write(product);
            }
        }
    }
    R
}
