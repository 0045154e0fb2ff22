//! A prompt in, an answer out, token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::choice::Choice;
use crate::{Error, Sequence, Session, TokenLogprobs};
use constrain::Constraint;
use runtime::{Memory, Rows};
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
    /// Tokens of the prompt that the cache had: only the others were computed.
    pub cached_tokens: usize,
    /// From the start to the logits of the prompt.
    pub prompt_time: Duration,
    /// When the first token was chosen.
    pub first_token_at: Option<Instant>,
    /// From the first token to the last.
    pub decode_time: Duration,
    /// Bytes held at its end.
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
        let mut sequence = self.sequence();
        let answer = self.generate_in(&mut sequence, prompt, options, sink);
        self.remove(sequence)?;
        answer
    }

    /// The same in a sequence that may have the beginning of the prompt already: only the rest is computed, and the answer is
    /// the same. Afterwards the sequence has the prompt and the answer, but for the answer's last token.
    pub fn generate_in(
        &mut self,
        sequence: &mut Sequence,
        prompt: &[u32],
        options: &GenerateOptions,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        self.expect_logits()?;
        let answer = Answer::new(self.model.tokenizer(), self.n_ctx(), prompt, options)?;
        let generation = self.answer(sequence, prompt, answer, sink)?;
        let _ = sink(Event::Finished(generation.finish_reason));
        Ok(Generation { memory: self.engine.memory(), ..generation })
    }

    fn answer(
        &mut self,
        sequence: &mut Sequence,
        prompt: &[u32],
        mut answer: Answer,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let started = Instant::now();
        if let Some(reason) = answer.is_nothing() {
            return Ok(answer.finish(reason));
        }
        // The logits of the last token are wanted, whether or not the cache has it.
        answer.cached_tokens = self.cut(sequence, &prompt[..prompt.len() - 1])?;
        sequence.tokens.reserve(prompt.len() + answer.tokens.capacity() - answer.cached_tokens);
        let mut next = match self.process_prompt(sequence, prompt, &mut answer.choice, sink)? {
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
            if sequence.tokens.len() == self.n_ctx() {
                break FinishReason::Context;
            }
            next = self.next(sequence, &[next], &mut answer.choice)?;
        };
        let reason = if answer.give_rest(sink) { FinishReason::Stop } else { reason };
        Ok(answer.finish(reason))
    }

    /// The first token of the answer; none if the sink ended it.
    fn process_prompt(
        &mut self,
        sequence: &mut Sequence,
        prompt: &[u32],
        choice: &mut Choice,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Option<u32>, Error> {
        let (n_ubatch, total) = (self.engine.params().n_ubatch, prompt.len());
        let new = &prompt[sequence.tokens.len()..];
        let (before, last) = new.split_at((new.len() - 1) / n_ubatch * n_ubatch);
        if self.append(sequence, before, total, sink)?.is_break() {
            return Ok(None);
        }
        if sink(Event::Prompt { done: total - last.len(), total }).is_break() {
            return Ok(None);
        }
        let first = self.next(sequence, last, choice)?;
        let ended = sink(Event::Prompt { done: total, total }).is_break();
        Ok((!ended).then_some(first))
    }

    /// Appends tokens to a sequence and chooses the one after them.
    fn next(&mut self, sequence: &mut Sequence, tokens: &[u32], choice: &mut Choice) -> Result<u32, Error> {
        let mut chosen = None;
        self.process(sequence, tokens, Rows::Last, &mut |logits| chosen = Some(choice.make(logits)))?;
        chosen.expect("one row was asked for")
    }
}
