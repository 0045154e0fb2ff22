//! The softmax of a range, and folding ranges.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::RANGE;
use crate::math::avx2::{exp, first_lanes, soft_cap, tree};

/// Caps the scores of the positions `seen`, if there is a cap, and replaces them by their exponentials relative to the largest of
/// them, and returns that and the sum. Other positions of touched vectors become 0.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn softmax(scores: &mut [f32], seen: Range<usize>, cap: Option<f32>) -> (f32, f32) {
    assert_eq!(scores.len(), RANGE);
    assert!(seen.end <= RANGE);
    let low = _mm256_set1_ps(f32::NEG_INFINITY);
    let mut max = [low; 2];
    for block in blocks(&seen) {
        // SAFETY: the block ends at RANGE or before.
        let mut x = unsafe { _mm256_loadu_ps(scores.as_ptr().add(block * 8)) };
        if let Some(cap) = cap {
            x = soft_cap(x, _mm256_set1_ps(cap));
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(scores.as_mut_ptr().add(block * 8), x) };
        }
        if !is_whole(block, &seen) {
            x = _mm256_blendv_ps(low, x, lanes(block, &seen));
        }
        // A NaN leaves the maximum as it is.
        max[block % 2] = _mm256_max_ps(x, max[block % 2]);
    }
    let max = horizontal_max(_mm256_max_ps(max[0], max[1]));
    let maximum = _mm256_set1_ps(max);
    let mut sums = [_mm256_setzero_ps(); 2];
    for block in blocks(&seen) {
        // SAFETY: as above.
        unsafe {
            let at = scores.as_mut_ptr().add(block * 8);
            let mut e = exp(_mm256_sub_ps(_mm256_loadu_ps(at), maximum));
            if !is_whole(block, &seen) {
                // A sum of exponentials is +0 or more, so that adding 0 to it is the same as nothing.
                e = _mm256_and_ps(e, lanes(block, &seen));
            }
            sums[block % 2] = _mm256_add_ps(sums[block % 2], e);
            _mm256_storeu_ps(at, e);
        }
    }
    (max, tree(sums[0], sums[1]))
}

/// The blocks of eight positions that hold some of `seen`.
fn blocks(seen: &Range<usize>) -> Range<usize> {
    seen.start / 8..seen.end.div_ceil(8)
}

/// Whether all of a block's positions are in `seen`.
fn is_whole(block: usize, seen: &Range<usize>) -> bool {
    seen.start <= block * 8 && (block + 1) * 8 <= seen.end
}

/// The lanes of a block of eight positions that are in `seen`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn lanes(block: usize, seen: &Range<usize>) -> __m256 {
    let start = seen.start.saturating_sub(block * 8).min(8);
    let end = seen.end.saturating_sub(block * 8).min(8);
    let lanes = _mm256_andnot_si256(first_lanes(start), first_lanes(end));
    _mm256_castsi256_ps(lanes)
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn horizontal_max(x: __m256) -> f32 {
    let four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
    let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
}

/// Joins a range to those before it, (largest score, sum) each, and its weighted values to theirs.
///
/// A sum of 0 before says that the range is the first one. (The sum of a range is at least 1, or NaN.)
#[target_feature(enable = "avx2,fma,f16c")]
pub fn fold(all: (f32, f32), range: (f32, f32), values: &[f32], total: &mut [f32]) -> (f32, f32) {
    if all.1 == 0.0 {
        total.copy_from_slice(values);
        return range;
    }
    let max = if range.0 > all.0 { range.0 } else { all.0 };
    let pair = _mm256_setr_ps(all.0, range.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let pair = _mm256_castps256_ps128(exp(_mm256_sub_ps(pair, _mm256_set1_ps(max))));
    let (a, b) = (_mm_cvtss_f32(pair), _mm_cvtss_f32(_mm_movehdup_ps(pair)));
    let sum = _mm_fmadd_ss(_mm_set_ss(all.1), _mm_set_ss(a), _mm_set_ss(range.1 * b));
    let (a, b) = (_mm256_set1_ps(a), _mm256_set1_ps(b));
    for (total, values) in total.chunks_exact_mut(8).zip(values.chunks_exact(8)) {
        // SAFETY: both are eight elements.
        unsafe {
            let value = _mm256_mul_ps(_mm256_loadu_ps(values.as_ptr()), b);
            let sum = _mm256_fmadd_ps(_mm256_loadu_ps(total.as_ptr()), a, value);
            _mm256_storeu_ps(total.as_mut_ptr(), sum);
        }
    }
    (max, _mm_cvtss_f32(sum))
}
