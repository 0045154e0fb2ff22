//! Weighted values, position after position.

use std::arch::aarch64::*;
use std::ops::Range;

use graph::DType;

use super::super::RANGE;
use super::super::part::stride;
use super::pages::Rows;
use super::{Run, TILE};
use crate::kv::neon::{BF16, F16, F32, Float};

/// Vectors of weighted values that a tile holds in registers for each row.
const VECTORS: usize = 4;

/// Adds to `values`, (rows, stride), the values of the positions of a page that each row sees, times `weights`, (rows, RANGE).
///
/// Positions that all rows of a tile see are loaded once for all; each row's own positions before and after them come
/// before and after, so that the order is that of positions.
///
/// # Safety
/// `page` holds the values of a page of the range at `first`; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn accumulate(run: &Run, first: usize, page: &Rows, weights: &[f32], values: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match page.dtype {
            DType::F32 => all::<F32>(run, first, page, weights, values),
            DType::F16 => all::<F16>(run, first, page, weights, values),
            DType::BF16 => all::<BF16>(run, first, page, weights, values),
            other => unreachable!("{other} is converted"),
        }
    }
}

/// # Safety
/// As [`accumulate`].
#[target_feature(enable = "neon")]
unsafe fn all<F: Float>(run: &Run, first: usize, page: &Rows, weights: &[f32], values: &mut [f32]) {
    let dim = run.task.head_dim;
    for tile in run.tiles() {
        let seen: [Range<usize>; TILE] = std::array::from_fn(|i| match tile.start + i {
            row if row < tile.end => {
                let seen = run.seen(row, first);
                let start = seen.start.clamp(page.span.start, page.span.end);
                start..seen.end.clamp(start, page.span.end)
            }
            _ => page.span.clone(),
        });
        let start = seen.iter().map(|s| s.start).max().unwrap_or(0);
        let end = seen.iter().map(|s| s.end).min().unwrap_or(0).max(start);
        let mut part = |rows: Range<usize>, positions: Range<usize>| {
            if positions.is_empty() {
                return;
            }
            let weights = &weights[rows.start * RANGE..rows.end * RANGE];
            let values = &mut values[rows.start * stride(dim)..rows.end * stride(dim)];
            // SAFETY: all rows of `rows` see the positions, which are of the page.
            unsafe {
                match rows.len() {
                    1 => add::<F, 1>(page, dim, positions, weights, values),
                    2 => add::<F, 2>(page, dim, positions, weights, values),
                    3 => add::<F, 3>(page, dim, positions, weights, values),
                    _ => add::<F, TILE>(page, dim, positions, weights, values),
                }
            }
        };
        for (row, seen) in tile.clone().zip(&seen) {
            part(row..row + 1, seen.start..seen.end.min(start));
        }
        part(tile.clone(), start..end);
        for (row, seen) in tile.zip(&seen) {
            part(row..row + 1, seen.start.max(end)..seen.end);
        }
    }
}

/// The same positions for `R` rows.
///
/// # Safety
/// The positions lie in the page's span, the slices are of `R` rows, and the CPU has NEON.
#[target_feature(enable = "neon")]
unsafe fn add<F: Float, const R: usize>(
    page: &Rows,
    dim: usize,
    positions: Range<usize>,
    weights: &[f32],
    values: &mut [f32],
) {
    let wide = dim / (4 * VECTORS) * (4 * VECTORS);
    // SAFETY: the columns lie in the rows.
    unsafe {
        for d in (0..wide).step_by(4 * VECTORS) {
            columns::<F, R, VECTORS>(page, dim, d, positions.clone(), weights, values);
        }
        for d in (wide..dim).step_by(4) {
            columns::<F, R, 1>(page, dim, d, positions.clone(), weights, values);
        }
    }
}

/// Columns `d` to `d + 4 V - 1`.
///
/// # Safety
/// As [`add`]; the rows have these columns.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn columns<F: Float, const R: usize, const V: usize>(
    page: &Rows,
    dim: usize,
    d: usize,
    positions: Range<usize>,
    weights: &[f32],
    values: &mut [f32],
) {
    let weights: [&[f32]; R] = std::array::from_fn(|r| &weights[r * RANGE..][positions.clone()]);
    let mut sums = [[vdupq_n_f32(0.0); V]; R];
    // SAFETY: the caller's promise; the indices are below the slices' lengths, which are those of the positions.
    unsafe {
        let at = |r: usize, v: usize| r * stride(dim) + d + 4 * v;
        for r in 0..R {
            for v in 0..V {
                sums[r][v] = vld1q_f32(values[at(r, v)..][..4].as_ptr());
            }
        }
        let mut row = page.row(positions.start).add(F::BYTES * d);
        for i in 0..positions.len() {
            for v in 0..V {
                let value = F::four(row.add(F::BYTES * 4 * v));
                for r in 0..R {
                    sums[r][v] = vfmaq_n_f32(sums[r][v], value, *weights[r].get_unchecked(i));
                }
            }
            row = row.wrapping_add(page.row_bytes());
        }
        for r in 0..R {
            for v in 0..V {
                vst1q_f32(values[at(r, v)..][..4].as_mut_ptr(), sums[r][v]);
            }
        }
    }
}
