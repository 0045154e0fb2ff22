//! Weighted values, position after position.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::part::stride;
use super::super::{PAGE, RANGE};
use super::load::{self, by_dtype, many};
use super::pages::{AHEAD, Rows};
use super::{Run, TILE};
use crate::math::avx2::first_lanes;

/// Vectors of weighted values that a tile holds in registers for each row: a block of Q8_0 or Q4_0.
const VECTORS: usize = 4;

/// Adds to `values` of the rows `tile` the values of the positions that each sees, times `weights`.
///
/// Positions that all rows of the tile see are loaded once for all; each row's own positions before
/// and after them come before and after, so that the order is that of positions.
///
/// # Safety
/// `rows` holds the values of the range at `first`; `weights` is (rows, RANGE), `values` (rows,
/// stride). If the rows are in pages, head_dim is a multiple of 8. The CPU has AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn accumulate(
    run: &Run,
    tile: Range<usize>,
    first: usize,
    rows: &Rows,
    weights: &[f32],
    values: &mut [f32],
) {
    let dim = run.task.head_dim;
    let seen: [Range<usize>; TILE] = std::array::from_fn(|i| match tile.start + i {
        row if row < tile.end => run.seen(row, first),
        _ => 0..RANGE,
    });
    let start = seen.iter().map(|s| s.start).max().unwrap_or(0);
    let end = seen.iter().map(|s| s.end).min().unwrap_or(0).max(start);
    let mut part = |tile: Range<usize>, positions: Range<usize>| {
        let weights = weights[tile.start * RANGE..tile.end * RANGE].as_ptr();
        let values = values[tile.start * stride(dim)..tile.end * stride(dim)].as_mut_ptr();
        // SAFETY: all rows of `tile` see the positions; the lengths were just checked.
        unsafe {
            match tile.len() {
                1 => rows_part::<1>(rows, dim, positions, weights, values),
                2 => rows_part::<2>(rows, dim, positions, weights, values),
                _ => rows_part::<TILE>(rows, dim, positions, weights, values),
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

/// The same positions for `R` rows.
///
/// # Safety
/// As [`accumulate`]; `weights` and `values` begin at the first of the rows.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn rows_part<const R: usize>(
    rows: &Rows,
    dim: usize,
    positions: Range<usize>,
    weights: *const f32,
    values: *mut f32,
) {
    // SAFETY: the positions are seen, so they are in the rows.
    unsafe {
        match rows {
            Rows::Floats(floats) => {
                if positions.is_empty() {
                    return;
                }
                let floats = floats[positions.start * stride(dim)..].as_ptr();
                let part = Part::<R> {
                    rows: floats.cast(),
                    row_bytes: stride(dim) * size_of::<f32>(),
                    count: positions.len(),
                    weights: weights.add(positions.start),
                    values,
                    dim,
                };
                part.add::<{ load::F32 }>();
            }
            Rows::Pages(pages) => {
                let mut position = positions.start;
                while position < positions.end {
                    let page = position / PAGE * PAGE;
                    let next = (page + PAGE).min(positions.end);
                    if page + AHEAD < RANGE {
                        pages.ask(page + AHEAD..page + AHEAD + PAGE);
                    }
                    let part = Part::<R> {
                        rows: pages.row(position),
                        row_bytes: pages.row_bytes,
                        count: next - position,
                        weights: weights.add(position),
                        values,
                        dim,
                    };
                    by_dtype!(pages.dtype, part.add());
                    position = next;
                }
            }
        }
    }
}

/// Rows of the cache one after the other, and the rows of a tile that add them.
struct Part<const R: usize> {
    rows: *const u8,
    row_bytes: usize,
    count: usize,
    /// (R, RANGE), from the first position of the part.
    weights: *const f32,
    /// (R, stride).
    values: *mut f32,
    dim: usize,
}

impl<const R: usize> Part<R> {
    /// # Safety
    /// The pointers are valid as their comments say; the rows are of type `TYPE`. If that is not
    /// F32, `dim` is a multiple of 8. The CPU has AVX2, FMA and F16C.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn add<const TYPE: u8>(&self) {
        let whole = self.dim / 8 * 8;
        let mut d = 0;
        // SAFETY: the columns lie in the rows.
        unsafe {
            while d + 8 * VECTORS <= whole {
                self.columns::<TYPE, VECTORS>(d);
                d += 8 * VECTORS;
            }
            if d + 16 <= whole {
                self.columns::<TYPE, 2>(d);
                d += 16;
            }
            if d < whole {
                self.columns::<TYPE, 1>(d);
                d += 8;
            }
            if d < self.dim {
                self.tail(d);
            }
        }
    }

    /// Columns `d` to `d + 8 V - 1`.
    ///
    /// # Safety
    /// As [`Part::add`]; the rows have these columns.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn columns<const TYPE: u8, const V: usize>(&self, d: usize) {
        let stride = stride(self.dim);
        let mut sums = [[_mm256_setzero_ps(); V]; R];
        // SAFETY: the caller's promise.
        unsafe {
            for r in 0..R {
                for v in 0..V {
                    sums[r][v] = _mm256_loadu_ps(self.values.add(r * stride + d + 8 * v));
                }
            }
            let mut row = self.rows;
            for i in 0..self.count {
                let weights: [__m256; R] =
                    std::array::from_fn(|r| _mm256_set1_ps(*self.weights.add(r * RANGE + i)));
                let columns = many::<TYPE, V>(row, d);
                for v in 0..V {
                    for r in 0..R {
                        sums[r][v] = _mm256_fmadd_ps(weights[r], columns[v], sums[r][v]);
                    }
                }
                row = row.add(self.row_bytes);
            }
            for r in 0..R {
                for v in 0..V {
                    _mm256_storeu_ps(self.values.add(r * stride + d + 8 * v), sums[r][v]);
                }
            }
        }
    }

    /// The last columns, fewer than 8, of rows of F32.
    ///
    /// # Safety
    /// As [`Part::add`].
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn tail(&self, d: usize) {
        let lanes = first_lanes(self.dim - d);
        for r in 0..R {
            // SAFETY: a row of `values` has whole vectors; masked lanes of a row are not read.
            unsafe {
                let at = self.values.add(r * stride(self.dim) + d);
                let mut sum = _mm256_loadu_ps(at);
                let mut row = self.rows;
                for i in 0..self.count {
                    let value = _mm256_maskload_ps(row.cast::<f32>().add(d), lanes);
                    let weight = _mm256_set1_ps(*self.weights.add(r * RANGE + i));
                    sum = _mm256_fmadd_ps(weight, value, sum);
                    row = row.add(self.row_bytes);
                }
                _mm256_storeu_ps(at, sum);
            }
        }
    }
}
