//! The metadata of a model other than its tokenizer.

use gguf::Writer;

use crate::Error;
use crate::mix::Mix;
use crate::preset::Preset;

/// Adds the keys in the order of the yardstick script.
pub fn add(w: &mut Writer, p: &Preset, mix: &Mix, seed: u64) -> Result<(), Error> {
    let arch = p.arch;
    w.key("general.architecture", arch)?;
    w.key("general.type", "model")?;
    w.key("general.name", format!("synthetic {}", p.name))?;
    let quant = mix.name;
    let description = format!("random weights, seed {seed}, {quant}; not a trained model");
    w.key("general.description", description)?;

    let key = |rest: &str| format!("{arch}.{rest}");
    w.key(key("context_length"), p.ctx)?;
    w.key(key("embedding_length"), p.embd as u32)?;
    w.key(key("block_count"), p.layers as u32)?;
    w.key(key("feed_forward_length"), p.ff as u32)?;
    w.key(key("attention.head_count"), p.heads as u32)?;
    if let Some(pooling) = p.pooling {
        w.key(key("attention.layer_norm_epsilon"), p.eps as f32)?;
        w.key(key("attention.causal"), false)?;
        w.key(key("pooling_type"), pooling)?;
    } else {
        w.key(key("attention.head_count_kv"), p.kv_heads as u32)?;
        w.key(key("attention.layer_norm_rms_epsilon"), p.eps as f32)?;
        // Files of Gemma 2 do not state it: the default, 10000.
        if arch != "gemma2" {
            w.key(key("rope.freq_base"), p.rope_base as f32)?;
        }
    }
    let stated = matches!(arch, "qwen3" | "qwen3moe" | "gemma2" | "gemma3");
    if stated || p.heads * p.head_dim != p.embd {
        w.key(key("attention.key_length"), p.head_dim as u32)?;
        w.key(key("attention.value_length"), p.head_dim as u32)?;
    }
    if arch == "llama" {
        w.key(key("rope.dimension_count"), p.head_dim as u32)?;
        w.key(key("vocab_size"), p.vocab as u32)?;
    }
    if let Some(experts) = p.experts {
        w.key(key("expert_count"), experts.count as u32)?;
        w.key(key("expert_used_count"), experts.used as u32)?;
        w.key(key("expert_feed_forward_length"), experts.ff as u32)?;
    }
    if let Some(caps) = p.caps {
        w.key(key("attn_logit_softcapping"), caps.attention as f32)?;
        w.key(key("final_logit_softcapping"), caps.logits as f32)?;
    }
    if arch == "phi3" {
        w.key(key("rope.dimension_count"), p.rope_dim.unwrap_or(p.head_dim) as u32)?;
        w.key(key("rope.scaling.original_context_length"), p.original_ctx.unwrap_or(p.ctx))?;
        if let Some(original) = p.original_ctx {
            let (ctx, original) = (f64::from(p.ctx), f64::from(original));
            let factor = (1.0 + libm::log(ctx / original) / libm::log(original)).sqrt();
            w.key(key("rope.scaling.attn_factor"), factor as f32)?;
        }
    }
    if let Some(window) = p.window {
        w.key(key("attention.sliding_window"), window)?;
    }
    w.key("general.file_type", mix.file_type)?;
    w.key("general.quantization_version", 2u32)?;
    Ok(())
}
