//! The tensors of a model, in the order of the file.

use crate::mix::Kind;
use crate::preset::{Experts, Preset, RopeFactors};

/// A tensor to be made.
pub struct Tensor {
    pub name: String,
    /// Fastest dimension first.
    pub dims: Vec<u64>,
    pub fill: Fill,
}

/// What is in a tensor.
pub enum Fill {
    /// Random numbers of this mean and standard deviation, always in F32.
    Vector { std: f64, mean: f32 },
    /// Random numbers of mean 0, in the type that the mix has for the kind.
    Matrix { kind: Kind, std: f64 },
    /// These numbers, in F32.
    Values(Vec<f32>),
}

/// All tensors of a preset.
pub fn tensors(p: &Preset) -> Vec<Tensor> {
    let gemma = matches!(p.arch, "gemma2" | "gemma3");
    let mut out = List(Vec::new());
    // Gemma multiplies embeddings by the root of their width.
    let embedding_std = if gemma { 0.7 } else { 2.0 } / (p.embd as f64).sqrt();
    let vocab = p.vocab as u64;
    out.matrix("token_embd.weight", Kind::Embedding, [p.embd, vocab], embedding_std);
    if p.arch == "bert" {
        encoder(&mut out, p, embedding_std);
        return out.0;
    }
    if let Some(factors) = &p.rope {
        out.values("rope_freqs.weight", rope_freqs(p, factors));
    }
    if p.original_ctx.is_some() {
        let pairs = || (0..p.rope_dim.unwrap_or(p.head_dim) / 2).map(|pair| pair as f64);
        out.values("rope_factors_long.weight", pairs().map(|j| (1.0 + j * j / 2.0) as f32).collect());
        out.values("rope_factors_short.weight", pairs().map(|j| (1.0 + j / 16.0) as f32).collect());
    }
    // Norms behind attention and feed-forward networks.
    let post = gemma.then_some(if p.arch == "gemma2" { 4.0 } else { 2.5 });
    for i in 0..p.layers {
        let name = |rest: &str| format!("blk.{i}.{rest}");
        out.norm(name("attn_norm.weight"), p.embd, 1.0);
        attention(&mut out, p, i);
        if let Some(mean) = post {
            out.norm(name("post_attention_norm.weight"), p.embd, mean);
        }
        out.norm(name("ffn_norm.weight"), p.embd, 1.0);
        feed_forward(&mut out, p, i);
        if let Some(mean) = post {
            out.norm(name("post_ffw_norm.weight"), p.embd, mean);
        }
    }
    // Logits of Gemma 2 are larger, so that their cap shows.
    out.norm("output_norm.weight", p.embd, if p.arch == "gemma2" { 3.0 } else { 1.0 });
    if !p.tied {
        out.matrix("output.weight", Kind::Output, [p.embd, vocab], 2.0 / (p.embd as f64).sqrt());
    }
    out.0
}

fn root(x: u64) -> f64 {
    libm::pow(x as f64, -0.5)
}

/// What the layers' last matrices are larger by. With tied embeddings a token's own logit grows as
/// the layers' part of the residual stream shrinks: that part must be large, or greedy text is one
/// token again and again.
fn gain(p: &Preset) -> f64 {
    6.0 / (2.0 * p.layers as f64).sqrt()
}

fn attention(out: &mut List, p: &Preset, i: usize) {
    let name = |rest: &str| format!("blk.{i}.{rest}");
    let (q, kv) = (p.heads * p.head_dim, p.kv_heads * p.head_dim);
    let head_norms = matches!(p.arch, "qwen3" | "qwen3moe" | "gemma3");
    // Scores with a spread of about 2, so that attention depends on keys and positions.
    let sharp = if head_norms { 1.0 } else { 2.0f64 };
    if p.arch == "phi3" {
        let std = sharp.sqrt() * root(p.embd);
        out.matrix(name("attn_qkv.weight"), Kind::Values(i), [p.embd, q + 2 * kv], std);
    } else {
        out.matrix(name("attn_q.weight"), Kind::Layer, [p.embd, q], sharp * root(p.embd));
        out.matrix(name("attn_k.weight"), Kind::Layer, [p.embd, kv], root(p.embd));
        out.matrix(name("attn_v.weight"), Kind::Values(i), [p.embd, kv], root(p.embd));
    }
    if p.arch == "qwen2" {
        for (x, rows) in [("q", q), ("k", kv), ("v", kv)] {
            out.vector(name(&format!("attn_{x}.bias")), rows, 0.3, 0.0);
        }
    }
    if head_norms {
        out.norm(name("attn_q_norm.weight"), p.head_dim, 1.5);
        out.norm(name("attn_k_norm.weight"), p.head_dim, 1.5);
    }
    out.matrix(name("attn_output.weight"), Kind::AttentionOutput, [q, p.embd], gain(p) * root(q));
}

