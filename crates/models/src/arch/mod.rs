//! The table of architectures.

mod llama;
mod qwen2;

use graph::op::RopePairs;

use crate::ModelError;

/// What tells an architecture from its relatives.
#[derive(Debug, PartialEq)]
pub struct Architecture {
    /// As `general.architecture` and the metadata keys write it.
    pub name: &'static str,
    /// Which elements of a head turn together.
    pub rope_pairs: RopePairs,
    /// Q, K and V have biases.
    pub qkv_bias: bool,
}

/// Every architecture that can be run.
pub static ARCHITECTURES: [&Architecture; 2] = [&llama::LLAMA, &qwen2::QWEN2];

/// The architecture of that name.
pub fn find(name: &str) -> Result<&'static Architecture, ModelError> {
    let known = || ARCHITECTURES.map(|a| a.name).join(", ");
    ARCHITECTURES
        .into_iter()
        .find(|a| a.name == name)
        .ok_or_else(|| ModelError::UnknownArchitecture { found: name.to_owned(), known: known() })
}
