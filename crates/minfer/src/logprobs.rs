//! How likely the tokens of an answer were.

use sample::SampleError;

/// How likely a token was, and what else could have stood in its place.
///
/// Probabilities are the model's own, at temperature 1 and before anything that a sampler changes, so that they do
/// not depend on the settings. [`crate::Tokenizer::piece`] gives the bytes of an id.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    /// The token.
    pub id: u32,
    /// The natural logarithm of its probability.
    pub logprob: f64,
    /// The best tokens with theirs, the best first.
    pub top: Vec<(u32, f64)>,
}

impl TokenLogprobs {
    /// Of the token chosen from a row of logits, with the `n` best.
    pub(crate) fn new(logits: &[f32], id: u32, n: usize) -> Result<TokenLogprobs, SampleError> {
        let (logprob, top) = sample::logprobs(logits, id, n)?;
        Ok(TokenLogprobs { id, logprob, top })
    }
}
