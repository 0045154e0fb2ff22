//! Qwen 2 and 2.5: biases on Q, K and V, added before the rotation, which pairs halves.

use graph::op::RopePairs;

use super::Architecture;

pub static QWEN2: Architecture = Architecture {
    name: "qwen2",
    encoder: false,
    rope_pairs: RopePairs::Halves,
    configure: |config, _| {
        config.qkv_bias = true;
        Ok(())
    },
};
