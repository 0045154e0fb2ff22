//! Logits to a token.
//!
//! Everything is a pure function: a token depends on the logits, the settings, the tokens so far, the seed
//! and the position, and on nothing else. Random numbers are computed from (seed, position) and not drawn
//! from a state, so that a resumed or repeated run goes on with the same tokens. The exponential is our
//! own and sums do not depend on their order: the same bits on every machine.
//!
//! No step sorts the vocabulary: each takes time linear in it.

mod buckets;
mod candidates;
mod dry;
mod exp;
mod filters;
mod penalties;
mod random;
#[cfg(test)]
mod reference;
mod sampler;
mod select;
mod settings;
mod softmax;
mod top;
mod vectorized;
mod weights;

pub use sampler::Sampler;
pub use settings::{Settings, SettingsError, TEMPERATURE_MIN};
pub use softmax::{log_softmax_at, logprobs};
pub use top::{argmax, top_n};

/// Why no token can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
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
