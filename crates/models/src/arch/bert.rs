//! BERT and the embedding models that are built like it (BGE, E5, all-MiniLM): an encoder with learned positions, layer
//! norms behind the additions, biases everywhere, and no gate.

use graph::op::RopePairs;

use super::Architecture;

pub static BERT: Architecture = Architecture {
    name: "bert",
    encoder: true,
    // Positions are rows of a table: nothing turns.
    rope_pairs: RopePairs::Halves,
    configure: |_, keys| match keys.flag("attention.causal")? {
        Some(true) => Err(keys.refuse("attention.causal", true, "false: an encoder sees the whole text")),
        Some(false) | None => Ok(()),
    },
};
