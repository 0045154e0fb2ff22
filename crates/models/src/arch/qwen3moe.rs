//! Qwen 3 with a mixture of experts: attention as in Qwen 3, each token through a few of many networks.

use graph::op::RopePairs;

use super::Architecture;
use crate::config::Experts;

pub static QWEN3MOE: Architecture = Architecture {
    name: "qwen3moe",
    encoder: false,
    rope_pairs: RopePairs::Halves,
    configure: |config, keys| {
        config.qk_norm = true;
        let count = keys.count("expert_count")?;
        let used = keys.count("expert_used_count")?;
        if used > count {
            return Err(keys.refuse("expert_used_count", used, format!("at most expert_count, {count}")));
        }
        // `feed_forward_length` is the width of a dense layer that there is none of.
        let n_ff = match keys.optional_count("expert_feed_forward_length")? {
            Some(n_ff) => n_ff,
            None if config.n_ff >= used => config.n_ff / used,
            None => {
                let expected = format!("at least expert_used_count, {used}");
                return Err(keys.refuse("feed_forward_length", config.n_ff, expected));
            }
        };
        config.experts = Some(Experts { count, used, n_ff });
        Ok(())
    },
};
