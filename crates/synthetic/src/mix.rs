//! Mixes of element types: which tensor of a model is stored in which type.

use gguf::ElementType;

use crate::Error;
use crate::preset::Preset;

/// A mix: its name, the type of most matrices, and its number in `general.file_type`.
pub struct Mix {
    pub name: &'static str,
    pub base: ElementType,
    pub file_type: u32,
}

const MIXES: &[Mix] = &[
    Mix { name: "F32", base: ElementType::F32, file_type: 0 },
    Mix { name: "F16", base: ElementType::F16, file_type: 1 },
    Mix { name: "BF16", base: ElementType::BF16, file_type: 32 },
    Mix { name: "Q4_0", base: ElementType::Q4_0, file_type: 2 },
    Mix { name: "Q4_1", base: ElementType::Q4_1, file_type: 3 },
    Mix { name: "Q5_0", base: ElementType::Q5_0, file_type: 8 },
    Mix { name: "Q5_1", base: ElementType::Q5_1, file_type: 9 },
    Mix { name: "Q8_0", base: ElementType::Q8_0, file_type: 7 },
    Mix { name: "Q2_K", base: ElementType::Q2_K, file_type: 10 },
    Mix { name: "Q3_K_S", base: ElementType::Q3_K, file_type: 11 },
    Mix { name: "Q3_K_M", base: ElementType::Q3_K, file_type: 12 },
    Mix { name: "Q4_K_S", base: ElementType::Q4_K, file_type: 14 },
    Mix { name: "Q4_K_M", base: ElementType::Q4_K, file_type: 15 },
    Mix { name: "Q5_K_S", base: ElementType::Q5_K, file_type: 16 },
    Mix { name: "Q5_K_M", base: ElementType::Q5_K, file_type: 17 },
    Mix { name: "Q6_K", base: ElementType::Q6_K, file_type: 18 },
    Mix { name: "IQ4_NL", base: ElementType::IQ4_NL, file_type: 25 },
    Mix { name: "IQ4_XS", base: ElementType::IQ4_XS, file_type: 30 },
];

/// The names of all mixes.
pub fn quants() -> impl Iterator<Item = &'static str> {
    MIXES.iter().map(|mix| mix.name)
}

/// The mix with this name, in capitals or not.
pub fn find(quant: &str) -> Result<&'static Mix, Error> {
    MIXES.iter().find(|mix| mix.name.eq_ignore_ascii_case(quant)).ok_or_else(|| Error::Quant {
        quant: quant.to_owned(),
        known: quants().collect::<Vec<_>>().join(", "),
    })
}

/// What a matrix does, as far as mixes treat it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Token embeddings; with tied weights also the output matrix.
    Embedding,
    /// The output matrix.
    Output,
    /// The values, or queries, keys and values in one, of the layer of that index.
    Values(usize),
    /// What follows attention.
    AttentionOutput,
    /// The second matrix of the feed-forward network of the layer of that index.
    Down(usize),
    /// What chooses experts, positions, types of tokens: never quantized.
    Unquantized,
    /// Any other matrix of a layer.
    Layer,
}

impl Mix {
    /// The type of a matrix with rows of `columns` elements.
    pub fn matrix(&self, kind: Kind, columns: u64, preset: &Preset) -> ElementType {
        if kind == Kind::Unquantized {
            return ElementType::F32;
        }
        if self.base.block_elements() == 1 {
            return self.base;
        }
        let mut ty = match kind {
            Kind::Output => self.output(),
            Kind::Embedding if preset.tied => self.output(),
            Kind::Values(layer) => self.values(layer, preset),
            Kind::AttentionOutput => match self.name {
                "Q2_K" => ElementType::Q3_K,
                "Q3_K_M" => ElementType::Q4_K,
                _ => self.base,
            },
            Kind::Down(layer) => self.down(layer, preset.layers),
            Kind::Embedding | Kind::Unquantized | Kind::Layer => self.base,
        };
        while !columns.is_multiple_of(ty.block_elements()) {
            ty = fallback(ty);
        }
        ty
    }

    fn output(&self) -> ElementType {
        if self.base == ElementType::Q8_0 { ElementType::Q8_0 } else { ElementType::Q6_K }
    }

    fn values(&self, layer: usize, preset: &Preset) -> ElementType {
        let grouped = preset.heads / preset.kv_heads >= 4;
        match self.name {
            "Q4_K_M" | "Q5_K_M" if gets_more(layer, preset.layers) => ElementType::Q6_K,
            "Q4_K_S" if layer < 4 => ElementType::Q5_K,
            "Q3_K_M" if layer < 2 => ElementType::Q5_K,
            "Q3_K_M" => ElementType::Q4_K,
            "Q2_K" if grouped => ElementType::Q4_K,
            "Q2_K" => ElementType::Q3_K,
            "IQ4_NL" | "IQ4_XS" if grouped => ElementType::Q5_K,
            _ => self.base,
        }
    }

    fn down(&self, layer: usize, layers: usize) -> ElementType {
        match self.name {
            "Q4_K_M" | "Q5_K_M" if gets_more(layer, layers) => ElementType::Q6_K,
            "Q4_K_S" | "IQ4_NL" | "IQ4_XS" if layer < layers / 8 => ElementType::Q5_K,
            "Q3_K_M" if layer < layers / 16 => ElementType::Q5_K,
            "Q3_K_M" => ElementType::Q4_K,
            "Q2_K" => ElementType::Q3_K,
            _ => self.base,
        }
    }
}

/// Whether a layer is one of those that the medium mixes give more bits: the first and the last
/// eighth, and each third between.
fn gets_more(layer: usize, layers: usize) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

/// The type used instead where rows are no multiple of a type's blocks.
fn fallback(ty: ElementType) -> ElementType {
    match ty {
        ElementType::Q2_K | ElementType::Q3_K => ElementType::Q4_0,
        ElementType::Q4_K => ElementType::Q5_0,
        ElementType::Q5_K => ElementType::Q5_1,
        ElementType::Q6_K => ElementType::Q8_0,
        ElementType::IQ4_XS => ElementType::IQ4_NL,
        _ => ElementType::F16,
    }
}
