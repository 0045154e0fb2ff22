//! Weights of tokens, made so that their sums do not depend on the order.

use crate::exp::exp_bounded;
use crate::vectorized::vectorized;

/// Tokens handled together; their weights lie on the stack.
pub(crate) const CHUNK: usize = 64;

/// A number for each token of a chunk.
pub(crate) type Chunk = [f32; CHUNK];

/// Sums that run side by side in a chunk, so that the compiler can use vector code.
const LANES: usize = 8;

/// Weights are multiples of 2^-34, so that an `f64` holds each sum of up to 2^19 of them exactly:
/// sums are the same in whatever order they are made, by buckets or sorted or in vector code.
/// Adding and taking off this power of two rounds a smaller number to such a multiple.
const ROUND: f32 = 1.0 / 2048.0;

/// Weights this far below the best are 0, in units of the temperature.
pub(crate) const SPAN: f32 = 32.0;

/// The weight of each token: e^((logit - max) / temperature), so that the best one has weight 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    max: f32,
    factor: f32,
}

impl Weights {
    /// `max` is the largest logit and finite; `temperature` is more than 0.
    pub(crate) fn new(max: f32, temperature: f32) -> Weights {
        assert!(max.is_finite());
        Weights { max, factor: 1.0 / temperature }
    }

    /// The weight of one token; 0 if its logit is minus infinity.
    #[inline(always)]
    pub(crate) fn of(&self, logit: f32) -> f32 {
        let weight = exp_bounded((logit - self.max) * self.factor);
        let rounded = (weight + ROUND) - ROUND;
        if weight < ROUND { rounded } else { weight }
    }

    /// The weights of a chunk, and 0 after its end.
    #[inline(always)]
    pub(crate) fn chunk(&self, logits: &[f32]) -> Chunk {
        map(&padded(logits), |logit| self.of(logit))
    }
}

vectorized! {
    /// The weights of all tokens, and their sum.
    pub(crate) fn weigh(logits: &[f32], weights: Weights, into: &mut [f32]) -> f64 {
        let mut total = 0.0;
        for (logits, into) in logits.chunks(CHUNK).zip(into.chunks_mut(CHUNK)) {
            let chunk = weights.chunk(logits);
            into.copy_from_slice(&chunk[..into.len()]);
            total += sum(&chunk);
        }
        total
    }
}

vectorized! {
    /// The sum of the weights of each chunk.
    fn weigh_chunks(logits: &[f32], weights: Weights, sums: &mut [f64]) {
        for (logits, to) in logits.chunks(CHUNK).zip(sums) {
            *to = sum(&weights.chunk(logits));
        }
    }
}

/// A chunk with minus infinity after its end.
#[inline(always)]
pub(crate) fn padded(logits: &[f32]) -> Chunk {
    match Chunk::try_from(logits) {
        Ok(full) => full,
        Err(_) => {
            let mut chunk = [f32::NEG_INFINITY; CHUNK];
            chunk[..logits.len()].copy_from_slice(logits);
            chunk
        }
    }
}

/// `map` of arrays, in a form that becomes vector code.
#[inline(always)]
pub(crate) fn map(chunk: &Chunk, function: impl Fn(f32) -> f32) -> Chunk {
    let mut result = [0.0; CHUNK];
    for (to, &from) in result.iter_mut().zip(chunk) {
        *to = function(from);
    }
    result
}

/// The sum of a chunk: lanes first, which are then added in their order.
#[inline(always)]
pub(crate) fn sum(weights: &Chunk) -> f64 {
    let mut lanes = [0.0; LANES];
    for group in 0..CHUNK / LANES {
        for lane in 0..LANES {
            lanes[lane] += f64::from(weights[group * LANES + lane]);
        }
    }
    let mut sum = 0.0;
    for lane in lanes {
        sum += lane;
    }
    sum
}

/// Draws a token: the place at the share `at`, in 0..1, of all weights laid side by side. `sums` is
/// room for the sums of chunks.
pub(crate) fn draw(logits: &[f32], weights: Weights, at: f64, sums: &mut Vec<f64>) -> usize {
    sums.resize(logits.len().div_ceil(CHUNK), 0.0);
    weigh_chunks(logits, weights, sums);
    let total: f64 = sums.iter().sum();
    // The product may be rounded up to the total, which no sum of weights is above.
    let threshold = (at * total).min(total.next_down());
    let mut before = 0.0;
    for (index, sum) in sums.iter().enumerate() {
        if before + sum > threshold {
            let first = index * CHUNK;
            let end = logits.len().min(first + CHUNK);
            return first + place_in_chunk(&weights.chunk(&logits[first..end]), threshold - before);
        }
        before += sum;
    }
    unreachable!("the last sum is the total, which is above the threshold");
}

/// The first place at which the weights sum up to more than `threshold`; the last one with a weight
/// where rounding keeps them below it, which takes more than 2^19 tokens.
fn place_in_chunk(weights: &Chunk, threshold: f64) -> usize {
    let mut sum = 0.0;
    let mut place = 0;
    for (offset, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
        place = offset;
        sum += f64::from(weight);
        if sum > threshold {
            break;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_multiples_of_one_quantum_near_the_exponential() {
        let weights = Weights::new(3.0, 1.0);
        for step in 0..400_000 {
            let logit = 3.0 - step as f32 / 10_000.0;
            let weight = f64::from(weights.of(logit));
            let scaled = weight * (1u64 << 34) as f64;
            assert_eq!(scaled, scaled.round(), "logit {logit}");
            let exact = libm::exp(f64::from(logit) - 3.0);
            assert!((weight - exact).abs() < exact * 3e-7 + 3e-11, "logit {logit}: {weight}");
        }
        assert_eq!(weights.of(3.0 - SPAN), 0.0);
        assert_eq!(weights.of(-1e38), 0.0);
        assert_eq!(weights.of(f32::NEG_INFINITY), 0.0);
    }
}
