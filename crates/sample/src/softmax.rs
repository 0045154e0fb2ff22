//! Probabilities out of logits, summed in one fixed order.

use crate::SampleError;
use crate::exp::exp;
use crate::top::argmax;

/// Weights computed at a time; they lie on the stack.
const CHUNK: usize = 64;

/// Sums that run side by side in a chunk, so that the compiler can use vector code.
const LANES: usize = 8;

/// The weight of each token: e^((logit - max) / temperature), so that the best one has weight 1.
pub(crate) struct Weights<'a> {
    pub(crate) logits: &'a [f32],
    /// The largest logit; more than minus infinity.
    pub(crate) max: f32,
    /// More than 0.
    pub(crate) temperature: f32,
}

impl Weights<'_> {
    /// The weights of a chunk, and 0 after its end.
    fn chunk(&self, logits: &[f32]) -> [f32; CHUNK] {
        let mut weights = [0.0; CHUNK];
        if self.max == f32::INFINITY {
            // Infinity less infinity is no number: here tokens are certain or impossible.
            for (weight, &logit) in weights.iter_mut().zip(logits) {
                *weight = if logit == f32::INFINITY { 1.0 } else { 0.0 };
            }
        } else {
            for (weight, &logit) in weights.iter_mut().zip(logits) {
                *weight = exp((logit - self.max) / self.temperature);
            }
        }
        weights
    }

    /// Chunk after chunk, each summed in [`LANES`] lanes that are then added in their order.
    fn total(&self) -> f64 {
        self.logits.chunks(CHUNK).map(|logits| sum(&self.chunk(logits))).sum()
    }

    /// The token at the share `at`, in 0..1, of all weights laid side by side.
    pub(crate) fn pick(&self, at: f64) -> u32 {
        let total = self.total();
        // The product may be rounded up to the total, which no sum of weights is above.
        let threshold = (at * total).min(total.next_down());
        let mut before = 0.0;
        for (index, logits) in self.logits.chunks(CHUNK).enumerate() {
            let weights = self.chunk(logits);
            let after = before + sum(&weights);
            if after > threshold {
                let offset = pick_in_chunk(&weights, threshold - before);
                return (index * CHUNK + offset) as u32;
            }
            before = after;
        }
        unreachable!("the last sum is the total, which is above the threshold");
    }
}

/// The first token at which the weights sum up to more than `threshold`. Here they are added one by
/// one, which may round to less than the sum of the chunk: then it is the last one with a weight.
fn pick_in_chunk(weights: &[f32; CHUNK], threshold: f64) -> usize {
    let mut sum = 0.0;
    let mut picked = None;
    for (offset, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
        picked = Some(offset);
        sum += f64::from(weight);
        if sum > threshold {
            break;
        }
    }
    picked.expect("a chunk that raises the sum has a weight")
}

fn sum(weights: &[f32; CHUNK]) -> f64 {
    let mut lanes = [0.0; LANES];
    for group in weights.chunks_exact(LANES) {
        for (lane, &weight) in lanes.iter_mut().zip(group) {
            *lane += f64::from(weight);
        }
    }
    lanes.iter().sum()
}

/// The natural logarithm of a token's probability, at temperature 1; minus infinity for a token that
/// is impossible.
///
/// The sum runs in one fixed order, in f64 over weights exact to 2e-7, relatively.
pub fn log_softmax_at(logits: &[f32], id: u32) -> Result<f64, SampleError> {
    let count = logits.len();
    let Some(&logit) = logits.get(id as usize) else {
        return Err(SampleError::IdOutOfRange { id, count });
    };
    let max = logits[argmax(logits)? as usize];
    let total = Weights { logits, max, temperature: 1.0 }.total();
    let distance = if logit == max { 0.0 } else { f64::from(logit) - f64::from(max) };
    Ok(distance - libm::log(total))
}
