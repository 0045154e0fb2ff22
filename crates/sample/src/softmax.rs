//! Probabilities at temperature 1, before any step of a sampler.

use crate::SampleError;
use crate::exp::exp;
use crate::top::{argmax, top_n};
use crate::vectorized::vectorized;
use crate::weights::{CHUNK, map, padded, sum};

/// The natural logarithm of a token's probability, at temperature 1; minus infinity for a token that
/// is impossible.
///
/// The sum runs in one fixed order, in f64 over weights exact to 2e-7, relatively.
pub fn log_softmax_at(logits: &[f32], id: u32) -> Result<f64, SampleError> {
    let logit = logit_of(logits, id)?;
    Ok(LogSoftmax::new(logits)?.of(logit))
}

/// [`log_softmax_at`] of the token chosen, and of the `n` best tokens: best first, lower ids first among
/// equals; all of them if there are fewer.
pub fn logprobs(logits: &[f32], chosen: u32, n: usize) -> Result<(f64, Vec<(u32, f64)>), SampleError> {
    let logit = logit_of(logits, chosen)?;
    let softmax = LogSoftmax::new(logits)?;
    let best = top_n(logits, n).into_iter().map(|(id, logit)| (id, softmax.of(logit))).collect();
    Ok((softmax.of(logit), best))
}

fn logit_of(logits: &[f32], id: u32) -> Result<f32, SampleError> {
    let error = SampleError::IdOutOfRange { id, count: logits.len() };
    logits.get(id as usize).copied().ok_or(error)
}

/// What turns a logit of a row into the logarithm of a probability.
struct LogSoftmax {
    max: f32,
    /// The logarithm of the sum of e^(logit - max).
    log_total: f64,
}

impl LogSoftmax {
    fn new(logits: &[f32]) -> Result<LogSoftmax, SampleError> {
        let max = logits[argmax(logits)? as usize];
        let total = if max < f32::INFINITY {
            sum_weights(logits, max)
        } else {
            // Infinity less infinity is no number: here tokens are certain or impossible.
            logits.iter().filter(|&&logit| logit == f32::INFINITY).count() as f64
        };
        Ok(LogSoftmax { max, log_total: libm::log(total) })
    }

    fn of(&self, logit: f32) -> f64 {
        let distance = if logit == self.max { 0.0 } else { f64::from(logit) - f64::from(self.max) };
        distance - self.log_total
    }
}

vectorized! {
    /// The sum of e^(logit - max).
    fn sum_weights(logits: &[f32], max: f32) -> f64 {
        let mut total = 0.0;
        for logits in logits.chunks(CHUNK) {
            total += sum(&map(&padded(logits), |logit| exp(logit - max)));
        }
        total
    }
}
