//! The specification: one token and one head after the other, one range after the other.

use std::ops::Range;

use super::part::{self, Part, stride};
use super::scratch::{self, Scratch};
use super::{Attention, FEW_TOKENS, RANGE};
use crate::isa::Isa;
use crate::kv::load_row;
use crate::math::{LANES, exp, fma, soft_cap, tree};

/// Bytes of scratch: a row of the cache, and what is enough for two parts of the few tokens that may have some.
pub fn scratch_bytes(head_dim: usize, group: usize, tokens: usize) -> usize {
    let part = part::len(head_dim, group * tokens.min(FEW_TOKENS));
    scratch::bytes(&[head_dim, part, part])
}

/// Bytes of scratch of [`range`].
pub fn range_scratch_bytes(head_dim: usize) -> usize {
    scratch::bytes(&[head_dim])
}

/// # Safety
/// As [`super::attention`].
pub unsafe fn attention(task: &Attention, tokens: Range<usize>, kv_head: usize, scratch: &mut [u8]) {
    let mut scratch = Scratch::new(scratch);
    let row = scratch.floats(task.head_dim);
    let [part, all] = [(); 2].map(|()| scratch.floats(part::len(task.head_dim, 1)));
    let [part, mut all] = [part, all].map(|floats| Part::new(floats, task.head_dim, 1));
    for token in tokens {
        for head in kv_head * task.group()..(kv_head + 1) * task.group() {
            all.clear();
            for range in task.ranges(token..token + 1) {
                // SAFETY: the caller's promise.
                unsafe {
                    (part.max[0], part.sum[0]) = one(task, token, head, kv_head, range, row, part.values);
                }
                fold(&mut all, &part, task.head_dim);
            }
            // SAFETY: the caller's promise.
            unsafe { write_row(task, token, head, all.values, all.sum[0]) };
        }
    }
}

/// # Safety
/// As [`super::attention_range`].
pub unsafe fn range(
    task: &Attention,
    tokens: Range<usize>,
    kv_head: usize,
    range: usize,
    part: &mut Part,
    scratch: &mut [u8],
) {
    let row = Scratch::new(scratch).floats(task.head_dim);
    for (i, (token, head)) in task.rows(tokens, kv_head).enumerate() {
        let values = &mut part.values[i * stride(task.head_dim)..][..stride(task.head_dim)];
        // SAFETY: the caller's promise.
        unsafe { (part.max[i], part.sum[i]) = one(task, token, head, kv_head, range, row, values) };
    }
}

/// # Safety
/// As [`super::write_part`].
pub unsafe fn write(task: &Attention, tokens: Range<usize>, kv_head: usize, part: &Part) {
    for (i, (token, head)) in task.rows(tokens, kv_head).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { write_row(task, token, head, &part.values[i * stride(task.head_dim)..], part.sum[i]) };
    }
}

/// One range of one head of one token: the largest score, the sum of exponentials, and in `values` the
/// weighted values.
///
/// # Safety
/// As [`super::attention`].
unsafe fn one(
    task: &Attention,
    token: usize,
    head: usize,
    kv_head: usize,
    range: usize,
    row: &mut [f32],
    values: &mut [f32],
) -> (f32, f32) {
    let dim = task.head_dim;
    let visible = task.visible(token);
    let table = task.table(token);
    // SAFETY: the caller promises that the queries of this token exist.
    let q = unsafe { std::slice::from_raw_parts(task.query(token, head), dim) };
    let mut scores = [0.0f32; RANGE];
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
    values.fill(0.0);
    for position in seen {
        let e = exp(scores[position - first] - max);
        sums[position % LANES] += e;
        // SAFETY: as for the key.
        unsafe {
            let value = task.v.row(table, kv_head, dim, position);
            load_row(Isa::Scalar, task.v.dtype, value, dim, row.as_mut_ptr());
        }
        for (o, v) in values.iter_mut().zip(&*row) {
            *o = fma(e, *v, *o);
        }
    }
    (max, tree(sums))
}

/// Joins a range, or several, to those before.
pub fn fold(all: &mut Part, part: &Part, head_dim: usize) {
    let stride = stride(head_dim);
    let rows = all.values.chunks_exact_mut(stride).zip(part.values.chunks_exact(stride));
    for (i, (total, values)) in rows.enumerate() {
        if part.sum[i] == 0.0 {
            continue;
        }
        if all.sum[i] == 0.0 {
            (all.max[i], all.sum[i]) = (part.max[i], part.sum[i]);
            total.copy_from_slice(values);
            continue;
        }
        let max = if part.max[i] > all.max[i] { part.max[i] } else { all.max[i] };
        let a = exp(all.max[i] - max);
        let b = exp(part.max[i] - max);
        (all.max[i], all.sum[i]) = (max, fma(all.sum[i], a, part.sum[i] * b));
        for (total, value) in total.iter_mut().zip(values) {
            *total = fma(*total, a, *value * b);
        }
    }
}

/// # Safety
/// As [`super::attention`].
unsafe fn write_row(task: &Attention, token: usize, head: usize, values: &[f32], sum: f32) {
    for (d, value) in values[..task.head_dim].iter().enumerate() {
        // SAFETY: the caller promises that the results of this token exist.
        unsafe { *task.result(token, head).add(d) = value / sum };
    }
}

/// 16 partial sums and the tree.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        sums[k % LANES] = fma(*a, *b, sums[k % LANES]);
    }
    tree(sums)
}
