//! Load a model, generate, score: the library that people embed.
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
//! Everything is a value that the caller owns: nothing is printed, no signal is caught, no environment variable
//! is read, and several models and sessions live side by side.

mod breakers;
mod context;
mod dump;
mod error;
mod generate;
mod hash;
mod inspect;
mod logprobs;
mod model;
mod score;
mod session;
mod weights;

pub use context::{ContextChoice, choose_context};
pub use dump::GraphFormat;
pub use error::Error;
pub use generate::{Event, FinishReason, GenerateOptions, Generation};
pub use inspect::inspect;
pub use logprobs::TokenLogprobs;
pub use model::{LoadOptions, Model, weight_types};
pub use score::{Perplexity, Score};
pub use session::{KV_TYPES, Session, SessionOptions};

pub use backend::Fused;
pub use cpu::{Isa, ThreadPool, Topology, brand as cpu_brand, default_threads};
pub use gguf::{GgufFile, Residence};
pub use graph::DType;
pub use models::{ARCHITECTURES, Config, RopeOverrides, RopeScalingKind};
pub use runtime::{Item, Memory, Rows, SeqId};
pub use sample::{Settings as Sampling, SettingsError};
pub use text::{DateTime, EncodeOptions, PreTokenizer, Tokenizer};
