//! Logits to a token.
//!
//! Everything is a pure function: a token depends on the logits, the settings, the seed and the
//! position, and on nothing else. The random number is computed from (seed, position) and not drawn
//! from a state, so that a resumed or repeated run goes on with the same tokens. Sums run in one
//! fixed order, with an exponential of our own: the same bits on every machine.

mod exp;
mod random;
mod softmax;
mod top;

pub use softmax::log_softmax_at;
pub use top::{argmax, top_n};

/// How a token is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What logits are divided by; 0 (or less than [`TEMPERATURE_MIN`]) takes the best token.
    pub temperature: f32,
    /// Which of all possible texts this one is.
    pub seed: u64,
}

impl Default for Settings {
    /// The best token, always.
    fn default() -> Self {
        Settings { temperature: 0.0, seed: 0 }
    }
}

/// Temperatures below this are 0: a logit would have to be within a ten-thousandth of the best one
/// for its token to have a chance, which is far below what logits are worth.
pub const TEMPERATURE_MIN: f32 = 1e-5;

/// Why no token can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The temperature is negative or no number.
    #[error("the temperature is {found}; expected a finite number, 0 or more")]
    Temperature {
        /// The temperature.
        found: f32,
    },
    /// A logit is no number: the model's arithmetic went wrong.
    #[error("no token possible: the logit of token {id} is NaN")]
    NanLogit {
        /// The first such token.
        id: u32,
    },
    /// There are no logits, or all of them forbid their token.
    #[error("no token possible: none of the {count} logits is above minus infinity")]
    NoTokenPossible {
        /// Number of logits.
        count: usize,
    },
    /// A token that has no logit.
    #[error("token {id} has no logit; expected an id less than {count}")]
    IdOutOfRange {
        /// The token.
        id: u32,
        /// Number of logits.
        count: usize,
    },
}

/// Chooses a token for `position`, the place in the sequence that the token will take.
///
/// `logits` has one entry a token of the vocabulary. Of tokens equally good, temperature 0 takes the
/// one with the lowest id. A logit of plus infinity leaves only tokens with such a logit, equally
/// likely; minus infinity forbids its token.
pub fn sample(logits: &[f32], settings: &Settings, position: u64) -> Result<u32, SampleError> {
    let found = settings.temperature;
    if !(found.is_finite() && found >= 0.0) {
        return Err(SampleError::Temperature { found });
    }
    let best = argmax(logits)?;
    if found < TEMPERATURE_MIN {
        return Ok(best);
    }
    let weights = softmax::Weights { logits, max: logits[best as usize], temperature: found };
    Ok(weights.pick(random::uniform(settings.seed, position)))
}
