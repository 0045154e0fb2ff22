//! Hyper-parameters, read from metadata and checked before anything is computed from them.

use gguf::Metadata;
use graph::op::Activation;

use crate::arch::{self, Architecture};
use crate::keys::Keys;
use crate::rope::{self, Rope};
use crate::{ModelError, Pooling, RopeOverrides, Tensors, pooling};

/// A mixture of experts in place of the feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: usize,
    /// Experts that a token goes through.
    pub used: usize,
    /// Width of an expert.
    pub n_ff: usize,
}

/// Layers that see only the latest positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Positions that they see.
    pub positions: usize,
    /// Which layers they are.
    pub layers: Vec<bool>,
    /// Their own rotation, where it differs.
    pub rope: Option<Rope>,
}

/// What a model of the supported families is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The architecture's entry in the table.
    pub arch: &'static Architecture,
    /// Layers.
    pub n_layer: usize,
    /// Width of the residual stream.
    pub n_embd: usize,
    /// Width of the feed-forward network.
    pub n_ff: usize,
    /// Query heads.
    pub n_head: usize,
    /// KV heads.
    pub n_head_kv: usize,
    /// Elements in a head.
    pub head_dim: usize,
    /// Tokens in the vocabulary.
    pub n_vocab: usize,
    /// Positions that the model was trained for.
    pub n_ctx_train: usize,
    /// How a text's rows become one embedding, if the file states it.
    pub pooling: Option<Pooling>,
    /// Added to the mean of squares in norms.
    pub norm_eps: f32,
    /// Rotation.
    pub rope: Rope,
    /// The output matrix is the embedding table.
    pub tied: bool,
    /// Q, K and V have biases.
    pub qkv_bias: bool,
    /// Every head of Q and K is normed by itself before it turns.
    pub qk_norm: bool,
    /// What attention and the feed-forward network give is normed before it is added.
    pub post_norms: bool,
    /// Q, K and V are rows of one tensor, gate and up of another.
    pub fused_tensors: bool,
    /// What the gate goes through.
    pub activation: Activation,
    /// What embeddings are multiplied by.
    pub embedding_scale: Option<f32>,
    /// What scores are multiplied by.
    pub attention_scale: f32,
    /// Cap of the scores.
    pub attention_soft_cap: Option<f32>,
    /// Cap of the logits.
    pub final_soft_cap: Option<f32>,
    /// Layers with a sliding window.
    pub window: Option<Window>,
    /// A mixture of experts.
    pub experts: Option<Experts>,
}

impl Config {
    /// Reads and checks.
    pub(crate) fn read(
        metadata: &Metadata,
        tensors: &Tensors,
        overrides: &RopeOverrides,
    ) -> Result<Config, ModelError> {
        let arch = arch::find(metadata.require_str("general.architecture")?)?;
        let keys = Keys::new(metadata, tensors, arch.name);
        let n_layer = keys.count("block_count")?;
        // Every layer has tensors, so their number bounds the layers before anything is sized by them.
        if n_layer > tensors.len() {
            let expected = format!("at most the number of tensors, {}", tensors.len());
            return Err(keys.refuse("block_count", n_layer, expected));
        }
        let n_embd = keys.count("embedding_length")?;
        let n_head = keys.count("attention.head_count")?;
        let n_head_kv = keys.count_or("attention.head_count_kv", n_head)?;
        if !n_head.is_multiple_of(n_head_kv) {
            let expected = format!("a divisor of head_count, {n_head}");
            return Err(keys.refuse("attention.head_count_kv", n_head_kv, expected));
        }
        let head_dim = head_dim(&keys, n_embd, n_head)?;
        let n_ctx_train = keys.count("context_length")?;
        let epsilon = if arch.encoder { "layer_norm_epsilon" } else { "layer_norm_rms_epsilon" };
        let mut config = Config {
            arch,
            n_layer,
            n_embd,
            n_ff: keys.count("feed_forward_length")?,
            n_head,
            n_head_kv,
            head_dim,
            n_vocab: n_vocab(metadata, tensors)?,
            n_ctx_train,
            pooling: pooling::read(&keys)?,
            norm_eps: keys.positive(&format!("attention.{epsilon}"), true)?,
            rope: rope::read(&keys, arch.rope_pairs, head_dim, n_ctx_train, tensors, overrides)?,
            tied: tensors.get("output.weight").is_none(),
            qkv_bias: false,
            qk_norm: false,
            post_norms: false,
            fused_tensors: false,
            activation: Activation::Silu,
            embedding_scale: None,
            attention_scale: inverse_root(head_dim as f64),
            attention_soft_cap: None,
            final_soft_cap: None,
            window: None,
            experts: None,
        };
        (arch.configure)(&mut config, &keys)?;
        Ok(config)
    }

    /// Width of all query heads together.
    pub fn n_embd_q(&self) -> usize {
        self.n_head * self.head_dim
    }

    /// Width of all KV heads together.
    pub fn n_embd_kv(&self) -> usize {
        self.n_head_kv * self.head_dim
    }

    /// How many of the latest positions a layer sees; all if there is no limit.
    pub fn window_of(&self, layer: usize) -> Option<usize> {
        let window = self.window.as_ref()?;
        window.layers[layer].then_some(window.positions)
    }
}

/// One over a square root, rounded once from f64, so that it is the same on every machine.
pub(crate) fn inverse_root(x: f64) -> f32 {
    (1.0 / x.sqrt()) as f32
}

fn head_dim(keys: &Keys, n_embd: usize, n_head: usize) -> Result<usize, ModelError> {
    let stated = keys.optional_count("attention.key_length")?;
    if stated.is_none() && !n_embd.is_multiple_of(n_head) {
        return Err(keys.refuse(
            "attention.head_count",
            n_head,
            format!("a divisor of embedding_length, {n_embd}"),
        ));
    }
    let head_dim = stated.unwrap_or(n_embd / n_head);
    let value_length = keys.count_or("attention.value_length", head_dim)?;
    if value_length != head_dim {
        return Err(keys.refuse("attention.value_length", value_length, format!("key_length, {head_dim}")));
    }
    Ok(head_dim)
}

/// The vocabulary is as large as the embedding table; the list of tokens, where there is one, agrees.
fn n_vocab(metadata: &Metadata, tensors: &Tensors) -> Result<usize, ModelError> {
    let key = "tokenizer.ggml.tokens";
    let rows = tensors.get("token_embd.weight").map(|t| t.dims.get(1).copied().unwrap_or(1) as usize);
    let tokens = metadata.get_str_array(key)?.map(|t| t.len());
    let found = tokens.or(rows).unwrap_or(0);
    if found == 0 {
        let expected = "at least 1 token".to_owned();
        return Err(ModelError::Value { key: key.to_owned(), found: "empty".to_owned(), expected });
    }
    // More rows than tokens happen in padded files; the spare rows are never sampled by name.
    Ok(rows.filter(|r| *r > found).unwrap_or(found))
}
