//! Scores: products of queries and keys.

use std::arch::aarch64::*;

use graph::DType;

use super::super::RANGE;
use super::pages::Rows;
use super::{Run, TILE};
use crate::kv::neon::{BF16, F16, F32, Float};

/// Keys that share the loads of queries.
const KEYS: usize = 4;

/// Scores of all rows of the run at the positions of a page, (rows, RANGE); those of positions that a row does not see are
/// undefined.
///
/// # Safety
/// The queries exist and the keys are readable; the CPU has NEON.
#[target_feature(enable = "neon")]
pub unsafe fn scores(run: &Run, keys: &Rows, scores: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match keys.dtype {
            DType::F32 => all::<F32>(run, keys, scores),
            DType::F16 => all::<F16>(run, keys, scores),
            DType::BF16 => all::<BF16>(run, keys, scores),
            other => unreachable!("{other} is converted"),
        }
    }
}

/// # Safety
/// As [`scores`].
#[target_feature(enable = "neon")]
unsafe fn all<F: Float>(run: &Run, keys: &Rows, scores: &mut [f32]) {
    for rows in run.tiles() {
        let scores = &mut scores[rows.start * RANGE..rows.end * RANGE];
        // SAFETY: the caller's promise.
        unsafe {
            match rows.len() {
                1 => tile::<F, 1>(run, rows.start, keys, scores),
                2 => tile::<F, 2>(run, rows.start, keys, scores),
                3 => tile::<F, 3>(run, rows.start, keys, scores),
                _ => tile::<F, TILE>(run, rows.start, keys, scores),
            }
        }
    }
}

/// Scores of `R` rows from `row` on.
///
/// # Safety
/// As [`scores`].
#[target_feature(enable = "neon")]
unsafe fn tile<F: Float, const R: usize>(run: &Run, row: usize, keys: &Rows, scores: &mut [f32]) {
    let dim = run.task.head_dim;
    // SAFETY: the caller's promise; keys behind the span are read as its last one.
    unsafe {
        let q: [*const f32; R] = std::array::from_fn(|r| run.query(row + r));
        for position in (keys.span.start / KEYS * KEYS..keys.span.end).step_by(KEYS) {
            let key = |i: usize| keys.row((position + i).clamp(keys.span.start, keys.span.end - 1));
            let sums = four_keys::<F, R>(&q, std::array::from_fn(key), dim);
            for (r, sums) in sums.into_iter().enumerate() {
                let scores = scores[r * RANGE + position..][..KEYS].as_mut_ptr();
                vst1q_f32(scores, vmulq_n_f32(sums, run.task.scale));
            }
        }
    }
}

/// Products of `R` queries and four keys, a key a lane.
///
/// # Safety
/// The queries and the keys have `dim` elements, a multiple of 4; the CPU has NEON.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn four_keys<F: Float, const R: usize>(
    q: &[*const f32; R],
    keys: [*const u8; KEYS],
    dim: usize,
) -> [float32x4_t; R] {
    // Partial sums `first` to `first + 3`: so many fit into the registers.
    let quarter = |first: usize| {
        let mut sums = [[vdupq_n_f32(0.0); KEYS]; R];
        for d in (first..dim).step_by(16) {
            // SAFETY: d + 4 <= dim.
            unsafe {
                let keys = keys.map(|key| F::four(key.add(F::BYTES * d)));
                for r in 0..R {
                    let q = vld1q_f32(q[r].add(d));
                    for i in 0..KEYS {
                        sums[r][i] = vfmaq_f32(sums[r][i], q, keys[i]);
                    }
                }
            }
        }
        sums
    };
    let add = |a: [[float32x4_t; KEYS]; R], b: [[float32x4_t; KEYS]; R]| {
        std::array::from_fn(|r| std::array::from_fn(|i| vaddq_f32(a[r][i], b[r][i])))
    };
    let (even, odd) = (add(quarter(0), quarter(8)), add(quarter(4), quarter(12)));
    add(even, odd).map(|four| last_sums(four))
}

/// The rest of the tree, from four sums of each of four keys on.
#[inline]
#[target_feature(enable = "neon")]
fn last_sums(four: [float32x4_t; KEYS]) -> float32x4_t {
    // 2 apart: two lanes are left of each.
    let two = |a: float32x4_t, b: float32x4_t| {
        let (a, b) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
        let (low, high) = (vtrn1q_f64(a, b), vtrn2q_f64(a, b));
        vaddq_f32(vreinterpretq_f32_f64(low), vreinterpretq_f32_f64(high))
    };
    vpaddq_f32(two(four[0], four[1]), two(four[2], four[3]))
}
