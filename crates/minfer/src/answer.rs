//! An answer in the making: its tokens, its text, when it ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use runtime::Memory;
use text::{StopMatcher, StreamDecoder, Tokenizer};

use crate::choice::Choice;
use crate::{Error, Event, FinishReason, GenerateOptions, Generation};

/// An answer in the making.
pub(crate) struct Answer {
    pub choice: Choice,
    decoder: StreamDecoder,
    stops: StopMatcher,
    /// Tokens that there may be.
    wanted: usize,
    pub tokens: Vec<u32>,
    text: String,
    /// Tokens of the prompt that the cache had.
    pub cached_tokens: usize,
    pub prompt_time: Duration,
    pub first_token_at: Option<Instant>,
}

impl Answer {
    /// Of a prompt in a context of so many positions. Refuses what could not be begun.
    pub fn new(
        tokenizer: &Tokenizer,
        n_ctx: usize,
        prompt: &[u32],
        options: &GenerateOptions,
    ) -> Result<Answer, Error> {
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        if prompt.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: prompt.len(), n_ctx });
        }
        let wanted = options.n_predict.unwrap_or(usize::MAX);
        let most = (n_ctx - prompt.len() + 1).min(wanted);
        Ok(Answer {
            choice: Choice::new(tokenizer, prompt, most, options)?,
            decoder: StreamDecoder::new(),
            stops: StopMatcher::new(&options.stop)?,
            wanted,
            tokens: Vec::with_capacity(most),
            text: String::new(),
            cached_tokens: 0,
            prompt_time: Duration::ZERO,
            first_token_at: None,
        })
    }

    /// Why the answer is over before its first token, if it is.
    pub fn is_nothing(&self) -> Option<FinishReason> {
        match self.wanted {
            0 => Some(FinishReason::Length),
            // Only the empty answer obeys.
            _ => self.choice.is_complete().then_some(FinishReason::Stop),
        }
    }

    /// The next token: it is given out, and what text there is. Why the answer ends with it, if it does.
    pub fn advance(
        &mut self,
        token: u32,
        tokenizer: &Tokenizer,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Option<FinishReason> {
        let told = self.take(token, sink);
        if tokenizer.is_eog(token) {
            return Some(FinishReason::Stop);
        }
        let mut given = ControlFlow::Continue(());
        if !tokenizer.is_control(token) {
            given = self.decode(tokenizer.piece(token), sink);
        }
        if self.stops.stopped() || self.choice.is_complete() {
            return Some(FinishReason::Stop);
        }
        if told.is_break() || given.is_break() {
            return Some(FinishReason::Cancelled);
        }
        (self.tokens.len() >= self.wanted).then_some(FinishReason::Length)
    }

    /// A token belongs to the answer.
    fn take(&mut self, id: u32, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
        self.tokens.push(id);
        sink(Event::Token { id, logprobs: self.choice.logprobs.last() })
    }

    /// Bytes of a token: what is whole characters by now, and cannot be the beginning of a stop text, is given out.
    fn decode(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
        let (piece, _) = self.stops.push(self.decoder.push(bytes));
        give(&mut self.text, piece, sink)
    }

    /// What was held back; whether it is a stop text after all. The answer ends here, whatever the sink says.
    pub fn give_rest(&mut self, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> bool {
        let (piece, stopped) = self.stops.push(self.decoder.finish());
        let rest = piece.to_owned() + self.stops.finish();
        let _ = give(&mut self.text, &rest, sink);
        stopped
    }

    pub fn finish(self, finish_reason: FinishReason) -> Generation {
        // A token that was chosen while the caller ended the answer is not in it.
        let mut logprobs = self.choice.logprobs;
        logprobs.truncate(self.tokens.len());
        Generation {
            tokens: self.tokens,
            logprobs,
            text: self.text,
            finish_reason,
            cached_tokens: self.cached_tokens,
            prompt_time: self.prompt_time,
            first_token_at: self.first_token_at,
            decode_time: self.first_token_at.map_or(Duration::ZERO, |at| at.elapsed()),
            memory: Memory::default(),
        }
    }
}

/// Text goes to the caller and to the answer.
fn give(text: &mut String, piece: &str, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
    text.push_str(piece);
    if piece.is_empty() { ControlFlow::Continue(()) } else { sink(Event::Text(piece)) }
}
