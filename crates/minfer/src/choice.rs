//! How an answer's tokens are chosen, one after the other.

use sample::{SampleError, Sampler};
use text::Tokenizer;

use crate::{Error, GenerateOptions, TokenLogprobs};

/// The next choice of one answer.
pub(crate) struct Choice {
    sampler: Sampler,
    n_vocab: usize,
    /// Prompt and answer so far.
    pub history: Vec<u32>,
    /// How many tokens of the answer there are.
    pub position: usize,
    /// How many others are asked for with each token.
    n_logprobs: Option<usize>,
    /// How likely the tokens were.
    pub logprobs: Vec<TokenLogprobs>,
}

impl Choice {
    /// For at most so many choices. Refuses settings that make no sense or name tokens that there are not.
    pub fn new(
        tokenizer: &Tokenizer,
        prompt: &[u32],
        most: usize,
        options: &GenerateOptions,
    ) -> Result<Choice, Error> {
        let n_vocab = tokenizer.n_vocab();
        let mut settings = options.sampling.clone();
        // Known before the prompt is read, so said before it is.
        if let Some((id, _)) = settings.logit_bias.iter().find(|(id, _)| *id as usize >= n_vocab) {
            let error = SampleError::IdOutOfRange { id: *id, count: n_vocab };
            return Err(Error::Sample { position: 0, error });
        }
        if options.ignore_eos {
            settings.logit_bias.extend(tokenizer.eog().iter().map(|id| (*id, f32::NEG_INFINITY)));
        }
        let mut history = Vec::with_capacity(prompt.len() + most);
        history.extend_from_slice(prompt);
        Ok(Choice {
            sampler: Sampler::new(settings)?,
            n_vocab,
            history,
            position: 0,
            n_logprobs: options.logprobs,
            logprobs: Vec::new(),
        })
    }

    /// The next token, given all logits.
    pub fn make(&mut self, logits: &[f32]) -> Result<u32, SampleError> {
        // Rows beyond the vocabulary are padding of the matrix.
        let logits = &logits[..self.n_vocab.min(logits.len())];
        let token = self.sampler.sample(logits, &self.history, self.position as u64)?;
        if let Some(n) = self.n_logprobs {
            self.logprobs.push(TokenLogprobs::new(logits, token, n)?);
        }
        Ok(token)
    }
}
