//! A prompt in, an answer out, token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use runtime::{Item, Memory, Rows, SeqId};
use sample::{Sampler, Settings};
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

/// What happens while an answer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// So many tokens of the prompt are done.
    Prompt {
        /// Tokens done.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// The next whole characters of the answer.
    Text(&'a str),
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
    /// Bytes held at its end, before its pages were given back.
    pub memory: Memory,
}

impl Session {
    /// Answers a prompt. `sink` is told what happens and may end the answer.
    ///
    /// Choice number `i` depends on the tokens before it and the settings alone: not on batch size, threads
    /// or what else the session did.
    pub fn generate(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        if prompt.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let n_ctx = self.n_ctx();
        if prompt.len() > n_ctx {
            return Err(Error::PromptTooLong { prompt: prompt.len(), n_ctx });
        }
        let sampler = Sampler::new(options.sampling.clone())?;
        let n_vocab = self.model.tokenizer().n_vocab();
        let choice = Choice { sampler, n_vocab, history: prompt.to_vec(), position: 0 };
        let seq = self.engine.create();
        let answer = self.answer(seq, prompt, options, choice, sink);
        let memory = self.engine.memory();
        self.engine.remove(seq)?;
        Ok(Generation { memory, ..answer? })
    }

    fn answer(
        &mut self,
        seq: SeqId,
        prompt: &[u32],
        options: &GenerateOptions,
        choice: Choice,
        sink: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let started = Instant::now();
        let mut answer = Answer::new(choice);
        let wanted = options.n_predict.unwrap_or(usize::MAX);
        if wanted == 0 {
            return Ok(answer.finish(FinishReason::Length));
        }
        let mut next = match self.process_prompt(seq, prompt, &mut answer.choice, sink)? {
            Some(first) => first,
            None => return Ok(answer.finish(FinishReason::Cancelled)),
        };
        answer.prompt_time = started.elapsed();
        answer.first_token_at = Some(Instant::now());
        let reason = loop {
            answer.tokens.push(next);
            if self.model.tokenizer().is_eog(next) {
                break FinishReason::Stop;
            }
            if !self.model.tokenizer().is_control(next) {
                let piece = answer.decoder.push(self.model.tokenizer().piece(next));
                if answer.give(&piece, sink).is_break() {
                    break FinishReason::Cancelled;
                }
            }
            if answer.tokens.len() >= wanted {
                break FinishReason::Length;
            }
            if self.engine.len(seq)? == self.n_ctx() {
                break FinishReason::Context;
            }
            next = self.next(seq, &[next], &mut answer.choice)?;
        };
        let rest = answer.decoder.finish();
        // The answer ends here, whatever the sink says.
        let _ = answer.give(&rest, sink);
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
        let position = choice.position;
        let token =
            chosen.expect("one row was asked for").map_err(|error| Error::Sample { position, error })?;
        choice.history.push(token);
        choice.position += 1;
        Ok(token)
    }
}

/// An answer in the making.
struct Answer {
    choice: Choice,
    decoder: StreamDecoder,
    tokens: Vec<u32>,
    text: String,
    prompt_time: Duration,
    first_token_at: Option<Instant>,
}

impl Answer {
    fn new(choice: Choice) -> Answer {
        Answer {
            choice,
            decoder: StreamDecoder::new(),
            tokens: Vec::new(),
            text: String::new(),
            prompt_time: Duration::ZERO,
            first_token_at: None,
        }
    }

    /// Whole characters go to the caller and to the text.
    fn give(&mut self, piece: &str, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> ControlFlow<()> {
        self.text.push_str(piece);
        if piece.is_empty() { ControlFlow::Continue(()) } else { sink(Event::Text(piece)) }
    }

    fn finish(self, finish_reason: FinishReason) -> Generation {
        Generation {
            tokens: self.tokens,
            text: self.text,
            finish_reason,
            prompt_time: self.prompt_time,
            first_token_at: self.first_token_at,
            decode_time: self.first_token_at.map_or(Duration::ZERO, |at| at.elapsed()),
            memory: Memory::default(),
        }
    }
}

/// The next choice of one answer.
struct Choice {
    sampler: Sampler,
    n_vocab: usize,
    /// Prompt and answer so far.
    history: Vec<u32>,
    position: usize,
}

impl Choice {
    fn make(&mut self, logits: &[f32]) -> Result<u32, sample::SampleError> {
        // Rows beyond the vocabulary are padding of the matrix.
        let logits = &logits[..self.n_vocab.min(logits.len())];
        self.sampler.sample(logits, &self.history, self.position as u64)
    }
}
