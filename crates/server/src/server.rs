//! An engine and what the outside may know of it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use minfer::{Engine, Sampling};

use crate::figures::Figures;

/// How a server answers.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Names that requests may call the model by. The first is the one that answers bear; without any, the model's own.
    pub names: Vec<String>,
    /// A request needs one of these; without any, none.
    pub api_keys: Vec<String>,
    /// Bytes of the largest body.
    pub body_limit: usize,
    /// How tokens are chosen where a request does not say. Its seed is not used.
    pub sampling: Sampling,
    /// Never choose a token that ends the answer.
    pub ignore_eos: bool,
    /// The seed of requests that have none; without, each gets a new one.
    pub seed: Option<u64>,
    /// How many requests the engine answers side by side, to be told.
    pub parallel: usize,
}

impl Default for ServerOptions {
    /// Temperature 1 and the whole vocabulary, as in OpenAI's interface; bodies of 16 MiB at most.
    fn default() -> ServerOptions {
        ServerOptions {
            names: Vec::new(),
            api_keys: Vec::new(),
            body_limit: 16 << 20,
            sampling: Sampling { temperature: 1.0, ..Sampling::default() },
            ignore_eos: false,
            seed: None,
            parallel: 1,
        }
    }
}

/// An engine that answers over HTTP.
pub struct Server {
    pub(crate) engine: Engine,
    pub(crate) options: ServerOptions,
    pub(crate) figures: Arc<Figures>,
    /// Seconds since 1970 when it began.
    pub(crate) created: u64,
}

impl Server {
    /// Over an engine.
    pub fn new(engine: Engine, mut options: ServerOptions) -> Server {
        if options.names.is_empty() {
            options.names.push(engine.model().name());
        }
        Server { engine, options, figures: Arc::default(), created: unix_seconds() }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What answers call the model.
    pub(crate) fn name(&self) -> &str {
        &self.options.names[0]
    }
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
