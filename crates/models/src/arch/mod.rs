//! The table of architectures.

mod bert;
mod gemma2;
mod gemma3;
mod llama;
mod phi3;
mod qwen2;
mod qwen3;
mod qwen3moe;

use graph::op::RopePairs;

use crate::keys::Keys;
use crate::{Config, ModelError};

/// What tells an architecture from its relatives.
pub struct Architecture {
    /// As `general.architecture` and the metadata keys write it.
    pub name: &'static str,
    /// Reads a whole text at once and gives embeddings; there are no next tokens.
    pub encoder: bool,
    /// Which elements of a head turn together.
    pub(crate) rope_pairs: RopePairs,
    /// Changes the common configuration to its own.
    pub(crate) configure: fn(&mut Config, &Keys) -> Result<(), ModelError>,
}

impl std::fmt::Debug for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every architecture that can be run.
pub static ARCHITECTURES: [&Architecture; 8] = [
    &llama::LLAMA,
    &qwen2::QWEN2,
    &qwen3::QWEN3,
    &qwen3moe::QWEN3MOE,
    &gemma2::GEMMA2,
    &gemma3::GEMMA3,
    &phi3::PHI3,
    &bert::BERT,
];

/// The architecture of that name.
pub fn find(name: &str) -> Result<&'static Architecture, ModelError> {
    let known = || ARCHITECTURES.map(|a| a.name).join(", ");
    ARCHITECTURES
        .into_iter()
        .find(|a| a.name == name)
        .ok_or_else(|| ModelError::UnknownArchitecture { found: name.to_owned(), known: known() })
}
