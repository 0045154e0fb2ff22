//! All that can go wrong, with the facts.

use std::path::{Path, PathBuf};

/// Why a model could not be loaded, or a run not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is damaged, or not a GGUF file.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// The file is no model that can be run.
    #[error("{}: {error}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: models::ModelError,
    },
    /// The vocabulary cannot be used, or not for this text.
    #[error("tokenizer: {0}")]
    Text(#[from] text::Error),
    /// The chat template does not parse, or refuses the conversation.
    #[error("chat template: {0}")]
    Template(#[from] text::TemplateError),
    /// The file has no chat template.
    #[error("the file has no chat template (key tokenizer.chat_template): run it with a raw prompt")]
    NoTemplate,
    /// A prompt of no tokens.
    #[error("the prompt is empty: the model has no token to begin with, so at least one is needed")]
    EmptyPrompt,
    /// The prompt leaves no room.
    #[error("the prompt has {prompt} tokens, the context {n_ctx} positions")]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Positions of the context.
        n_ctx: usize,
    },
    /// A model that generates no text was to.
    #[error(
        "{arch} models read texts and make embeddings of them: they have no next tokens and no logits; embed with `minfer embed`, or `Embedder` in the library"
    )]
    Encoder {
        /// The architecture.
        arch: &'static str,
    },
    /// A session that gives hidden rows was asked for logits.
    #[error("the session gives hidden rows (SessionOptions::output), expected one that gives logits")]
    HiddenOnly,
    /// A file whose classifier says how relevant a text is.
    #[error("pooling is rank: the model scores texts and makes no embeddings; mean, cls and last do")]
    Rank,
    /// More dimensions than the model has, or none.
    #[error("{asked} dimensions: the model's embeddings have {n_embd}, expected 1 to {n_embd}")]
    Dimensions {
        /// What was asked for.
        asked: usize,
        /// What there is.
        n_embd: usize,
    },
    /// A text of no tokens.
    #[error("text {index} is empty: the model has no token to put around it, so at least one is needed")]
    EmptyText {
        /// Which text, from 0.
        index: usize,
    },
    /// A text that does not fit.
    #[error("text {index} has {tokens} tokens, the context {n_ctx} positions")]
    TextTooLong {
        /// Which text, from 0.
        index: usize,
        /// Its tokens.
        tokens: usize,
        /// Positions of the context.
        n_ctx: usize,
    },
    /// A text too short to score.
    #[error("the text has {tokens} tokens: windows of {n_ctx} need at least {needed}")]
    TextTooShort {
        /// Tokens of the text.
        tokens: usize,
        /// Length of a window.
        n_ctx: usize,
        /// What would do.
        needed: usize,
    },
    /// A KV type that does not fit the model.
    #[error(
        "{option} {kv_type}: needs heads of a multiple of {block} elements, and this model's have {head_dim}; \
         F16, F32 and BF16 suit all"
    )]
    CacheType {
        /// Which type: of keys or of values.
        option: &'static str,
        /// The type.
        kv_type: graph::DType,
        /// Elements in a block of it.
        block: usize,
        /// Elements in a head.
        head_dim: usize,
    },
    /// A KV type that there is no cache of.
    #[error("{option} {kv_type}: no cache is of this type, expected one of {}", cache_types())]
    NoCacheType {
        /// Which type: of keys or of values.
        option: &'static str,
        /// The type.
        kv_type: graph::DType,
    },
    /// The machine lacks an instruction set that was asked for.
    #[error("--isa {isa}: this machine has no {missing}")]
    Isa {
        /// The tier.
        isa: &'static str,
        /// What it lacks.
        missing: &'static str,
    },
    /// An engine that has enough to do.
    #[error("{waiting} requests wait already, as many as may")]
    QueueFull {
        /// Requests in the queue.
        waiting: usize,
    },
    /// An engine that takes no more requests.
    #[error("the engine has stopped and takes no more requests")]
    EngineStopped,
    /// The system starts no thread.
    #[error("no thread could be started: {0}")]
    Thread(String),
    /// A batch of several requests failed.
    #[error("the batch with this request failed: {0}")]
    Batch(String),
    /// A number that must be at least 1.
    #[error("{0} is 0: expected at least 1")]
    Zero(&'static str),
    /// A run that checks memory found no fault and gave another answer all the same.
    #[error("memory: with {what} number {token} of a row is {found}, without {expected}")]
    Memory {
        /// What memory was filled with.
        what: &'static str,
        /// The token.
        token: usize,
        /// Its logit without checks.
        expected: f32,
        /// With them.
        found: f32,
    },
    /// A saved sequence could not be written or read.
    #[error("{}: {error}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Box<crate::SavedError>,
    },
    /// The session would take more memory than it may.
    #[error("{0}")]
    OverLimit(Box<crate::OverLimit>),
    /// The run failed.
    #[error(transparent)]
    Runtime(#[from] runtime::RuntimeError),
    /// A setting of the sampler makes no sense.
    #[error(transparent)]
    Sampling(#[from] sample::SettingsError),
    /// No token could be chosen.
    #[error("token {position} of the answer: {error}")]
    Sample {
        /// Which token of the answer.
        position: usize,
        /// Why.
        error: sample::SampleError,
    },
    /// No token could be chosen that obeys the constraint.
    #[error("token {position} of the answer: {error}")]
    Constrain {
        /// Which token of the answer.
        position: usize,
        /// Why.
        error: constrain::ConstrainError,
    },
    /// A constraint that was made for another model.
    #[error(
        "the constraint is for a vocabulary of {found} tokens with ends of its own, the model has {expected}: make it with \
         the model's vocabulary"
    )]
    OtherVocabulary {
        /// Tokens that the constraint is for.
        found: usize,
        /// Tokens of the model.
        expected: usize,
    },
    /// A token could not be scored.
    #[error("after position {position}: {error}")]
    Score {
        /// The position whose logits are wrong.
        position: usize,
        /// Why.
        error: sample::SampleError,
    },
}

impl Error {
    pub(crate) fn saved(path: &Path, error: crate::SavedError) -> Error {
        Error::Saved { path: path.to_owned(), error: Box::new(error) }
    }
}

fn cache_types() -> String {
    crate::KV_TYPES.map(graph::DType::name).join(", ")
}
