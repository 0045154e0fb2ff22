//! The specification: one token and one head after the other, one range after the other.

use std::ops::Range;

use super::scratch::{self, Scratch};
use super::{Attention, RANGE};
use crate::isa::Isa;
use crate::kv::load_row;
use crate::math::{LANES, exp, fma, soft_cap, tree};

/// Bytes of scratch: a row of the cache, and the weighted values of a range and of all ranges.
pub fn scratch_bytes(head_dim: usize) -> usize {
    scratch::bytes(&[head_dim; 3])
}

/// # Safety
/// As [`super::attention`].
pub unsafe fn attention(task: &Attention, tokens: Range<usize>, kv_head: usize, scratch: &mut [u8]) {
    let mut scratch = Scratch::new(scratch);
    let row = scratch.floats(task.head_dim);
    let o = scratch.floats(task.head_dim);
    let total = scratch.floats(task.head_dim);
    let heads = kv_head * task.group()..(kv_head + 1) * task.group();
    for token in tokens {
        for head in heads.clone() {
            // SAFETY: the caller's promise.
            unsafe { one(task, token, head, kv_head, row, o, total) };
        }
    }
}

/// One head of one token.
///
/// # Safety
/// As [`super::attention`].
unsafe fn one(
    task: &Attention,
    token: usize,
    head: usize,
    kv_head: usize,
    row: &mut [f32],
    o: &mut [f32],
    total: &mut [f32],
) {
    let dim = task.head_dim;
    let visible = task.visible(token);
    let table = task.table(token);
    // SAFETY: the caller promises that the queries of this token exist.
    let q = unsafe { std::slice::from_raw_parts(task.query(token, head), dim) };
    let mut scores = [0.0f32; RANGE];
    let mut all: Option<(f32, f32)> = None; // largest score and sum of the ranges so far
    for range in visible.start / RANGE..visible.end.div_ceil(RANGE) {
        let first = range * RANGE;
        let seen = visible.start.max(first)..visible.end.min(first + RANGE);

        let mut max = f32::NEG_INFINITY;
        for position in seen.clone() {
            // SAFETY: the position is visible, so its page exists; `row` has a head's length.
            unsafe {
                let key = task.k.row(table, kv_head, dim, position);
                load_row(Isa::Scalar, task.k.dtype, key, dim, row.as_mut_ptr());
            }
            let score = dot(q, row) * task.scale;
            let score = task.soft_cap.map_or(score, |cap| soft_cap(score, cap));
            scores[position - first] = score;
            max = if score > max { score } else { max };
        }

        let mut sums = [0.0f32; LANES];
        o.fill(0.0);
        for position in seen {
            let e = exp(scores[position - first] - max);
            sums[position % LANES] += e;
            // SAFETY: as for the key.
            unsafe {
                let value = task.v.row(table, kv_head, dim, position);
                load_row(Isa::Scalar, task.v.dtype, value, dim, row.as_mut_ptr());
            }
            for (o, v) in o.iter_mut().zip(&*row) {
                *o = fma(e, *v, *o);
            }
        }
        let sum = tree(sums);

        all = Some(match all {
            None => {
                total.copy_from_slice(o);
                (max, sum)
            }
            Some(before) => {
                let (after, a, b) = fold(before, (max, sum));
                for (total, o) in total.iter_mut().zip(&*o) {
                    *total = fma(*total, a, *o * b);
                }
                after
            }
        });
    }
    let (_, sum) = all.expect("a token sees itself");
    for (d, total) in total.iter().enumerate() {
        // SAFETY: the caller promises that the results of this token exist.
        unsafe { *task.result(token, head).add(d) = total / sum };
    }
}

/// Joins a range to those before it: the new largest score and sum, and the factors of the weighted
/// values so far and of the range's.
#[inline]
pub fn fold(all: (f32, f32), range: (f32, f32)) -> ((f32, f32), f32, f32) {
    let max = if range.0 > all.0 { range.0 } else { all.0 };
    let a = exp(all.0 - max);
    let b = exp(range.0 - max);
    ((max, fma(all.1, a, range.1 * b)), a, b)
}

/// 16 partial sums and the tree.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        sums[k % LANES] = fma(*a, *b, sums[k % LANES]);
    }
    tree(sums)
}
