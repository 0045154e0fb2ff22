//! Phi 3 and 4: Q, K and V in one tensor, gate and up in another; short and long factors of the rotation.
//!
//! Files state a sliding window; as in the engine that the stored answers come from, all layers are full.

use graph::op::RopePairs;

use super::Architecture;
use crate::rope::RopeFactors;

pub static PHI3: Architecture = Architecture {
    name: "phi3",
    encoder: false,
    rope_pairs: RopePairs::Halves,
    configure: |config, keys| {
        config.fused_tensors = true;
        if keys.has_tensor("rope_factors_long.weight") {
            let original = config.rope.scaling.n_ctx_orig;
            config.rope.factors = RopeFactors::LongShort { original };
        }
        Ok(())
    },
};
