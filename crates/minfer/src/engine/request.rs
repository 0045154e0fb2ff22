//! What goes into an engine and what comes out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::{Error, FinishReason, GenerateOptions, TokenLogprobs};

/// A prompt and what to do with it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The prompt's tokens.
    pub prompt: Vec<u32>,
    /// How to answer.
    pub options: GenerateOptions,
}

/// What happens to a request, in this order: `Started` once, tokens and text, `Finished` or `Failed` once.
#[derive(Debug)]
pub enum Happening {
    /// The request left the queue.
    Started {
        /// Positions of the prompt that the cache had already.
        cached_tokens: usize,
    },
    /// So many tokens of the prompt are done, those of the cache included.
    Prompt {
        /// Tokens done.
        done: usize,
    },
    /// The next token of the answer; its text, if it has any, follows when it is known to be part of the answer.
    Token {
        /// The token.
        id: u32,
        /// How likely it was, if that was asked for.
        logprobs: Option<TokenLogprobs>,
    },
    /// The next whole characters of the answer.
    Text(String),
    /// The answer is complete.
    Finished {
        /// Why it ended.
        reason: FinishReason,
        /// What it took.
        usage: Usage,
    },
    /// The request failed; others go on.
    Failed(Error),
}

/// What an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them the cache had: only the others were computed.
    pub cached_tokens: usize,
    /// Tokens of the answer, with the one that ended it.
    pub completion_tokens: usize,
    /// From the request to the first step that it was part of.
    pub queue_time: Duration,
    /// From then to the first token.
    pub prompt_time: Duration,
    /// From the first token to the last.
    pub decode_time: Duration,
}

/// The happenings of a request. Dropping it cancels the request.
#[derive(Debug)]
pub struct Answers {
    pub(super) receiver: Receiver<Happening>,
    pub(super) cancel: Cancel,
}

impl Answers {
    /// What ends the request from elsewhere.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

impl Iterator for Answers {
    type Item = Happening;

    /// Waits for the next; none after the last.
    fn next(&mut self) -> Option<Happening> {
        self.receiver.recv().ok()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Ends a request: before its next step, wherever it is.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends it.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
