//! The softmax of a range.

use std::arch::aarch64::*;
use std::ops::Range;

use super::super::RANGE;
use crate::elementwise;
use crate::isa::Isa;
use crate::math;
use crate::math::LANES;
use crate::math::neon::{exp, tree};

/// Caps the scores of the positions `seen`, if there is a cap, and replaces them by their exponentials relative to the
/// largest of them, and returns that and the sum. Others of the same sixteens become 0.
#[target_feature(enable = "neon")]
pub fn softmax(scores: &mut [f32], seen: Range<usize>, cap: Option<f32>) -> (f32, f32) {
    assert_eq!(scores.len(), RANGE);
    assert!(seen.end <= RANGE);
    let all = seen.start / LANES * LANES..seen.end.next_multiple_of(LANES);
    // A sum of exponentials is +0 or more, so that adding 0 to it is the same as nothing.
    scores[all.start..seen.start].fill(0.0);
    scores[seen.end..all.end].fill(0.0);
    let own = &mut scores[seen];
    if let Some(cap) = cap {
        let at = own.as_mut_ptr();
        // SAFETY: so many elements, which are their own results; the CPU has NEON.
        unsafe { elementwise::cap(Isa::Neon, at, cap, at, own.len()) };
    }
    let max = largest(own);
    let (fours, rest) = own.as_chunks_mut::<4>();
    for x in fours {
        // SAFETY: four elements.
        unsafe {
            let e = exp(vsubq_f32(vld1q_f32(x.as_ptr()), vdupq_n_f32(max)));
            vst1q_f32(x.as_mut_ptr(), e);
        }
    }
    for x in rest {
        *x = math::exp(*x - max);
    }
    let mut sums = [vdupq_n_f32(0.0); 4];
    for sixteen in scores[all].as_chunks::<LANES>().0 {
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: four of 16 elements.
            *sum = vaddq_f32(*sum, unsafe { vld1q_f32(sixteen.as_ptr().add(4 * i)) });
        }
    }
    (max, tree(sums))
}

/// The largest number; what is none is passed over.
#[inline]
#[target_feature(enable = "neon")]
fn largest(x: &[f32]) -> f32 {
    let (fours, rest) = x.as_chunks::<4>();
    let mut max = vdupq_n_f32(f32::NEG_INFINITY);
    for x in fours {
        // SAFETY: four elements. Of a NaN and a number this instruction gives the number.
        max = vmaxnmq_f32(max, unsafe { vld1q_f32(x.as_ptr()) });
    }
    rest.iter().fold(vmaxnmvq_f32(max), |max, x| if *x > max { *x } else { max })
}
