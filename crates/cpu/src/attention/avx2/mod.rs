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
use super::part::{self, Part, stride};
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

/// Lengths of the arrays of a call: those of [`Buffers`], whatever the rows, and two parts.
fn lengths(head_dim: usize, rows: usize) -> [usize; 4] {
    let part = part::len(head_dim, rows);
    [RANGE * stride(head_dim), rows * RANGE, part, part]
}

/// Bytes of scratch of [`range`].
pub fn range_scratch_bytes(head_dim: usize, rows: usize) -> usize {
    scratch::bytes(&range_lengths(head_dim, rows))
}

/// Lengths of the arrays of [`Buffers`].
fn range_lengths(head_dim: usize, rows: usize) -> [usize; 2] {
    let positions = if is_few(head_dim, rows) { 8 } else { RANGE };
    [positions * stride(head_dim), rows * RANGE]
}

/// Whether so many rows read the pages as they are.
fn is_few(head_dim: usize, rows: usize) -> bool {
    rows <= ROWS_DIRECT && head_dim.is_multiple_of(8)
}

/// Rows in tiles: of three, and the last four in two of two, since one alone leaves units idle.
fn tiles(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let next = move |start: usize| start + if rows - start == 4 { 2 } else { TILE.min(rows - start) };
    let first = Some(0..next(0));
    let tiles = std::iter::successors(first, move |tile| Some(tile.end..next(tile.end)));
    tiles.take_while(|tile| !tile.is_empty())
}

struct Buffers<'a> {
    /// Keys, later values, of a range: (RANGE, stride); of few rows eight keys.
    range: &'a mut [f32],
    /// Scores, later their exponentials: (rows, RANGE).
    scores: &'a mut [f32],
}

/// # Safety
/// As [`super::attention`], on a CPU with AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn attention(task: &Attention, tokens: Range<usize>, kv_head: usize, scratch: &mut [u8]) {
    let mut scratch = Scratch::new(scratch);
    let [range, scores, part, all] =
        lengths(task.head_dim, tokens.len() * task.group()).map(|n| scratch.floats(n));
    let mut buffers = Buffers { range, scores };
    let mut start = tokens.start;
    while start < tokens.end {
        let sequence = task.sequences[start];
        let same = task.sequences[start..tokens.end].iter().take_while(|s| **s == sequence).count();
        let run = Run { task, tokens: start..start + same, kv_head };
        let mut part = Part::new(part, task.head_dim, run.rows());
        let mut all = Part::new(all, task.head_dim, run.rows());
        all.clear();
        for range in task.ranges(run.tokens.clone()) {
            // SAFETY: the caller's promise.
            unsafe { run.range(range * RANGE, &mut buffers, &mut part) };
            fold(&mut all, &part, task.head_dim);
        }
        // SAFETY: the caller's promise.
        unsafe { write(task, run.tokens, kv_head, &all) };
        start += same;
    }
}

/// # Safety
/// As [`super::attention_range`], on a CPU with AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn range(
    task: &Attention,
    tokens: Range<usize>,
    kv_head: usize,
    range: usize,
    part: &mut Part,
    scratch: &mut [u8],
) {
    let mut scratch = Scratch::new(scratch);
    let run = Run { task, tokens, kv_head };
    let [keys, scores] = range_lengths(task.head_dim, run.rows()).map(|n| scratch.floats(n));
    // SAFETY: the caller's promise.
    unsafe { run.range(range * RANGE, &mut Buffers { range: keys, scores }, part) };
}

/// Joins a range, or several, to those before.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn fold(all: &mut Part, part: &Part, head_dim: usize) {
    let stride = stride(head_dim);
    let rows = all.values.chunks_exact_mut(stride).zip(part.values.chunks_exact(stride));
    for (row, (total, values)) in rows.enumerate() {
        if part.sum[row] != 0.0 {
            let (before, range) = ((all.max[row], all.sum[row]), (part.max[row], part.sum[row]));
            (all.max[row], all.sum[row]) = softmax::fold(before, range, values, total);
        }
    }
}

/// # Safety
/// As [`super::write_part`], on a CPU with AVX2, FMA and F16C.
#[target_feature(enable = "avx2,fma,f16c")]
pub unsafe fn write(task: &Attention, tokens: Range<usize>, kv_head: usize, part: &Part) {
    let stride = stride(task.head_dim);
    for ((token, head), (values, sum)) in
        task.rows(tokens, kv_head).zip(part.values.chunks_exact(stride).zip(&*part.sum))
    {
        // SAFETY: the token and the head exist; a row of values has whole vectors.
        unsafe { divide(values.as_ptr(), *sum, task.head_dim, task.result(token, head)) };
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

    /// Computes the part of the range that starts at `first`.
    ///
    /// # Safety
    /// As [`attention`].
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn range(&self, first: usize, buffers: &mut Buffers, part: &mut Part) {
        let dim = self.task.head_dim;
        let few = is_few(dim, self.rows());
        // SAFETY: the caller's promise; the buffers have the lengths of `range_lengths`.
        unsafe {
            let keys = Pages::new(self, &self.task.k, first);
            let values = Pages::new(self, &self.task.v, first);
            if few {
                direct::scores(self, &keys, &values, buffers);
            } else {
                packed::pack(&keys, buffers.range);
                packed::scores(self, first, buffers);
            }
            let rows = if few {
                Rows::Pages(&values)
            } else {
                values.unpack(stride(dim), buffers.range);
                Rows::Floats(buffers.range)
            };
            part.clear();
            for tile in tiles(self.rows()) {
                for row in tile.clone() {
                    let seen = self.seen(row, first);
                    if !seen.is_empty() {
                        let scores = &mut buffers.scores[row * RANGE..][..RANGE];
                        (part.max[row], part.sum[row]) = softmax::softmax(scores, seen, self.task.soft_cap);
                    }
                }
                values::accumulate(self, tile, first, &rows, buffers.scores, part.values);
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
