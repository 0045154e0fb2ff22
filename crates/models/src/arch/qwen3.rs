//! Qwen 3: every head of Q and K is normed by itself before it turns; no biases.

use graph::op::RopePairs;

use super::Architecture;

pub static QWEN3: Architecture = Architecture {
    name: "qwen3",
    encoder: false,
    rope_pairs: RopePairs::Halves,
    configure: |config, _| {
        config.qk_norm = true;
        Ok(())
    },
};
