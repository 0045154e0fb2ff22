//! The thread that computes: which tokens of which requests go into the next batch.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use runtime::{Item, Rows, RuntimeError, SeqId};

use super::kept::{Kept, POSITIONS_MIN, common};
use super::request::{Happening, Usage};
use super::running::{Running, Waiting};
use super::saved::FileCommand;
use super::stats::Figures;
use crate::{Error, FinishReason, Session};

/// Where layers let go of positions, a prompt's states are kept about so many positions apart, and at its end.
const STATE_STEP: usize = 256;

pub(super) enum Command {
    Begin(Box<Waiting>),
    /// Gives back what is kept.
    Forget,
    File(FileCommand),
    /// Ends once all requests are over.
    Stop,
}

pub(super) struct Scheduler {
    pub(super) session: Session,
    commands: Receiver<Command>,
    waiting: VecDeque<Box<Waiting>>,
    running: Vec<Running>,
    pub(super) kept: Kept,
    parallel: usize,
    /// Tokens of prompts in a batch.
    chunk: usize,
    figures: Arc<Figures>,
    stopping: bool,
}

impl Scheduler {
    pub fn new(
        session: Session,
        commands: Receiver<Command>,
        kept: usize,
        chunk: usize,
        figures: Arc<Figures>,
    ) -> Scheduler {
        let parallel = session.engine.params().n_seq;
        let window = session.model().config().window.is_some();
        let scheduler = Scheduler {
            session,
            commands,
            waiting: VecDeque::new(),
            running: Vec::with_capacity(parallel),
            kept: Kept::new(kept, window),
            parallel,
            chunk,
            figures,
            stopping: false,
        };
        // Known before the first step.
        scheduler.tell_figures();
        scheduler
    }

    /// The life of the thread: until it is told to stop, or nobody can tell it anything any more, and all is done.
    pub fn run(mut self) {
        loop {
            self.hear();
            let figures = &self.figures;
            self.waiting.retain_mut(|request| {
                let given_up = request.is_given_up();
                if given_up {
                    figures.left_the_queue();
                }
                !given_up
            });
            self.admit();
            if !self.running.is_empty() {
                self.step();
            }
            self.end_those_that_are_over();
            self.tell_figures();
            if self.stopping && self.running.is_empty() && self.waiting.is_empty() {
                return;
            }
        }
    }

