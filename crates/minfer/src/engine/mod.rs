//! An engine that answers many requests at once.
//!
//! One thread computes. Each of its steps is a batch: the next token of every answer, and a chunk of the prompts that wait,
//! so that no answer stands still for longer than a chunk takes. What a request gets does not depend on the others: its
//! tokens are the same, bit for bit, alone or beside many.
//!
//! Sequences are kept when their answers are complete. A request that begins as one of them shares its pages, and only
//! the rest is computed. Kept ones give way, the longest unused first, when pages are needed.

mod kept;
mod request;
mod running;
mod saved;
mod scheduler;
mod stats;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use cpu::{ThreadPool, default_threads};

pub use request::{Answers, Cancel, Happening, Request, Usage};
pub use running::Sink;
use running::Waiting;
pub use saved::Saved;
use scheduler::{Command, Scheduler};
use stats::Figures;
pub use stats::Stats;

use crate::answer::Answer;
use crate::{Error, LoadOptions, Model, Session, SessionOptions};

/// How an engine runs. None of it changes an answer.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Context, batch and cache. `n_seq` is how many requests are answered side by side, each with the whole context;
    /// `n_kept` how many contexts more the cache has room for, to keep what requests began with.
    pub session: SessionOptions,
    /// Tokens of prompts in a batch: how long an answer may stand still while others' prompts are read.
    pub chunk: usize,
    /// Requests that may wait; more are refused.
    pub queue: usize,
    /// Threads that compute; one a physical core if not given.
    pub threads: Option<usize>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        let session = SessionOptions { n_seq: 4, n_kept: 4, ..SessionOptions::default() };
        EngineOptions { session, chunk: 128, queue: 256, threads: None }
    }
}

/// A model that answers requests, on a thread of its own. Dropping it waits until all requests are over.
pub struct Engine {
    model: Arc<Model>,
    n_ctx: usize,
    queue: usize,
    commands: Sender<Command>,
    figures: Arc<Figures>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Loads a model and starts.
    pub fn open(
        path: impl AsRef<Path>,
        load: &LoadOptions,
        options: &EngineOptions,
    ) -> Result<Engine, Error> {
        Engine::new(Arc::new(Model::load_with(path, load)?), options)
    }

    /// Plans, reserves and starts.
    pub fn new(model: Arc<Model>, options: &EngineOptions) -> Result<Engine, Error> {
        let pool = Arc::new(ThreadPool::new(options.threads.unwrap_or_else(default_threads)));
        let session = Session::new(model, pool, &options.session)?;
        Engine::of_session(session, options)
    }

    fn of_session(session: Session, options: &EngineOptions) -> Result<Engine, Error> {
        session.expect_logits()?;
        if options.chunk == 0 {
            return Err(Error::Zero("the chunk"));
        }
        let (model, n_ctx) = (session.model().clone(), session.n_ctx());
        let (commands, receiver) = channel();
        let figures = Arc::new(Figures::default());
        // Of one conversation there may be states at several places.
        let most = options.session.n_kept * if model.config().window.is_some() { 4 } else { 2 };
        let scheduler = Scheduler::new(session, receiver, most, options.chunk, figures.clone());
        let thread = thread::Builder::new().name("minfer-engine".to_owned());
        let thread = thread.spawn(move || scheduler.run()).map_err(|e| Error::Thread(e.to_string()))?;
        Ok(Engine { model, n_ctx, queue: options.queue, commands, figures, thread: Mutex::new(Some(thread)) })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Positions of the context of each request.
    pub fn n_ctx(&self) -> usize {
        self.n_ctx
    }

    /// What the engine does and has done, as of its latest step.
    pub fn stats(&self) -> Stats {
        self.figures.stats()
    }

    /// Answers a prompt. What makes no sense is refused here, before anything is computed.
    pub fn generate(&self, request: Request) -> Result<Answers, Error> {
        let (sender, receiver) = channel();
        let sink = move |happening| match sender.send(happening) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let cancel = self.generate_into(request, Box::new(sink))?;
        Ok(Answers { receiver, cancel })
    }

    /// As [`Engine::generate`], with a sink that is called on the computing thread.
    pub fn generate_into(&self, request: Request, sink: Sink) -> Result<Cancel, Error> {
        let Request { prompt, options } = request;
        let answer = Answer::new(self.model.tokenizer(), self.n_ctx, &prompt, &options)?;
        let n_vocab = self.model.config().n_vocab;
        if let Some(index) = prompt.iter().position(|token| *token as usize >= n_vocab) {
            let id = prompt[index];
            return Err(runtime::RuntimeError::TokenOutOfRange { index, id, n_vocab }.into());
        }
        self.figures.accept(self.queue).map_err(|waiting| Error::QueueFull { waiting })?;
        let cancel = Cancel::default();
        let since = Instant::now();
        let request = Box::new(Waiting { prompt, answer, sink, cancel: cancel.clone(), since });
        self.commands.send(Command::Begin(request)).map_err(|_| {
            self.figures.left_the_queue();
            Error::EngineStopped
        })?;
        Ok(cancel)
    }

    /// Gives back the pages of what is kept.
    pub fn forget_kept(&self) -> Result<(), Error> {
        self.commands.send(Command::Forget).map_err(|_| Error::EngineStopped)
    }

    /// Takes no more requests, and waits until those that there are are over; from within a sink, which is called on the
    /// thread that computes, it does not wait.
    pub fn stop(&self) {
        // One that stopped already needs no telling.
        let _ = self.commands.send(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            // A panic of the thread was told by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}
