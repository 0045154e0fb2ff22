//! A prompt in, an answer out, token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::choice::Choice;
use crate::{Error, Session, TokenLogprobs};
use constrain::Constraint;
use runtime::{Item, Memory, Rows, SeqId};
use sample::Settings;

/// What to generate.
#[derive(Clone, Debug, Default)]
pub struct GenerateOptions {
    /// At most this many tokens; without, until the model ends or the context does.
    pub n_predict: Option<usize>,
    /// How tokens are chosen.
    pub sampling: Settings,
    /// Texts that end the answer, wherever tokens begin and end in them. Nothing of them is given out.
    pub stop: Vec<String>,
    /// How likely each token was, with so many others that could have stood in its place.
    pub logprobs: Option<usize>,
    /// Never choose a token that ends the answer. One that obeys a constraint ends all the same where nothing can follow.
    pub ignore_eos: bool,
    /// What the answer obeys, made with [`crate::Model::vocabulary`]. It ends as soon as nothing can follow; one that is
    /// cut off before ([`FinishReason::Length`], [`FinishReason::Context`]) is the beginning of what would obey. Stop texts
    /// end it as they end any answer.
    pub constraint: Option<Constraint>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it, or a stop text was there.
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

/// What happens while an answer is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// So many tokens of the prompt are done.
    Prompt {
        /// Tokens done.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// The next token of the answer; its text, if it has any, follows when it is known to be part of the answer.
    Token {
        /// The token.
        id: u32,
        /// How likely it was, if that was asked for.
        logprobs: Option<&'a TokenLogprobs>,
    },
    /// The next whole characters of the answer.
    Text(&'a str),
    /// The answer is complete, and its positions are still in the cache. What the sink returns changes nothing.
    Finished(FinishReason),
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Its tokens, with those that ended it.
    pub tokens: Vec<u32>,
    /// How likely they were, if that was asked for.
    pub logprobs: Vec<TokenLogprobs>,
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
    /// Bytes held at its end, before its pages were given back.
    pub memory: Memory,
}

impl Session {
    /// Answers a prompt. `sink` is told what happens and may end the answer; text that was complete by then still
    /// comes.
    ///
    /// Choice number `i` depends on the tokens before it and the settings alone: not on batch size, threads
    /// or what else the session did.
    pub fn generate(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        self.expect_logits()?;
        let n_ctx = self.n_ctx();
        let answer = Answer::new(self.model.tokenizer(), n_ctx, prompt, options)?;
        let seq = self.engine.create();
        let answer = self.answer(seq, prompt, answer, sink);
        if let Ok(generation) = &answer {
            let _ = sink(Event::Finished(generation.finish_reason));
        }
        let memory = self.engine.memory();
        self.engine.remove(seq)?;
        Ok(Generation { memory, ..answer? })
    }

    fn answer(
        &mut self,
        seq: SeqId,
        prompt: &[u32],
        mut answer: Answer,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let started = Instant::now();
        if let Some(reason) = answer.is_nothing() {
            return Ok(answer.finish(reason));
        }
        let mut next = match self.process_prompt(seq, prompt, &mut answer.choice, sink)? {
            Some(first) => first,
            None => return Ok(answer.finish(FinishReason::Cancelled)),
        };
        answer.prompt_time = started.elapsed();
        answer.first_token_at = Some(Instant::now());
        let reason = loop {
            let ended = answer.advance(next, self.model.tokenizer(), sink);
            if let Some(reason) = ended {
                break reason;
            }
            if self.engine.len(seq)? == self.n_ctx() {
                break FinishReason::Context;
            }
            next = self.next(seq, &[next], &mut answer.choice)?;
        };
        let reason = if answer.give_rest(sink) { FinishReason::Stop } else { reason };
        Ok(answer.finish(reason))
    }

    /// The first token of the answer; none if the sink ended it. The prompt goes batch by batch, so that the
    /// sink hears of it.
    fn process_prompt(
        &mut self,
        seq: SeqId,
        prompt: &[u32],
        choice: &mut Choice,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Option<u32>, Error> {
        let (n_ubatch, total) = (self.engine.params().n_ubatch, prompt.len());
        let (before, last) = prompt.split_at((total - 1) / n_ubatch * n_ubatch);
        for (i, batch) in before.chunks(n_ubatch).enumerate() {
            let done = i * n_ubatch;
            if sink(Event::Prompt { done, total }).is_break() {
                return Ok(None);
            }
            self.engine.process(&[Item { seq, tokens: batch, rows: Rows::None }], &mut |_, _, _| {})?;
        }
        if sink(Event::Prompt { done: before.len(), total }).is_break() {
            return Ok(None);
        }
        let first = self.next(seq, last, choice)?;
        let ended = sink(Event::Prompt { done: total, total }).is_break();
        Ok((!ended).then_some(first))
    }

    /// Appends tokens to a sequence and chooses the one after them.
    fn next(&mut self, seq: SeqId, tokens: &[u32], choice: &mut Choice) -> Result<u32, Error> {
        let mut chosen = None;
        let items = [Item { seq, tokens, rows: Rows::Last }];
        self.engine.process(&items, &mut |_, _, logits| chosen = Some(choice.make(logits)))?;
        chosen.expect("one row was asked for")
    }
}
