//! How an answer's tokens are chosen, one after the other.

use constrain::{ConstrainError, Constraint, Matcher};
use sample::{SampleError, Sampler};
use text::Tokenizer;

use crate::{Error, GenerateOptions, TokenLogprobs};

/// The next choice of one answer.
pub(crate) struct Choice {
    sampler: Sampler,
    n_vocab: usize,
    /// What the answer is to obey, and where it is in that.
    matcher: Option<Matcher>,
    /// Room for the logits of what may follow.
    allowed: Vec<f32>,
    /// Prompt and answer so far.
    history: Vec<u32>,
    /// How many tokens of the answer there are.
    position: usize,
    /// How many others are asked for with each token.
    n_logprobs: Option<usize>,
    /// How likely the tokens were.
    pub logprobs: Vec<TokenLogprobs>,
}

impl Choice {
    /// For at most so many choices. Refuses settings that make no sense or name tokens that there are not, and a
    /// constraint that is for another vocabulary or that no token obeys.
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
        let mut matcher = options.constraint.as_ref().map(Constraint::matcher);
        if let Some(matcher) = &mut matcher {
            let found = matcher.vocabulary().n_tokens();
            if found != n_vocab || matcher.vocabulary().ends() != tokenizer.eog() {
                return Err(Error::OtherVocabulary { found, expected: n_vocab });
            }
            matcher.mask().map_err(|error| Error::Constrain { position: 0, error })?;
        }
        let mut history = Vec::with_capacity(prompt.len() + most);
        history.extend_from_slice(prompt);
        Ok(Choice {
            sampler: Sampler::new(settings)?,
            n_vocab,
            matcher,
            allowed: Vec::new(),
            history,
            position: 0,
            n_logprobs: options.logprobs,
            logprobs: Vec::new(),
        })
    }

    /// The next token, given all logits.
    pub fn make(&mut self, logits: &[f32]) -> Result<u32, Error> {
        let position = self.position;
        let failed = |error: SampleError| Error::Sample { position, error };
        // Rows beyond the vocabulary are padding of the matrix.
        let logits = &logits[..self.n_vocab.min(logits.len())];
        let constrain = |error: ConstrainError| Error::Constrain { position, error };
        let token = match &mut self.matcher {
            None => self.sampler.sample(logits, &self.history, position as u64).map_err(failed)?,
            Some(matcher) => {
                self.allowed.clear();
                self.allowed.extend_from_slice(logits);
                matcher.mask().map_err(constrain)?.apply(&mut self.allowed);
                let token =
                    self.sampler.sample(&self.allowed, &self.history, position as u64).map_err(failed)?;
                matcher.advance(token).map_err(constrain)?;
                token
            }
        };
        if let Some(n) = self.n_logprobs {
            self.logprobs.push(TokenLogprobs::new(logits, token, n).map_err(failed)?);
        }
        self.history.push(token);
        self.position += 1;
        Ok(token)
    }

    /// Whether the answer obeys its constraint and nothing can follow.
    pub fn is_complete(&self) -> bool {
        self.matcher.as_ref().is_some_and(Matcher::is_finished)
    }
}
