//! The best tokens, without sorting all of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::SampleError;

/// Logits looked at together, with vector code; a better one among them is rare.
const CHUNK: usize = 64;

/// The token with the largest logit, the lowest id among equals.
pub fn argmax(logits: &[f32]) -> Result<u32, SampleError> {
    let mut best = 0;
    let mut max = f32::NEG_INFINITY;
    for (index, chunk) in logits.chunks(CHUNK).enumerate() {
        // The comparison is false for NaN, so a chunk that has one is looked at too.
        if chunk.iter().fold(true, |all, &logit| all & (logit <= max)) {
            continue;
        }
        for (offset, &logit) in chunk.iter().enumerate() {
            let id = index * CHUNK + offset;
            if logit.is_nan() {
                return Err(SampleError::NanLogit { id: id as u32 });
            }
            if logit > max {
                max = logit;
                best = id;
            }
        }
    }
    if max == f32::NEG_INFINITY {
        return Err(SampleError::NoTokenPossible { count: logits.len() });
    }
    Ok(best as u32)
}

/// The `n` tokens with the largest logits and these, best first, lower ids first among equals; all
/// of them if there are fewer. A logit that is no number is left out.
pub fn top_n(logits: &[f32], n: usize) -> Vec<(u32, f32)> {
    // The worst of the best is on top, to be replaced by a better one.
    let mut best = BinaryHeap::with_capacity(n.min(logits.len()) + 1);
    let mut worst = f32::NEG_INFINITY;
    for (index, chunk) in logits.chunks(CHUNK).enumerate() {
        // Equals of the worst come later than it.
        if best.len() == n && chunk.iter().fold(true, |all, &logit| all & (logit <= worst)) {
            continue;
        }
        for (offset, &logit) in chunk.iter().enumerate().filter(|(_, logit)| !logit.is_nan()) {
            if best.len() == n && logit <= worst {
                continue;
            }
            best.push(Reverse(Ranked { logit, id: (index * CHUNK + offset) as u32 }));
            if best.len() > n {
                best.pop();
            }
            if best.len() == n {
                worst = best.peek().map_or(f32::INFINITY, |worst| worst.0.logit);
            }
        }
    }
    let sorted = best.into_sorted_vec();
    sorted.into_iter().map(|Reverse(ranked)| (ranked.id, ranked.logit)).collect()
}

/// A token that compares as greater the better it is.
struct Ranked {
    // Never NaN.
    logit: f32,
    id: u32,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_logit = self.logit.partial_cmp(&other.logit).expect("NaN is left out");
        by_logit.then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