fn feed_forward(out: &mut List, p: &Preset, i: usize) {
    let name = |rest: &str| format!("blk.{i}.{rest}");
    let (layer, down) = (Kind::Layer, Kind::Down(i));
    if let Some(Experts { count, ff, .. }) = p.experts {
        // Router logits with a spread of about 3: the weights of the chosen experts differ much.
        let router = [p.embd, count];
        out.matrix(name("ffn_gate_inp.weight"), Kind::Unquantized, router, 3.0 * root(p.embd));
        out.matrix(name("ffn_gate_exps.weight"), layer, [p.embd, ff, count], root(p.embd));
        out.matrix(name("ffn_up_exps.weight"), layer, [p.embd, ff, count], root(p.embd));
        out.matrix(name("ffn_down_exps.weight"), down, [ff, p.embd, count], 1.5 * gain(p) * root(ff));
        return;
    }
    if p.arch == "phi3" {
        // The gate's rows, then those of up.
        out.matrix(name("ffn_up.weight"), layer, [p.embd, 2 * p.ff], root(p.embd));
    } else {
        out.matrix(name("ffn_gate.weight"), layer, [p.embd, p.ff], root(p.embd));
        out.matrix(name("ffn_up.weight"), layer, [p.embd, p.ff], root(p.embd));
    }
    out.matrix(name("ffn_down.weight"), down, [p.ff, p.embd], gain(p) * root(p.ff));
}

/// What an encoder has beside the embeddings of its tokens.
fn encoder(out: &mut List, p: &Preset, embedding_std: f64) {
    let (embd, ff) = (p.embd, p.ff);
    out.matrix("position_embd.weight", Kind::Unquantized, [embd, u64::from(p.ctx)], embedding_std);
    out.matrix("token_types.weight", Kind::Unquantized, [embd, 2], embedding_std / 2.0);
    out.layer_norm("token_embd_norm", embd);
    for i in 0..p.layers {
        let name = |rest: &str| format!("blk.{i}.{rest}");
        for (x, kind, sharp) in
            [("q", Kind::Layer, 3.0), ("k", Kind::Layer, 1.0), ("v", Kind::Values(i), 1.5)]
        {
            out.matrix(name(&format!("attn_{x}.weight")), kind, [embd, embd], sharp * root(embd));
            out.vector(name(&format!("attn_{x}.bias")), embd, 0.3, 0.0);
        }
        out.matrix(name("attn_output.weight"), Kind::AttentionOutput, [embd, embd], root(embd));
        out.vector(name("attn_output.bias"), embd, 0.1, 0.0);
        out.layer_norm(&name("attn_output_norm"), embd);
        out.matrix(name("ffn_up.weight"), Kind::Layer, [embd, ff], 2.0 * root(embd));
        out.vector(name("ffn_up.bias"), ff, 0.3, 0.0);
        out.matrix(name("ffn_down.weight"), Kind::Down(i), [ff, embd], root(ff));
        out.vector(name("ffn_down.bias"), embd, 0.1, 0.0);
        out.layer_norm(&name("layer_output_norm"), embd);
    }
}

struct List(Vec<Tensor>);

impl List {
    fn add(&mut self, name: impl Into<String>, dims: Vec<u64>, fill: Fill) {
        self.0.push(Tensor { name: name.into(), dims, fill });
    }

    fn values(&mut self, name: impl Into<String>, values: Vec<f32>) {
        self.add(name, vec![values.len() as u64], Fill::Values(values));
    }

    fn vector(&mut self, name: impl Into<String>, n: u64, std: f64, mean: f32) {
        self.add(name, vec![n], Fill::Vector { std, mean });
    }

    fn norm(&mut self, name: impl Into<String>, n: u64, mean: f32) {
        self.vector(name, n, 0.1, mean);
    }

    /// A norm with a mean: its weight and its bias.
    fn layer_norm(&mut self, name: &str, n: u64) {
        self.norm(format!("{name}.weight"), n, 1.0);
        self.vector(format!("{name}.bias"), n, 0.1, 0.0);
    }

    fn matrix<const D: usize>(&mut self, name: impl Into<String>, kind: Kind, dims: [u64; D], std: f64) {
        self.add(name, dims.to_vec(), Fill::Matrix { kind, std });
    }
}

/// What the rotary frequency of each pair of dimensions is divided by: nothing for short waves, the
/// whole factor for long ones, a smooth passage between.
fn rope_freqs(p: &Preset, factors: &RopeFactors) -> Vec<f32> {
    let RopeFactors { factor, low, high, original_ctx } = *factors;
    let divisor = |pair: u64| {
        let exponent = (2 * pair) as f64 / p.head_dim as f64;
        let wave = std::f64::consts::TAU * libm::pow(p.rope_base, exponent);
        if wave < original_ctx / high {
            1.0
        } else if wave > original_ctx / low {
            factor
        } else {
            let smooth = (original_ctx / wave - low) / (high - low);
            1.0 / ((1.0 - smooth) / factor + smooth)
        }
    };
    (0..p.head_dim / 2).map(|pair| divisor(pair) as f32).collect()
}
