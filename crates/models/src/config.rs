//! Hyper-parameters, read from metadata and checked before anything is computed from them.

use gguf::Metadata;
use graph::op::RopePairs;

use crate::arch::{self, Architecture};
use crate::keys::Keys;
use crate::{ModelError, Tensors};

/// How positions turn queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Elements of a head that turn.
    pub rot: usize,
    /// Base of the frequencies.
    pub base: f32,
    /// Which elements turn together.
    pub pairs: RopePairs,
    /// The file has `rope_freqs`, which divide the angles.
    pub factors: bool,
}

/// What a decoder of the supported families is made of.
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
    /// Added to the mean of squares in norms.
    pub norm_eps: f32,
    /// Rotation.
    pub rope: Rope,
    /// The output matrix is the embedding table.
    pub tied: bool,
}

impl Config {
    /// Reads and checks.
    pub(crate) fn read(metadata: &Metadata, tensors: &Tensors) -> Result<Config, ModelError> {
        let arch = arch::find(metadata.require_str("general.architecture")?)?;
        let keys = Keys::new(metadata, arch.name);
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
        Ok(Config {
            arch,
            n_layer,
            n_embd,
            n_ff: keys.count("feed_forward_length")?,
            n_head,
            n_head_kv,
            head_dim,
            n_vocab: n_vocab(metadata, tensors)?,
            n_ctx_train: keys.count("context_length")?,
            norm_eps: keys.positive("attention.layer_norm_rms_epsilon", true)?,
            rope: rope(&keys, arch, head_dim, tensors)?,
            tied: tensors.get("output.weight").is_none(),
        })
    }

    /// Width of all query heads together.
    pub fn n_embd_q(&self) -> usize {
        self.n_head * self.head_dim
    }

    /// Width of all KV heads together.
    pub fn n_embd_kv(&self) -> usize {
        self.n_head_kv * self.head_dim
    }
}

fn head_dim(keys: &Keys, n_embd: usize, n_head: usize) -> Result<usize, ModelError> {
    let stated = keys.count_or("attention.key_length", 0)?;
    if stated == 0 && !n_embd.is_multiple_of(n_head) {
        return Err(keys.refuse(
            "attention.head_count",
            n_head,
            format!("a divisor of embedding_length, {n_embd}"),
        ));
    }
    let head_dim = if stated > 0 { stated } else { n_embd / n_head };
    let value_length = keys.count_or("attention.value_length", head_dim)?;
    if value_length != head_dim {
        return Err(keys.refuse("attention.value_length", value_length, format!("key_length, {head_dim}")));
    }
    Ok(head_dim)
}

fn rope(keys: &Keys, arch: &Architecture, head_dim: usize, tensors: &Tensors) -> Result<Rope, ModelError> {
    let rot = keys.count_or("rope.dimension_count", head_dim)?;
    if rot > head_dim || !rot.is_multiple_of(2) {
        let expected = format!("an even number up to the length of a head, {head_dim}");
        return Err(keys.refuse("rope.dimension_count", rot, expected));
    }
    if let Some(kind) = keys.string("rope.scaling.type")?
        && kind != "none"
    {
        return Err(keys.refuse("rope.scaling.type", kind, "none"));
    }
    Ok(Rope {
        rot,
        base: keys.positive_or("rope.freq_base", 10000.0)?,
        pairs: arch.rope_pairs,
        factors: tensors.get("rope_freqs.weight").is_some(),
    })
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
