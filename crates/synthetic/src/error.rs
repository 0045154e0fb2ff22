//! What can be wrong with the arguments.

use std::path::PathBuf;

/// A refusal to make a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No preset has this architecture and name.
    #[error("no preset {preset:?} of architecture {arch:?}, expected one of {known}")]
    Preset {
        /// The architecture asked for.
        arch: String,
        /// The preset asked for.
        preset: String,
        /// What there is, as `arch/preset` with commas.
        known: String,
    },
    /// No mix of element types has this name.
    #[error("no quantization {quant:?}, expected one of {known}")]
    Quant {
        /// The name asked for.
        quant: String,
        /// What there is, with commas.
        known: String,
    },
    /// A model without layers.
    #[error("0 layers, expected at least 1")]
    NoLayers,
    /// A llama model that no qwen2 model equals.
    #[error("no qwen2 model equals this file: {reason}")]
    NoTwin {
        /// What stands against it.
        reason: String,
    },
    /// The file cannot be created or renamed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
}
