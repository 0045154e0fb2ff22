//! What a file's metadata and tensor table say, turned into a configuration and then into graphs.
//!
//! One file an architecture in `arch/`, one line in [`ARCHITECTURES`]. Near relatives share the block builder
//! of `decoder.rs`, driven by the configuration. Nothing here reads a weight's bytes or runs anything.

mod arch;
mod attention;
mod config;
mod decoder;
mod encoder;
mod error;
mod feed_forward;
mod keys;
mod pooling;
mod rope;
mod slice;
mod tensors;

pub use arch::{ARCHITECTURES, Architecture};
pub use config::{Config, Experts, Window};
pub use decoder::{BodyParams, inputs};
pub use error::ModelError;
pub use pooling::Pooling;
pub use rope::{Rope, RopeFactors, RopeOverrides, RopeScalingKind};
pub use slice::{Slice, slice};
pub use tensors::{TensorMeta, Tensors};

use gguf::Metadata;
use graph::Graph;

/// Positions on a page of the KV cache.
pub const PAGE_POSITIONS: usize = 32;

/// What becomes of the hidden rows that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Output {
    /// Logits of the next token. An encoder has none: its rows are hidden ones in any case.
    #[default]
    Logits,
    /// The hidden rows themselves, as the last norm leaves them: what embeddings are made of.
    Hidden,
}

/// A model as far as its header tells: configuration and shapes, no bytes.
#[derive(Clone, Debug)]
pub struct Model {
    /// Hyper-parameters, checked.
    pub config: Config,
    /// Names, shapes and types of the tensors.
    pub tensors: Tensors,
}

impl Model {
    /// Reads and checks the configuration, then that every tensor that the graphs name is there with the
    /// right shape and a type that the engine computes with.
    pub fn new(metadata: &Metadata, tensors: Tensors) -> Result<Model, ModelError> {
        Model::with_rope(metadata, tensors, &RopeOverrides::default())
    }

    /// The same with another rotation than the file says.
    pub fn with_rope(
        metadata: &Metadata,
        tensors: Tensors,
        overrides: &RopeOverrides,
    ) -> Result<Model, ModelError> {
        let config = Config::read(metadata, &tensors, overrides)?;
        let model = Model { config, tensors };
        // Short and long contexts may read other tensors.
        let contexts = match model.config.rope.factors {
            RopeFactors::LongShort { original } => vec![original, original + 1],
            RopeFactors::None | RopeFactors::Freqs => vec![PAGE_POSITIONS.min(model.config.n_ctx_train)],
        };
        for n_ctx in contexts {
            model.body(&BodyParams::new(n_ctx, graph::DType::F32))?;
        }
        model.head()?;
        Ok(model)
    }

    /// From token ids to the hidden rows that go on to the head.
    pub fn body(&self, params: &BodyParams) -> Result<Graph, ModelError> {
        if self.config.arch.encoder { encoder::body(self, params) } else { decoder::body(self, params) }
    }

    /// From hidden rows to logits, or of an encoder to normed rows.
    pub fn head(&self) -> Result<Graph, ModelError> {
        self.head_for(Output::Logits)
    }

    /// From hidden rows to what is asked for.
    pub fn head_for(&self, output: Output) -> Result<Graph, ModelError> {
        if self.config.arch.encoder { encoder::head(self) } else { decoder::head(self, output) }
    }

    /// Numbers in a row that the head gives.
    pub fn row_width(&self, output: Output) -> usize {
        match output {
            Output::Logits if !self.config.arch.encoder => self.config.n_vocab,
            Output::Logits | Output::Hidden => self.config.n_embd,
        }
    }

    /// The same model with every weight as f32: what the reference run computes with.
    pub fn dequantized(&self) -> Model {
        Model { config: self.config.clone(), tensors: self.tensors.dequantized() }
    }
}
