//! Four lanes of attention.
//!
//! Tokens of one sequence that follow each other in a call form a run; their heads are its rows. A run walks the ranges of
//! the cache, and in a range page after page: scores of all rows, the softmax of each, weighted values of all rows, fold.
//! Rows of the cache are converted to f32 page by page where many rows read them, or where they are in blocks.
//!
//! Folding and the last division are the scalar code, of which the compiler makes vectors, and so are heads whose length is
//! no multiple of 4.

mod pages;
mod scores;
mod softmax;
mod values;

use std::ops::Range;

use self::pages::Page;
use super::part::{self, Part};
use super::scratch::{self, Scratch};
use super::{Attention, PAGE, RANGE, scalar};

/// Rows that share the loads of keys and values.
const TILE: usize = 4;

/// Whether there are kernels for heads of that length.
pub fn takes(head_dim: usize) -> bool {
    head_dim.is_multiple_of(4)
}

/// Bytes of scratch of a call with at most this many rows.
pub fn scratch_bytes(head_dim: usize, rows: usize) -> usize {
    scratch::bytes(&lengths(head_dim, rows))
}

/// Lengths of the arrays of a call: those of [`Buffers`], and two parts.
fn lengths(head_dim: usize, rows: usize) -> [usize; 4] {
    let [page, scores] = range_lengths(head_dim, rows);
    let part = part::len(head_dim, rows);
    [page, scores, part, part]
}

/// Bytes of scratch of [`range`].
pub fn range_scratch_bytes(head_dim: usize, rows: usize) -> usize {
    scratch::bytes(&range_lengths(head_dim, rows))
}

/// Lengths of the arrays of [`Buffers`].
fn range_lengths(head_dim: usize, rows: usize) -> [usize; 2] {
    [PAGE * head_dim, rows * RANGE]
}

struct Buffers<'a> {
    /// Keys or values of a page: (PAGE, head_dim).
    page: &'a mut [f32],
    /// Scores, later their exponentials: (rows, RANGE).
    scores: &'a mut [f32],
}

/// # Safety
/// As [`super::attention`], on a CPU with NEON; the head's length is one that [`takes`] takes.
#[target_feature(enable = "neon")]
pub unsafe fn attention(task: &Attention, tokens: Range<usize>, kv_head: usize, scratch: &mut [u8]) {
    let mut scratch = Scratch::new(scratch);
    let [page, scores, part, all] =
        lengths(task.head_dim, tokens.len() * task.group()).map(|n| scratch.floats(n));
    let mut buffers = Buffers { page, scores };
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
            scalar::fold(&mut all, &part, task.head_dim);
        }
        // SAFETY: the caller's promise.
        unsafe { scalar::write(task, run.tokens, kv_head, &all) };
        start += same;
    }
}

/// # Safety
/// As [`super::attention_range`] and [`attention`].
#[target_feature(enable = "neon")]
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
    let [page, scores] = range_lengths(task.head_dim, run.rows()).map(|n| scratch.floats(n));
    // SAFETY: the caller's promise.
    unsafe { run.range(range * RANGE, &mut Buffers { page, scores }, part) };
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

    /// Rows in tiles.
    fn tiles(&self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows();
        (0..rows).step_by(TILE).map(move |start| start..rows.min(start + TILE))
    }

    /// The query of a row.
    ///
    /// # Safety
    /// As [`attention`].
    unsafe fn query(&self, row: usize) -> *const f32 {
        let group = self.task.group();
        // SAFETY: the caller's promise.
        unsafe { self.task.query(self.tokens.start + row / group, self.kv_head * group + row % group) }
    }

    /// The positions of the range at `first` that a row sees, relative to it; maybe none.
    fn seen(&self, row: usize, first: usize) -> Range<usize> {
        let visible = self.task.visible(self.tokens.start + row / self.task.group());
        let start = visible.start.saturating_sub(first).min(RANGE);
        let end = visible.end.saturating_sub(first).min(RANGE);
        start..end.max(start)
    }

    /// Computes the part of the range that starts at `first`.
    ///
    /// # Safety
    /// As [`attention`].
    #[target_feature(enable = "neon")]
    unsafe fn range(&self, first: usize, buffers: &mut Buffers, part: &mut Part) {
        part.clear();
        // SAFETY: the caller's promise; the buffers have the lengths of `range_lengths`.
        unsafe {
            for page in Page::all(self, &self.task.k, first) {
                scores::scores(self, &page.rows(self, buffers.page), buffers.scores);
            }
            for row in 0..self.rows() {
                let seen = self.seen(row, first);
                if !seen.is_empty() {
                    let scores = &mut buffers.scores[row * RANGE..][..RANGE];
                    (part.max[row], part.sum[row]) = softmax::softmax(scores, seen, self.task.soft_cap);
                }
            }
            for page in Page::all(self, &self.task.v, first) {
                let rows = page.rows(self, buffers.page);
                values::accumulate(self, first, &rows, buffers.scores, part.values);
            }
        }
    }
}
