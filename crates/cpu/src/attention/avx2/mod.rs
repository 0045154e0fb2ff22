//! Eight lanes of attention.
//!
//! Tokens of one sequence that follow each other in a call form a run; their heads are its rows. A run
//! walks the ranges of the cache, each range for all rows: scores, softmax, weighted values, fold.
//! A run of many rows first converts the keys of the range to f32 with positions as lanes, and the
//! values to f32 rows; a run of few rows (a token of one sequence) reads the pages as they are. Both
//! add in the same order.

mod direct;
mod load;
mod packed;
mod pages;
mod softmax;
mod values;

use std::arch::x86_64::*;
use std::ops::Range;

use self::pages::{Pages, Rows};
use super::scratch::{self, Scratch};
use super::{Attention, RANGE};
use crate::math::avx2::first_lanes;

/// A run of more rows converts the range first.
const ROWS_DIRECT: usize = 8;
/// Rows that share the loads of keys and values.
const TILE: usize = 3;

/// Bytes of scratch of a call with at most this many rows.
pub fn scratch_bytes(head_dim: usize, rows: usize) -> usize {
    scratch::bytes(&lengths(head_dim, rows))
}

/// Lengths of the arrays of [`Buffers`].
fn lengths(head_dim: usize, rows: usize) -> [usize; 6] {
    let stride = stride(head_dim);
    [RANGE * stride, rows * RANGE, rows * stride, rows * stride, rows, rows]
}

/// Elements of a row of weighted values: whole vectors.
fn stride(head_dim: usize) -> usize {
    head_dim.next_multiple_of(8)
}

struct Buffers<'a> {
    /// Keys, later values, of a range: (RANGE, stride), or eight rows of keys.
    range: &'a mut [f32],
    /// Scores, later their exponentials: (rows, RANGE).
    scores: &'a mut [f32],
    /// Weighted values of the range: (rows, stride).
    values: &'a mut [f32],
    /// Weighted values of all ranges so far: (rows, stride).
    total: &'a mut [f32],
    /// Largest score of all ranges so far, a row.
    max: &'a mut [f32],
    /// Sum of the exponentials of all ranges so far, a row.
    sum: &'a mut [f32],
}

/// # Safety
/// As [`super::attention`], on a CPU with AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn attention(task: &Attention, tokens: Range<usize>, kv_head: usize, scratch: &mut [u8]) {
    let mut scratch = Scratch::new(scratch);
    let [range, scores, values, total, max, sum] =
        lengths(task.head_dim, tokens.len() * task.group()).map(|n| scratch.floats(n));
    let mut buffers = Buffers { range, scores, values, total, max, sum };
    let mut start = tokens.start;
    while start < tokens.end {
        let sequence = task.sequences[start];
        let same = task.sequences[start..tokens.end].iter().take_while(|s| **s == sequence).count();
        let run = Run { task, tokens: start..start + same, kv_head };
        // SAFETY: the caller's promise.
        unsafe { run.compute(&mut buffers) };
        start += same;
    }
}

/// Tokens of one sequence and the query heads of one head of the cache.
struct Run<'a> {
    task: &'a Attention<'a>,
    tokens: Range<usize>,
    kv_head: usize,
}

impl Run<'_> {
    fn rows(&self) -> usize {
        self.tokens.len() * self.task.group()
    }

    fn token(&self, row: usize) -> usize {
        self.tokens.start + row / self.task.group()
    }

    fn head(&self, row: usize) -> usize {
        self.kv_head * self.task.group() + row % self.task.group()
    }

    /// The positions of the range at `first` that a row sees, relative to it; maybe none.
    fn seen(&self, row: usize, first: usize) -> Range<usize> {
        seen(self.task, self.token(row), first)
    }

    /// # Safety
    /// As [`attention`].
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn compute(&self, buffers: &mut Buffers) {
        let visible = || self.tokens.clone().map(|token| self.task.visible(token));
        let start = visible().map(|v| v.start).min().unwrap_or(0);
        let end = visible().map(|v| v.end).max().unwrap_or(0);
        let rows = self.rows();
        buffers.max[..rows].fill(f32::NEG_INFINITY);
        buffers.sum[..rows].fill(0.0);
        let mut begun = start / RANGE * RANGE;
        while begun < end {
            // SAFETY: the caller's promise.
            unsafe { self.range(begun, buffers) };
            begun += RANGE;
        }
        for row in 0..rows {
            // SAFETY: the token and the head exist; a row of `total` has whole vectors.
            unsafe {
                let out = self.task.result(self.token(row), self.head(row));
                let total = buffers.total[row * stride(self.task.head_dim)..].as_ptr();
                divide(total, buffers.sum[row], self.task.head_dim, out);
            }
        }
    }

    /// Adds the range that starts at `first` to all rows.
    ///
    /// # Safety
    /// As [`attention`].
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn range(&self, first: usize, buffers: &mut Buffers) {
        let dim = self.task.head_dim;
        let stride = stride(dim);
        let few = self.rows() <= ROWS_DIRECT && dim.is_multiple_of(8);
        // SAFETY: the caller's promise; the buffers have the lengths of `lengths`.
        unsafe {
            let keys = Pages::new(self, &self.task.k, first);
            if few {
                direct::scores(self, &keys, buffers);
            } else {
                packed::pack(&keys, buffers.range);
                packed::scores(self, first, buffers);
            }
            let values = Pages::new(self, &self.task.v, first);
            let rows = if few {
                Rows::Pages(&values)
            } else {
                values.unpack(stride, buffers.range);
                Rows::Floats(buffers.range)
            };
            let used = self.rows() * stride;
            buffers.values[..used].fill(0.0);
            let mut maxima = [(0.0, 0.0); TILE];
            for row in (0..self.rows()).step_by(TILE) {
                let tile = row..self.rows().min(row + TILE);
                for row in tile.clone() {
                    let scores = &mut buffers.scores[row * RANGE..][..RANGE];
                    maxima[row - tile.start] =
                        softmax::softmax(scores, self.seen(row, first), self.task.soft_cap);
                }
                values::accumulate(self, tile.clone(), first, &rows, buffers.scores, buffers.values);
                for row in tile.clone() {
                    if self.seen(row, first).is_empty() {
                        continue;
                    }
                    let values = &buffers.values[row * stride..][..stride];
                    let total = &mut buffers.total[row * stride..][..stride];
                    let all = (buffers.max[row], buffers.sum[row]);
                    let range = maxima[row - tile.start];
                    (buffers.max[row], buffers.sum[row]) = softmax::fold(all, range, values, total);
                }
            }
        }
    }
}

/// The positions of the range at `first` that a token sees, relative to it; maybe none.
fn seen(task: &Attention, token: usize, first: usize) -> Range<usize> {
    let visible = task.visible(token);
    let start = visible.start.saturating_sub(first).min(RANGE);
    let end = visible.end.saturating_sub(first).min(RANGE);
    start..end.max(start)
}

/// `out = total / sum`.
///
/// # Safety
/// `total` is valid for whole vectors that hold `dim` elements, `out` for `dim` elements.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn divide(total: *const f32, sum: f32, dim: usize, out: *mut f32) {
    let sum = _mm256_set1_ps(sum);
    for d in (0..dim).step_by(8) {
        // SAFETY: the caller's promise; lanes past the end are not written.
        unsafe {
            let x = _mm256_div_ps(_mm256_loadu_ps(total.add(d)), sum);
            _mm256_maskstore_ps(out.add(d), first_lanes((dim - d).min(8)), x);
        }
    }
}
