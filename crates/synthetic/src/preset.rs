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
    /// The sliding window of the layers that have one, if the file states it; 0 means none.
    pub window: Option<u32>,
    /// The experts of each layer, in place of a dense feed-forward network.
    pub experts: Option<Experts>,
    /// What scores and logits are held between.
    pub caps: Option<Caps>,
    /// Rotated dimensions of a head; all of them if not given.
    pub rope_dim: Option<u64>,
    /// The context length of the first training, for a file with factors for short and long contexts.
    pub original_ctx: Option<u32>,
    /// What an encoder makes one embedding of, as a number of `pooling_type`.
    pub pooling: Option<u32>,
}

/// The experts of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experts {
    /// How many there are.
    pub count: u64,
    /// How many a token goes to.
    pub used: u64,
    /// The width inside each.
    pub ff: u64,
}

/// Soft caps: a number `x` becomes `cap * tanh(x / cap)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caps {
    /// The cap of attention scores.
    pub attention: f64,
    /// The cap of logits.
    pub logits: f64,
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
    window: None,
    experts: None,
    caps: None,
    rope_dim: None,
    original_ctx: None,
    pooling: None,
};

/// An encoder; 2 is the first token's row, 1 the mean of all.
const BERT: Preset = Preset { arch: "bert", kv_heads: 4, eps: 1e-12, ctx: 512, pooling: Some(2), ..MICRO };

/// Rows are a multiple of 256, so that blocks of 256 are really used.
const TINY: Preset = Preset { name: "tiny", embd: 256, ff: 512, head_dim: 64, ctx: 2048, ..MICRO };

const QWEN2: Preset = Preset { arch: "qwen2", ..MICRO };
const LLAMA: Preset = Preset { arch: "llama", eps: 1e-5, ..MICRO };
const QWEN3: Preset = Preset { arch: "qwen3", head_dim: 32, ..MICRO };
const QWEN3_TINY: Preset = Preset { arch: "qwen3", head_dim: 128, ..TINY };
const QWEN3_REAL: Preset =
    Preset { layers: 28, heads: 16, kv_heads: 8, head_dim: 128, vocab: 151936, ctx: 40960, ..QWEN3 };
const QWEN3_MOE: Preset = Preset { arch: "qwen3moe", ..QWEN3 };
// Layer 6 is the first with full attention, so 7 layers; windows are short.
const GEMMA3: Preset =
    Preset { arch: "gemma3", layers: 7, kv_heads: 1, head_dim: 32, vocab: 512, window: Some(16), ..MICRO };
const GEMMA3_REAL: Preset = Preset { head_dim: 256, vocab: 262144, ctx: 32768, window: Some(512), ..GEMMA3 };
const PHI3: Preset = Preset { arch: "phi3", vocab: 512, rope_base: 1e4, eps: 1e-5, ..MICRO };

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
    QWEN3,
    QWEN3_TINY,
    Preset { name: "qwen3-0.6b", embd: 1024, ff: 3072, ..QWEN3_REAL },
    Preset { name: "qwen3-1.7b", embd: 2048, ff: 6144, ..QWEN3_REAL },
    Preset { name: "qwen3-4b", layers: 36, embd: 2560, ff: 9728, heads: 32, ..QWEN3_REAL },
    Preset { name: "qwen3-8b", layers: 36, embd: 4096, ff: 12288, heads: 32, tied: false, ..QWEN3_REAL },
    // `ff` is the width of a dense layer, which the file states and nothing uses.
    Preset { experts: Some(Experts { count: 6, used: 2, ff: 96 }), ..QWEN3_MOE },
    Preset {
        arch: "qwen3moe",
        tied: false,
        experts: Some(Experts { count: 16, used: 4, ff: 256 }),
        ..QWEN3_TINY
    },
    Preset {
        arch: "qwen3moe",
        name: "qwen3-30b-a3b",
        layers: 48,
        embd: 2048,
        ff: 6144,
        heads: 32,
        kv_heads: 4,
        tied: false,
        experts: Some(Experts { count: 128, used: 8, ff: 768 }),
        ..QWEN3_REAL
    },
    GEMMA3,
    Preset {
        name: "tiny",
        layers: 6,
        embd: 256,
        ff: 256,
        heads: 2,
        head_dim: 128,
        ctx: 2048,
        window: Some(32),
        ..GEMMA3
    },
    Preset { name: "gemma-3-270m", layers: 18, embd: 640, ff: 2048, ..GEMMA3_REAL },
    Preset { name: "gemma-3-1b", layers: 26, embd: 1152, ff: 6912, ..GEMMA3_REAL },
    // Windowed and full layers alternate; both caps are low, so that they show.
    Preset {
        arch: "gemma2",
        layers: 3,
        rope_base: 1e4,
        caps: Some(Caps { attention: 4.0, logits: 6.0 }),
        ..GEMMA3
    },
    Preset {
        arch: "gemma2",
        name: "tiny",
        layers: 4,
        embd: 256,
        ff: 256,
        kv_heads: 2,
        head_dim: 128,
        rope_base: 1e4,
        ctx: 2048,
        window: Some(32),
        caps: Some(Caps { attention: 6.0, logits: 10.0 }),
        ..GEMMA3
    },
    // Small Phi models rotate 12 of 16 dimensions and have factors for short and long contexts. The
    // second is the same model with a shorter first training: its context is long.
    Preset { kv_heads: 1, rope_dim: Some(12), window: Some(0), original_ctx: Some(1024), ..PHI3 },
    Preset {
        name: "micro-long",
        kv_heads: 1,
        rope_dim: Some(12),
        window: Some(262144),
        original_ctx: Some(512),
        ..PHI3
    },
    Preset {
        name: "tiny",
        embd: 256,
        ff: 512,
        head_dim: 64,
        ctx: 2048,
        tied: false,
        window: Some(2047),
        ..PHI3
    },
    BERT,
    Preset { name: "tiny", embd: 256, ff: 512, head_dim: 64, pooling: Some(1), ..BERT },
];
