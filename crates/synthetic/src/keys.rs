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
    w.key(key("attention.head_count_kv"), p.kv_heads as u32)?;
    w.key(key("attention.layer_norm_rms_epsilon"), p.eps as f32)?;
    w.key(key("rope.freq_base"), p.rope_base as f32)?;
    if arch == "llama" {
        w.key(key("rope.dimension_count"), p.head_dim as u32)?;
        w.key(key("vocab_size"), p.vocab as u32)?;
    }
    w.key("general.file_type", mix.file_type)?;
    w.key("general.quantization_version", 2u32)?;
    Ok(())
}
