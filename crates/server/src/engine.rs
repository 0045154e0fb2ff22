//! What writes text: an engine, where the model is of that kind.

use std::sync::Arc;

use minfer::{Cancel, Engine, Model, Request, Sink, Stats};

use crate::ApiError;

/// A model, and the engine that answers with it, if there is one.
pub(crate) struct Answering {
    model: Arc<Model>,
    engine: Option<Engine>,
    /// Positions of the context of each request.
    n_ctx: usize,
}

impl Answering {
    pub fn with(engine: Engine) -> Answering {
        Answering { model: engine.model().clone(), n_ctx: engine.n_ctx(), engine: Some(engine) }
    }

    /// A model that writes nothing, and reads so many positions.
    pub fn nothing(model: Arc<Model>, n_ctx: usize) -> Answering {
        Answering { model, engine: None, n_ctx }
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    pub fn n_ctx(&self) -> usize {
        self.n_ctx
    }

    pub fn stats(&self) -> Stats {
        self.engine.as_ref().map_or(Stats::default(), Engine::stats)
    }

    /// Refuses requests for text where none is written.
    pub fn check(&self) -> Result<&Engine, ApiError> {
        self.engine.as_ref().ok_or_else(|| ApiError::EmbeddingsOnly { arch: self.model.config().arch.name })
    }

    /// As [`Engine::generate_into`]; `field` holds the prompt.
    pub fn generate_into(
        &self,
        request: Request,
        field: &'static str,
        sink: Sink,
    ) -> Result<Cancel, ApiError> {
        self.check()?.generate_into(request, sink).map_err(|error| ApiError::of(error, field))
    }
}
