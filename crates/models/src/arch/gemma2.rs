//! Gemma 2: as Gemma 3 without norms of heads, with caps of scores and logits; even layers have windows.

use graph::op::{Activation, RopePairs};

use super::Architecture;
use crate::config::{Window, inverse_root};
use crate::keys::Keys;
use crate::{Config, ModelError};

/// Layers of the one size that scales its scores by its width.
const LAYERS_27B: usize = 46;

pub static GEMMA2: Architecture =
    Architecture { name: "gemma2", encoder: false, rope_pairs: RopePairs::Halves, configure };

fn configure(config: &mut Config, keys: &Keys) -> Result<(), ModelError> {
    config.post_norms = true;
    config.activation = Activation::Gelu;
    config.embedding_scale = Some((config.n_embd as f64).sqrt() as f32);
    config.attention_soft_cap = keys.cap("attn_logit_softcapping", 50.0)?;
    config.final_soft_cap = keys.cap("final_logit_softcapping", 30.0)?;
    if config.n_layer == LAYERS_27B {
        config.attention_scale = inverse_root(config.n_embd as f64 / config.n_head as f64);
    }
    let positions = keys.count_or("attention.sliding_window", 4096)?;
    let layers = (0..config.n_layer).map(|layer| layer % 2 == 0).collect();
    config.window = Some(Window { positions, layers, rope: None });
    Ok(())
}
