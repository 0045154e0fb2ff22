//! The tensors of a model, in the order of the file.

use crate::mix::Kind;
use crate::preset::{Preset, RopeFactors};

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
    let (q, kv) = (p.heads * p.head_dim, p.kv_heads * p.head_dim);
    let root = |x: u64| libm::pow(x as f64, -0.5);
    // With tied embeddings a token's own logit grows as the layers' part of the residual stream
    // shrinks: that part must be large, or greedy text is one token again and again.
    let gain = 6.0 / (2.0 * p.layers as f64).sqrt();

    let mut out = List(Vec::new());
    let embedding_std = 2.0 / (p.embd as f64).sqrt();
    let vocab = p.vocab as u64;
    out.matrix("token_embd.weight", Kind::Embedding, [p.embd, vocab], embedding_std);
    if let Some(factors) = &p.rope {
        let values = rope_freqs(p, factors);
        out.add("rope_freqs.weight", vec![values.len() as u64], Fill::Values(values));
    }
    for i in 0..p.layers {
        let name = |rest: &str| format!("blk.{i}.{rest}");
        let layer = Kind::Layer;
        out.vector(name("attn_norm.weight"), p.embd, 0.1, 1.0);
        // Scores with a spread of about 2, so that attention depends on keys and positions.
        out.matrix(name("attn_q.weight"), layer, [p.embd, q], 2.0 * root(p.embd));
        out.matrix(name("attn_k.weight"), layer, [p.embd, kv], root(p.embd));
        out.matrix(name("attn_v.weight"), Kind::Values(i), [p.embd, kv], root(p.embd));
        if p.arch == "qwen2" {
            for (x, rows) in [("q", q), ("k", kv), ("v", kv)] {
                out.vector(name(&format!("attn_{x}.bias")), rows, 0.3, 0.0);
            }
        }
        out.matrix(name("attn_output.weight"), Kind::AttentionOutput, [q, p.embd], gain * root(q));
        out.vector(name("ffn_norm.weight"), p.embd, 0.1, 1.0);
        out.matrix(name("ffn_gate.weight"), layer, [p.embd, p.ff], root(p.embd));
        out.matrix(name("ffn_up.weight"), layer, [p.embd, p.ff], root(p.embd));
        out.matrix(name("ffn_down.weight"), Kind::Down(i), [p.ff, p.embd], gain * root(p.ff));
    }
    out.vector("output_norm.weight", p.embd, 0.1, 1.0);
    if !p.tied {
        out.matrix("output.weight", Kind::Output, [p.embd, vocab], embedding_std);
    }
    out.0
}

struct List(Vec<Tensor>);

impl List {
    fn add(&mut self, name: impl Into<String>, dims: Vec<u64>, fill: Fill) {
        self.0.push(Tensor { name: name.into(), dims, fill });
    }

    fn vector(&mut self, name: impl Into<String>, n: u64, std: f64, mean: f32) {
        self.add(name, vec![n], Fill::Vector { std, mean });
    }

    fn matrix(&mut self, name: impl Into<String>, kind: Kind, dims: [u64; 2], std: f64) {
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
