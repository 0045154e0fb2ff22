//! Requests: one that waits, and one in the batches.

use std::ops::ControlFlow;
use std::time::Instant;

use runtime::SeqId;
use text::Tokenizer;

use super::request::{Cancel, Happening, Usage};
use crate::answer::Answer;
use crate::{Error, Event, FinishReason};

/// Who hears of a request. Called on the computing thread, so it must not wait; it may end the request.
pub type Sink = Box<dyn FnMut(Happening) -> ControlFlow<()> + Send>;

/// A request that was accepted.
pub(super) struct Waiting {
    pub prompt: Vec<u32>,
    pub answer: Answer,
    pub sink: Sink,
    pub cancel: Cancel,
    pub since: Instant,
}

/// A request in the batches.
pub(super) struct Running {
    pub seq: SeqId,
    /// The prompt, then the answer; positions of the sequence are the first of them.
    pub tokens: Vec<u32>,
    pub prompt_tokens: usize,
    /// Tokens in the cache.
    pub done: usize,
    pub answer: Answer,
    pub sink: Sink,
    pub cancel: Cancel,
    pub usage: Usage,
    pub begun: Instant,
    pub over: Option<FinishReason>,
}

impl Waiting {
    /// Whether nobody wants the answer any more; then it is over.
    pub fn is_given_up(&mut self) -> bool {
        if !self.cancel.is_cancelled() {
            return false;
        }
        let usage =
            Usage { prompt_tokens: self.prompt.len(), queue_time: self.since.elapsed(), ..Usage::default() };
        let _ = (self.sink)(Happening::Finished { reason: FinishReason::Cancelled, usage });
        true
    }
}

impl Running {
    pub fn is_answering(&self) -> bool {
        self.done >= self.prompt_tokens
    }

    /// A token was chosen.
    pub fn took(&mut self, token: u32, tokenizer: &Tokenizer, n_ctx: usize) {
        let now = Instant::now();
        let first = *self.answer.first_token_at.get_or_insert(now);
        self.usage.prompt_time = first - self.begun;
        self.usage.decode_time = now - first;
        self.usage.completion_tokens += 1;
        let sink = &mut self.sink;
        let ended = self.answer.advance(token, tokenizer, &mut |event| give(sink, event));
        // One that a context has no position for ends the answer too.
        let full = (self.done == n_ctx).then_some(FinishReason::Context);
        self.tokens.push(token);
        self.over = self.over.or(ended).or(full);
    }

    /// Tells an error, and nothing more after it.
    pub fn fail(&mut self, error: Error) {
        let _ = (self.sink)(Happening::Failed(error));
        self.sink = Box::new(|_| ControlFlow::Break(()));
        self.over = Some(FinishReason::Cancelled);
    }

    /// Tells the end, with the text that was held back.
    pub fn finish(self, reason: FinishReason) {
        let Running { mut answer, mut sink, usage, .. } = self;
        let stopped = answer.give_rest(&mut |event| give(&mut sink, event));
        let reason = if stopped { FinishReason::Stop } else { reason };
        let _ = sink(Happening::Finished { reason, usage });
    }
}

fn give(sink: &mut Sink, event: Event) -> ControlFlow<()> {
    match event {
        Event::Token { id, logprobs } => sink(Happening::Token { id, logprobs: logprobs.cloned() }),
        Event::Text(text) => sink(Happening::Text(text.to_owned())),
        Event::Prompt { .. } | Event::Finished(_) => ControlFlow::Continue(()),
    }
}
