//! Load a model, generate, score, embed: the library that people embed.
//!
//! ```no_run
//! use std::{ops::ControlFlow, sync::Arc};
//! use minfer::{Event, GenerateOptions, Model, Session, SessionOptions, ThreadPool, default_threads};
//!
//! let model = Arc::new(Model::load("model.gguf")?);
//! let pool = Arc::new(ThreadPool::new(default_threads()));
//! let prompt = model.tokenize("The capital of France is", true)?;
//! let mut session = Session::new(model, pool, &SessionOptions::default())?;
//! let generation = session.generate(&prompt, &GenerateOptions::default(), &mut |event| {
//!     if let Event::Text(piece) = event {
//!         print!("{piece}");
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("\n{:?}", generation.finish_reason);
//! # Ok::<(), minfer::Error>(())
//! ```
//!
//! [`LoadOptions`] says where the weights are and how positions turn; [`SessionOptions`] how a session runs, without a
//! change of its answers; [`GenerateOptions`] how tokens are chosen ([`Sampling`]), which texts end an answer,
//! what it obeys ([`Constraint`]), and whether it is told how likely each token was. The sink of [`Session::generate`] ends an answer by
//! [`ControlFlow::Break`](std::ops::ControlFlow::Break), at any token. Who keeps several sequences works with
//! [`Session::engine`] and the parts that `generate` is made of: [`Sampler`], [`StreamDecoder`], [`StopMatcher`].
//!
//! [`Session::generate_in`] keeps a conversation in a [`Sequence`], so that a turn computes only what is new in it; [`Session::save`] and
//! [`Session::load`] keep that in a file. [`Engine`] answers many requests at once and finds by itself what they have in common.
//!
//! [`Embedder`] makes vectors of texts, with encoders (BERT) and with every other model. Encoders generate no text.
//!
//! Programs to begin with are in `examples`, run by `cargo run --release -p minfer --example NAME -- MODEL ...`:
//!
//! | example | after `MODEL` | shows |
//! |---|---|---|
//! | `generate` | a prompt | an answer while it is made: [`Session::generate`] |
//! | `chat` | | turns that compute only what is new: [`Session::generate_in`] |
//! | `constrained` | a prompt | an answer that obeys a schema: [`Constraint`] |
//! | `embed` | texts | vectors: [`Embedder`] |
//! | `engine` | prompts | requests side by side, events, one that is cancelled: [`Engine`] |
//! | `plan` | positions | what a session will take, without one: [`Model::plan`] |
//!
//! Everything is a value that the caller owns: nothing is printed, no signal is caught, no environment variable
//! is read, and several models and sessions live side by side.

mod answer;
mod breakers;
mod choice;
mod context;
mod dump;
mod embed;
mod engine;
mod error;
mod generate;
mod hash;
mod inspect;
mod logprobs;
mod model;
mod plan;
mod saved;
mod score;
mod sequence;
mod session;
mod value_json;
mod verify;
mod weights;

pub use context::{ContextChoice, choose_context};
pub use dump::GraphFormat;
pub use embed::{EmbedOptions, Embedder, Embedding, Normalize};
pub use engine::{Answers, Cancel, Engine, EngineOptions, Happening, Request, Saved, Sink, Stats, Usage};
pub use error::Error;
pub use generate::{Event, FinishReason, GenerateOptions, Generation};
pub use inspect::inspect;
pub use logprobs::TokenLogprobs;
pub use model::{LoadOptions, Model, weight_types};
pub use plan::{
    ArenaPlan, Freedom, MemoryLimit, OtherBytes, OverLimit, PeakValue, Plan, Proposal, Settings, human_bytes,
};
pub use saved::SavedError;
pub use score::{Perplexity, Score};
pub use sequence::Sequence;
pub use session::{KV_TYPES, Session, SessionOptions};
pub use value_json::{array_json, value_json};
pub use verify::Verified;

pub use ::picture;
pub use backend::Fused;
pub use constrain::{ConstrainError, Constraint, Matcher, Vocabulary};
pub use cpu::limits::{int8_peak, read_bandwidth};
pub use cpu::{Isa, NUMERICS_VERSION, ThreadPool, Topology, brand as cpu_brand, default_threads};
pub use gguf::{Error as GgufError, GgufFile, Residence};
pub use graph::DType;
pub use models::{ARCHITECTURES, Config, ModelError, Output, Pooling, RopeOverrides, RopeScalingKind};
pub use runtime::{
    ArenaNeeds, Engine as BatchEngine, Item, Memory, Profile, ProfileRow, Rows, RuntimeError, SeqId,
};
pub use sample::{SampleError, Sampler, Settings as Sampling, SettingsError, argmax, logprobs, top_n};
pub use text::{
    DateTime, EncodeOptions, Error as TextError, PreTokenizer, RenderOptions, StopMatcher, StreamDecoder,
    TemplateError, Tokenizer, named_template, template_names,
};
