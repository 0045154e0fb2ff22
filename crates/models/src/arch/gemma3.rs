//! Gemma 3: scaled embeddings, norms on both sides, GELU, five layers with a window to one without, each kind with a
//! rotation of its own.

use graph::op::{Activation, RopePairs, RopeScaling};

use super::Architecture;
use crate::config::{Window, inverse_root};
use crate::keys::Keys;
use crate::rope::{Rope, RopeFactors};
use crate::{Config, ModelError};

/// Every layer of this period is full, the others have windows.
const PERIOD: usize = 6;
/// Layers of the one size that scales its scores by its width.
const LAYERS_27B: usize = 62;

pub static GEMMA3: Architecture =
    Architecture { name: "gemma3", encoder: false, rope_pairs: RopePairs::Halves, configure };

fn configure(config: &mut Config, keys: &Keys) -> Result<(), ModelError> {
    config.qk_norm = true;
    config.post_norms = true;
    config.activation = Activation::Gelu;
    config.embedding_scale = Some((config.n_embd as f64).sqrt() as f32);
    config.final_soft_cap = keys.cap("final_logit_softcapping", 0.0)?;
    if config.n_layer == LAYERS_27B {
        config.attention_scale = inverse_root(config.n_embd as f64 / config.n_head as f64);
    }
    if let Some(positions) = keys.optional_count_or_zero("attention.sliding_window")? {
        // Layers with a window turn by a base of their own and are never stretched.
        let rope = Rope {
            base: keys.positive_or("rope.freq_base_swa", 10000.0)?,
            factors: RopeFactors::None,
            scaling: RopeScaling::NONE,
            ..config.rope.clone()
        };
        let layers = keys.window_layers("attention.sliding_window_pattern", PERIOD, config.n_layer)?;
        // Where all are full, nothing is ever let go of.
        if layers.contains(&true) {
            config.window = Some(Window { positions, layers, rope: Some(rope) });
        }
    }
    Ok(())
}
