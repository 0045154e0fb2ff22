//! A prompt in, an answer out, token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use constrain::Constraint;
use runtime::{Item, Memory, Rows, SeqId};
use sample::Settings;
use text::{StopMatcher, StreamDecoder};

use crate::choice::Choice;
use crate::{Error, Session, TokenLogprobs};

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
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let n_ctx = self.n_ctx();
        if prompt.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: prompt.len(), n_ctx });
        }
        let most = (n_ctx - prompt.len() + 1).min(options.n_predict.unwrap_or(usize::MAX));
        let choice = Choice::new(self.model.tokenizer(), prompt, most, options)?;
        let answer = Answer::new(choice, most, StopMatcher::new(&options.stop)?);
        let seq = self.engine.create();
        let answer = self.answer(seq, prompt, options, answer, sink);
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
        options: &GenerateOptions,
        mut answer: Answer,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let started = Instant::now();
        let wanted = options.n_predict.unwrap_or(usize::MAX);
        if wanted == 0 {
            return Ok(answer.finish(FinishReason::Length));
        }
        // Only the empty answer obeys.
        if answer.choice.is_complete() {
            return Ok(answer.finish(FinishReason::Stop));
        }
        let mut next = match self.process_prompt(seq, prompt, &mut answer.choice, sink)? {
            Some(first) => first,
            None => return Ok(answer.finish(FinishReason::Cancelled)),
        };
        answer.prompt_time = started.elapsed();
        answer.first_token_at = Some(Instant::now());
        let reason = loop {
            let told = answer.take(next, sink);
            if self.model.tokenizer().is_eog(next) {
                break FinishReason::Stop;
            }
            let mut given = ControlFlow::Continue(());
            if !self.model.tokenizer().is_control(next) {
                given = answer.decode(self.model.tokenizer().piece(next), sink);
            }
            if answer.stops.stopped() || answer.choice.is_complete() {
                break FinishReason::Stop;
            }
            if told.is_break() || given.is_break() {
                break FinishReason::Cancelled;
            }
            if answer.tokens.len() >= wanted {
                break FinishReason::Length;
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

/// An answer in the making.
struct Answer {
    choice: Choice,
    decoder: StreamDecoder,
    stops: StopMatcher,
    tokens: Vec<u32>,
    text: String,
    prompt_time: Duration,
    first_token_at: Option<Instant>,
}

impl Answer {
    /// An answer of at most so many tokens.
    fn new(choice: Choice, most: usize, stops: StopMatcher) -> Answer {
        Answer {
            choice,
            decoder: StreamDecoder::new(),
            stops,
            tokens: Vec::with_capacity(most),
            text: String::new(),
            prompt_time: Duration::ZERO,
            first_token_at: None,
        }
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
    fn give_rest(&mut self, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> bool {
        let (piece, stopped) = self.stops.push(self.decoder.finish());
        let rest = piece.to_owned() + self.stops.finish();
        let _ = give(&mut self.text, &rest, sink);
        stopped
    }

    fn finish(self, finish_reason: FinishReason) -> Generation {
        // A token that was chosen while the caller ended the answer is not in it.
        let mut logprobs = self.choice.logprobs;
        logprobs.truncate(self.tokens.len());
        Generation {
            tokens: self.tokens,
            logprobs,
            text: self.text,
            finish_reason,
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
