//! An engine, an embedder, and what the outside may know of them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use minfer::{Embedder, Engine, Error, Model, Sampling, Stats};

use crate::embeddings::Embeddings;
use crate::engine::Answering;
use crate::figures::Figures;
use crate::rate::Rate;

/// How a server answers.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Names that requests may call the model by. The first is the one that answers bear; without any, the model's own.
    pub names: Vec<String>,
    /// A request needs one of these; without any, none.
    pub api_keys: Vec<String>,
    /// Origins of pages that may ask from a browser, `*` for all; without any, only the server's own.
    pub cors_origins: Vec<String>,
    /// Requests a minute that each key may send, or all together where there are no keys.
    pub rate_limit: Option<NonZeroU32>,
    /// Bytes of the largest body.
    pub body_limit: usize,
    /// How tokens are chosen where a request does not say. Its seed is not used.
    pub sampling: Sampling,
    /// Never choose a token that ends the answer.
    pub ignore_eos: bool,
    /// The seed of requests that have none; without, each gets a new one.
    pub seed: Option<u64>,
    /// Within which a request's head has to be here; a connection without a request is closed then, too.
    pub head_time: Duration,
    /// Within which a body has to be here.
    pub body_time: Duration,
    /// Within which a response has to be complete, once the request is here; without, whenever it is.
    pub time: Option<Duration>,
    /// How long a stream may be silent before a comment is sent, so that the connection is not taken for dead.
    pub silence: Duration,
    /// How many requests the engine answers side by side, to be told.
    pub parallel: usize,
}

impl Default for ServerOptions {
    /// Temperature 1 and the whole vocabulary, as in OpenAI's interface; bodies of 16 MiB at most.
    fn default() -> ServerOptions {
        ServerOptions {
            names: Vec::new(),
            api_keys: Vec::new(),
            cors_origins: Vec::new(),
            rate_limit: None,
            body_limit: 16 << 20,
            sampling: Sampling { temperature: 1.0, ..Sampling::default() },
            ignore_eos: false,
            seed: None,
            head_time: Duration::from_secs(60),
            body_time: Duration::from_secs(120),
            time: None,
            silence: Duration::from_secs(10),
            parallel: 1,
        }
    }
}

/// An engine that answers over HTTP, an embedder, or both.
pub struct Server {
    pub(crate) engine: Answering,
    pub(crate) embeddings: Option<Embeddings>,
    pub(crate) options: ServerOptions,
    pub(crate) rate: Option<Rate>,
    pub(crate) figures: Arc<Figures>,
    /// Seconds since 1970 when it began.
    pub(crate) created: u64,
}

impl Server {
    /// Over an engine.
    pub fn new(engine: Engine, options: ServerOptions) -> Server {
        Server::over(Answering::with(engine), options)
    }

    /// With embeddings alone, for models that write no text; so many requests may wait.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn with_embeddings_alone(
        embedder: Embedder,
        queue: usize,
        options: ServerOptions,
    ) -> Result<Server, Error> {
        let session = embedder.session();
        let nothing = Answering::nothing(session.model().clone(), session.n_ctx());
        Server::over(nothing, options).with_embeddings(embedder, queue)
    }

    /// The same, with embeddings; so many requests for them may wait. The embedder is of the engine's model.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn with_embeddings(self, embedder: Embedder, queue: usize) -> Result<Server, Error> {
        Ok(Server { embeddings: Some(Embeddings::start(embedder, queue)?), ..self })
    }

    fn over(engine: Answering, mut options: ServerOptions) -> Server {
        if options.names.is_empty() {
            options.names.push(engine.model().name());
        }
        let buckets = options.api_keys.len().max(1);
        let rate = options.rate_limit.map(|limit| Rate::new(limit, buckets, Instant::now()));
        Server { engine, embeddings: None, options, rate, figures: Arc::default(), created: unix_seconds() }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        self.engine.model()
    }

    /// The engine, where text is written.
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.check().ok()
    }

    /// What the engine does and has done; nothing where there is none.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// What answers call the model.
    pub(crate) fn name(&self) -> &str {
        &self.options.names[0]
    }
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
