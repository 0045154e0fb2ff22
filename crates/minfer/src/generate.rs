//! A prompt in, an answer out, token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use runtime::{Item, Rows};
use sample::Settings;
use text::StreamDecoder;

use crate::{Error, Session};

/// What to generate.
#[derive(Clone, Debug, Default)]
pub struct GenerateOptions {
    /// At most this many tokens; without, until the model ends or the context does.
    pub n_predict: Option<usize>,
    /// How tokens are chosen.
    pub sampling: Settings,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it.
    Stop,
    /// As many tokens as asked for.
    Length,
    /// The context is full.
    Context,
    /// The caller ended it.
    Cancelled,
}

impl FinishReason {
    /// As in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::Context => "context",
            FinishReason::Cancelled => "cancelled",
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Its tokens, with the one that ended it.
    pub tokens: Vec<u32>,
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// From the start to the logits of the prompt.
    pub prompt_time: Duration,
    /// When the first token was chosen.
    pub first_token_at: Option<Instant>,
    /// From the first token to the last.
    pub decode_time: Duration,
}

impl Session {
    /// Answers a prompt. `sink` gets whole characters as they come and may end the answer.
    ///
    /// Choice number `i` depends on the tokens before it and the settings alone: not on batch size, threads
    /// or what else the session did.
    pub fn generate(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        sink: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let n_ctx = self.n_ctx();
        if prompt.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: prompt.len(), n_ctx });
        }
        let seq = self.engine.create();
        let answer = self.answer(seq, prompt, options, sink);
        self.engine.remove(seq)?;
        answer
    }

    fn answer(
        &mut self,
        seq: runtime::SeqId,
        prompt: &[u32],
        options: &GenerateOptions,
        sink: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let started = Instant::now();
        let mut choice =
            Choice { sampling: &options.sampling, n_vocab: self.model.tokenizer().n_vocab(), position: 0 };
        let mut decoder = StreamDecoder::new();
        let (mut tokens, mut text) = (Vec::new(), String::new());
        let mut prompt_time = Duration::ZERO;
        let mut first_token_at = None;
        let finish_reason = loop {
            if options.n_predict.is_some_and(|n| tokens.len() >= n) {
                break FinishReason::Length;
            }
            if prompt.len() + tokens.len() > self.n_ctx() {
                break FinishReason::Context;
            }
            let next = match tokens.last() {
                None => self.next(seq, prompt, &mut choice)?,
                Some(last) => self.next(seq, &[*last], &mut choice)?,
            };
            if first_token_at.is_none() {
                prompt_time = started.elapsed();
                first_token_at = Some(Instant::now());
            }
            tokens.push(next);
            if self.model.tokenizer().is_eog(next) {
                break FinishReason::Stop;
            }
            let piece = if self.model.tokenizer().is_control(next) {
                String::new()
            } else {
                decoder.push(self.model.tokenizer().piece(next))
            };
            text.push_str(&piece);
            if !piece.is_empty() && sink(&piece).is_break() {
                break FinishReason::Cancelled;
            }
        };
        let rest = decoder.finish();
        if !rest.is_empty() {
            // The answer ends here anyway.
            let _ = sink(&rest);
            text.push_str(&rest);
        }
        let decode_time = first_token_at.map_or(Duration::ZERO, |at| at.elapsed());
        Ok(Generation { tokens, text, finish_reason, prompt_time, first_token_at, decode_time })
    }

    /// Appends tokens to a sequence and chooses the one after them.
    fn next(&mut self, seq: runtime::SeqId, tokens: &[u32], choice: &mut Choice) -> Result<u32, Error> {
        let mut chosen = None;
        let items = [Item { seq, tokens, rows: Rows::Last }];
        self.engine.process(&items, &mut |_, _, logits| chosen = Some(choice.make(logits)))?;
        let position = choice.position;
        choice.position += 1;
        chosen.expect("one row was asked for").map_err(|error| Error::Sample { position, error })
    }
}

/// The next choice of one answer.
struct Choice<'a> {
    sampling: &'a Settings,
    n_vocab: usize,
    position: usize,
}

impl Choice<'_> {
    fn make(&self, logits: &[f32]) -> Result<u32, sample::SampleError> {
        // Rows beyond the vocabulary are padding of the matrix.
        sample::sample(&logits[..self.n_vocab.min(logits.len())], self.sampling, self.position as u64)
    }
}
