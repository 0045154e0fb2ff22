//! Llama and all that is built like it: Llama 1 to 3, SmolLM2, Mistral.
//!
//! The rows of Q and K are stored so that neighbouring elements turn together. Llama 3.1 and later bring
//! `rope_freqs`, which no key announces.

use graph::op::RopePairs;

use super::Architecture;

pub static LLAMA: Architecture = Architecture {
    name: "llama",
    encoder: false,
    rope_pairs: RopePairs::Neighbours,
    configure: |_, _| Ok(()),
};