    /// Takes all commands; waits for one where there is nothing else to do.
    fn hear(&mut self) {
        loop {
            let idle = self.running.is_empty() && self.waiting.is_empty() && !self.stopping;
            let command = match idle {
                true => self.commands.recv().map_err(|_| TryRecvError::Disconnected),
                false => self.commands.try_recv(),
            };
            match command {
                Ok(Command::Begin(request)) => self.waiting.push_back(request),
                Ok(Command::Forget) => {
                    while self.kept.forget_oldest(&mut self.session.engine).expect("kept sequences exist") {}
                    self.tell_figures();
                }
                Ok(Command::File(command)) => self.obey(command),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => {
                    self.stopping = true;
                    return;
                }
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// Lets requests in, in their order, as long as there is room. One that begins as a prompt that is being read waits
    /// for that, and holds a place.
    fn admit(&mut self) {
        let mut held = 0;
        while self.running.len() + held < self.parallel && held < self.waiting.len() {
            if self.is_being_read(&self.waiting[held].prompt) {
                held += 1;
                continue;
            }
            let request = self.waiting.remove(held).expect("one that waits");
            self.figures.left_the_queue();
            let Waiting { prompt, answer, mut sink, cancel, since } = *request;
            let live = self.running.iter().filter(|request| request.over.is_none());
            let live: Vec<(SeqId, &[u32])> =
                live.map(|request| (request.seq, &request.tokens[..request.done])).collect();
            let (seq, cached) = match self.kept.begin(&prompt, &live, &mut self.session.engine) {
                Ok(begun) => begun,
                Err(error) => {
                    let _ = sink(Happening::Failed(error.into()));
                    continue;
                }
            };
            let prompt_tokens = prompt.len();
            let usage = Usage {
                prompt_tokens,
                cached_tokens: cached,
                queue_time: since.elapsed(),
                ..Usage::default()
            };
            let mut over = answer.is_nothing();
            if sink(Happening::Started { cached_tokens: cached }).is_break() {
                over = Some(FinishReason::Cancelled);
            }
            let begun = Instant::now();
            let (tokens, done) = (prompt, cached);
            self.figures.cached_tokens(cached);
            self.running.push(Running {
                seq,
                tokens,
                prompt_tokens,
                done,
                answer,
                sink,
                cancel,
                usage,
                begun,
                over,
            });
        }
    }

    /// Whether a request in the batches will soon have more of a prompt in the cache than there is now, and is the
    /// nearest to it.
    fn is_being_read(&self, prompt: &[u32]) -> bool {
        let live = || self.running.iter().filter(|request| request.over.is_none());
        let done = live().map(|request| common(prompt, &request.tokens[..request.done]));
        let there = done.max().unwrap_or(0).max(self.kept.has(prompt));
        live().filter(|request| !request.is_answering()).any(|request| {
            let coming = common(prompt, &request.tokens);
            coming >= POSITIONS_MIN && coming > there && request.done >= there
        })
    }

    /// One batch: the next token of all that answer, and a chunk of the prompts of the others, the oldest first.
    fn step(&mut self) {
        let mut room = self.session.engine.params().n_ubatch;
        let mut chunk = self.chunk;
        // Of each part of the batch: who, and which of its tokens.
        let mut parts: Vec<(usize, Range<usize>)> = Vec::with_capacity(self.running.len());
        for (index, request) in self.running.iter_mut().enumerate() {
            if request.cancel.is_cancelled() {
                request.over = Some(FinishReason::Cancelled);
            }
            if request.over.is_none() && request.is_answering() {
                parts.push((index, request.done..request.tokens.len()));
                room -= 1;
            }
        }
        for (index, request) in self.running.iter().enumerate() {
            if request.over.is_some() || request.is_answering() {
                continue;
            }
            let mut left = request.prompt_tokens - request.done;
            // Where windows let go of positions, the state before the last token is kept: from it the same prompt goes on.
            if self.kept.window && left > 1 {
                left -= 1;
            }
            let count = left.min(chunk).min(room);
            if count == 0 {
                break;
            }
            parts.push((index, request.done..request.done + count));
            (room, chunk) = (room - count, chunk - count);
        }
        if parts.is_empty() {
            return;
        }
        match self.process(&parts) {
            Ok(chosen) => self.take(&parts, chosen),
            Err(error) => self.fail(&parts, error),
        }
    }

    /// Computes a batch and chooses tokens. Where pages run out, what is kept gives way.
    fn process(
        &mut self,
        parts: &[(usize, Range<usize>)],
    ) -> Result<Vec<Option<Result<u32, Error>>>, RuntimeError> {
        loop {
            let mut chosen: Vec<Option<Result<u32, Error>>> = parts.iter().map(|_| None).collect();
            let (mut items, mut choices) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
            let mut requests: Vec<Option<&mut Running>> = self.running.iter_mut().map(Some).collect();
            for (index, range) in parts {
                let request = requests[*index].take().expect("a request is in a batch once");
                let rows = if range.end == request.tokens.len() { Rows::Last } else { Rows::None };
                items.push(Item { seq: request.seq, tokens: &request.tokens[range.clone()], rows });
                choices.push(&mut request.answer.choice);
            }
            let result = self.session.engine.process(&items, &mut |item, _, logits| {
                chosen[item] = Some(choices[item].make(logits));
            });
            match result {
                Ok(()) => return Ok(chosen),
                Err(error @ RuntimeError::OutOfPages { .. }) => {
                    if !self.kept.forget_oldest(&mut self.session.engine)? {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, parts: &[(usize, Range<usize>)], chosen: Vec<Option<Result<u32, Error>>>) {
        let n_ctx = self.session.n_ctx();
        let computed: usize = parts.iter().map(|(_, range)| range.len()).sum();
        self.figures.computed_tokens(computed);
        for ((index, range), token) in parts.iter().zip(chosen) {
            let request = &mut self.running[*index];
            request.done = range.end;
            if range.start < request.prompt_tokens
                && (request.sink)(Happening::Prompt { done: range.end }).is_break()
            {
                request.over = Some(FinishReason::Cancelled);
            }
            let token = match token {
                Some(Ok(token)) => token,
                Some(Err(error)) => {
                    request.fail(error);
                    continue;
                }
                None => {
                    let passed = range.start / STATE_STEP < range.end / STATE_STEP;
                    let is_last = range.end + 1 == request.prompt_tokens;
                    if self.kept.window && request.over.is_none() && (passed || is_last) {
                        let (seq, tokens) = (request.seq, request.tokens[..request.done].to_vec());
                        let engine = &mut self.session.engine;
                        let forked = engine.fork(seq).and_then(|copy| self.kept.keep(copy, tokens, engine));
                        forked.expect("the sequence exists");
                    }
                    continue;
                }
            };
            let tokenizer = self.session.model.tokenizer();
            request.took(token, tokenizer, n_ctx);
            self.figures.generated_token();
        }
    }

    /// An error of the device or the cache ends the requests of the batch.
    fn fail(&mut self, parts: &[(usize, Range<usize>)], error: RuntimeError) {
        let text = error.to_string();
        for (index, _) in parts {
            self.running[*index].fail(Error::Batch(text.clone()));
        }
    }

    fn end_those_that_are_over(&mut self) {
        let mut index = 0;
        while index < self.running.len() {
            let Some(reason) = self.running[index].over else {
                index += 1;
                continue;
            };
            let request = self.running.remove(index);
            // After an error a sequence may have fewer positions than were done: with windows, none.
            let len = self.session.engine.len(request.seq).expect("the sequence exists");
            let tokens = request.tokens[..len].to_vec();
            self.kept.keep(request.seq, tokens, &mut self.session.engine).expect("the sequence exists");
            request.finish(reason);
        }
    }

    pub(super) fn tell_figures(&self) {
        let memory = self.session.engine.memory();
        let (running, kept) = (self.running.len(), self.kept.len());
        self.figures.state(running, kept, memory.kv_bytes_committed, memory.kv_bytes_reserved);
    }
}
