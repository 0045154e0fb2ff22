//! The models that can be made, by architecture and name.

/// The sizes and numbers of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Preset {
    /// The architecture, as in `general.architecture`.
    pub arch: &'static str,
    /// The name of the preset.
    pub name: &'static str,
    /// Layers.
    pub layers: usize,
    /// The width of the residual stream.
    pub embd: u64,
    /// The width inside the feed-forward network.
    pub ff: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// The width of a head.
    pub head_dim: u64,
    /// Tokens in the vocabulary.
    pub vocab: usize,
    /// The base of the rotary frequencies.
    pub rope_base: f64,
    /// The epsilon of the norms.
    pub eps: f64,
    /// The context length that the file states.
    pub ctx: u32,
    /// Whether the embedding is also the output matrix.
    pub tied: bool,
    /// How rotary frequencies are stretched, for a file with a `rope_freqs` tensor.
    pub rope: Option<RopeFactors>,
}

/// Llama 3's stretching of rotary frequencies for long contexts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeFactors {
    /// What low frequencies are divided by.
    pub factor: f64,
    /// Wave lengths above `original_ctx / low` are low frequencies.
    pub low: f64,
    /// Wave lengths below `original_ctx / high` are high frequencies and stay as they are.
    pub high: f64,
    /// The context length of the first training.
    pub original_ctx: f64,
}

/// All presets.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The smallest model with every kind of tensor: every dimension differs, and rows are a multiple
/// of 32 but not of 256.
const MICRO: Preset = Preset {
    arch: "",
    name: "micro",
    layers: 2,
    embd: 64,
    ff: 160,
    heads: 4,
    kv_heads: 2,
    head_dim: 16,
    vocab: 320,
    rope_base: 1e6,
    eps: 1e-6,
    ctx: 1024,
    tied: true,
    rope: None,
};

/// Rows are a multiple of 256, so that blocks of 256 are really used.
const TINY: Preset = Preset { name: "tiny", embd: 256, ff: 512, head_dim: 64, ctx: 2048, ..MICRO };

const QWEN2: Preset = Preset { arch: "qwen2", ..MICRO };
const LLAMA: Preset = Preset { arch: "llama", eps: 1e-5, ..MICRO };

const PRESETS: &[Preset] = &[
    QWEN2,
    Preset { arch: "qwen2", ..TINY },
    Preset {
        name: "qwen2.5-0.5b",
        layers: 24,
        embd: 896,
        ff: 4864,
        heads: 14,
        head_dim: 64,
        vocab: 151936,
        ctx: 32768,
        ..QWEN2
    },
    // The small Llama models have an output matrix of their own, and tiny has a rope_freqs tensor.
    Preset { rope_base: 1e4, tied: false, ..LLAMA },
    Preset {
        arch: "llama",
        rope_base: 5e5,
        eps: 1e-5,
        tied: false,
        rope: Some(RopeFactors { factor: 8.0, low: 1.0, high: 4.0, original_ctx: 256.0 }),
        ..TINY
    },
    Preset {
        name: "smollm2-135m",
        layers: 30,
        embd: 576,
        ff: 1536,
        heads: 9,
        kv_heads: 3,
        head_dim: 64,
        vocab: 49152,
        rope_base: 1e5,
        ctx: 8192,
        ..LLAMA
    },
    Preset {
        name: "llama-3.2-1b",
        layers: 16,
        embd: 2048,
        ff: 8192,
        heads: 32,
        kv_heads: 8,
        head_dim: 64,
        vocab: 128256,
        rope_base: 5e5,
        ctx: 131072,
        rope: Some(RopeFactors { factor: 32.0, low: 1.0, high: 4.0, original_ctx: 8192.0 }),
        ..LLAMA
    },
];
